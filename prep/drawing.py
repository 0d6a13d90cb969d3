"""Drawing: pictures of sound as SVG, small and readable in light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip

WIDTH, HEIGHT = 600, 64  # of a waveform, in its own units; the page scales it
QUIETEST_PEAK = 1e-4  # full scale; a quieter clip is drawn small, not blown up


def waveform_svg(clip: Clip, spans: Sequence[tuple[float, float]] = (), title: str = "") -> str:
    """Return a clip's waveform with marked spans, as an SVG element that follows the page's colours.

    The highest and lowest sample of each of 600 columns is drawn, over the loudest peak of the clip.

    Args:
        clip: any clip; channels are averaged.
        spans: (start, end) in seconds of what is marked.
        title: what a screen reader says of it; plain text without markup.
    """
    columns = min(WIDTH, clip.frames)
    signal = np.nan_to_num(clip.mono())
    starts = np.linspace(0, clip.frames, columns, endpoint=False).astype(np.intp)
    peak = max(float(np.abs(signal).max(initial=0.0)), QUIETEST_PEAK)
    middle = HEIGHT / 2
    high = middle - middle * np.maximum.reduceat(signal, starts) / peak
    low = middle - middle * np.minimum.reduceat(signal, starts) / peak
    step = WIDTH / columns
    lines = " ".join(
        f"M{index * step:.4g} {top:.1f}V{bottom + 0.5:.1f}"
        for index, (top, bottom) in enumerate(zip(high, low, strict=True))
    )
    marks = "".join(
        f'<rect class="mark" x="{_across(start, clip):.1f}" y="0" height="{HEIGHT}" '
        f'width="{max(_across(end, clip) - _across(start, clip), 2):.1f}"/>'
        for start, end in spans
    )
    return (
        f'<svg class="waveform" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{title}">{marks}<path d="{lines}"/></svg>'
    )


def _across(seconds: float, clip: Clip) -> float:
    return WIDTH * min(max(seconds / clip.seconds, 0.0), 1.0)
