"""Drawing: pictures of sound as SVG, small and readable in light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip, Signal

SHORTEST_SECONDS = 0.001  # to which lengths are rounded
WIDTH, HEIGHT = 600, 64  # of a waveform, in its own units; the page scales it
QUIETEST_PEAK = 1e-4  # full scale; a quieter clip is drawn small, not blown up
LEVELS = 255  # steps of a kept outline, from the lowest to the highest


class Outline(NamedTuple):
    """The highest and lowest sample of each column of a picture, over the loudest peak: -1 to 1."""

    high: Signal
    low: Signal


def outline_of(clip: Clip, columns: int = WIDTH) -> Outline:
    """Return the outline of a clip; channels are averaged.

    Args:
        clip: any clip that is not empty.
        columns: how many there are; of a clip with fewer frames, one a frame.
    """
    columns = min(columns, clip.frames)
    signal = np.nan_to_num(clip.mono())
    starts = np.linspace(0, clip.frames, columns, endpoint=False).astype(np.intp)
    peak = max(float(np.abs(signal).max(initial=0.0)), QUIETEST_PEAK)
    return Outline(np.maximum.reduceat(signal, starts) / peak, np.minimum.reduceat(signal, starts) / peak)


def kept_outline(outline: Outline) -> str:
    """Return an outline as text to keep: four hexadecimal digits a column, the highest and the lowest in 256 steps."""
    steps = np.rint((np.column_stack(outline) + 1) / 2 * LEVELS).clip(0, LEVELS).astype(np.uint8)
    return steps.tobytes().hex()


def read_outline(text: str) -> Outline:
    """Return the outline that `kept_outline` wrote.

    Raises:
        ValueError: the text is no outline.
    """
    steps = np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, 2)
    high, low = steps.T.astype(np.float64) / LEVELS * 2 - 1
    return Outline(high, low)


def waveform_svg(clip: Clip, spans: Sequence[tuple[float, float]] = (), title: str = "") -> str:
    """Return a clip's waveform with marked spans, as an SVG element that follows the page's colours.

    The highest and lowest sample of each of 600 columns is drawn, over the loudest peak of the clip.

    Args:
        clip: any clip; channels are averaged.
        spans: (start, end) in seconds of what is marked.
        title: what a screen reader says of it.
    """
    return outline_svg(outline_of(clip), clip.seconds, spans, title)


def outline_svg(
    outline: Outline,
    seconds: float,
    spans: Sequence[tuple[float, float]] = (),
    title: str = "",
    heard: tuple[float, float] | None = None,
) -> str:
    """Return a waveform from its outline, with marked spans.

    Args:
        outline: of the clip.
        seconds: length of the clip.
        spans: (start, end) in seconds of what is marked.
        title: what a screen reader says of it.
        heard: (start, end) in seconds of the part that a player beside it plays; underlined.
    """
    step = WIDTH / len(outline.high)
    middle = HEIGHT / 2
    lines = " ".join(
        f"M{index * step:.4g} {middle - middle * top:.1f}V{middle - middle * bottom + 0.5:.1f}"
        for index, (top, bottom) in enumerate(zip(outline.high, outline.low, strict=True))
    )
    marks = "".join(_mark("mark", span, 0, HEIGHT, seconds) for span in spans)
    # A loud clip hides what is marked behind it.
    over = "".join(_mark("over", span, 0, 3, seconds) for span in spans)
    under = _mark("heard", heard, HEIGHT - 3, 3, seconds) if heard else ""
    return (
        f'<svg class="waveform" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{marks}<path stroke-width="{step:.4g}" d="{lines}"/>{over}{under}</svg>'
    )


def _mark(kind: str, span: tuple[float, float], top: float, height: float, seconds: float) -> str:
    whole = max(seconds, SHORTEST_SECONDS)
    start, end = (WIDTH * min(max(place / whole, 0.0), 1.0) for place in span)
    return f'<rect class="{kind}" x="{start:.1f}" y="{top}" height="{height}" width="{max(end - start, 2):.1f}"/>'
