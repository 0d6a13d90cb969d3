"""Blind page: what may be shown of a run to those who must not learn which clip is which.

It names no condition, clip, speaker or file, compares nothing, and groups nothing: the page of a record whose labels
are exchanged is the same, byte for byte. That it says so little is its point.
"""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from prep.charts import Curve, Dot, Strip, curves, strips
from prep.page import printable, rendered
from prep.prose import sentence
from prep.recorded import measures_of
from prep.report_figures import LEVELS, Figure, filled, filled_band, quartiles_of, thinned
from prep.store import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

Record = dict[str, Any]

FORMAT = ("codec", "rate", "channels", "bit_depth", "bitrate_kbps", "quality")


def blind_html(record: Record) -> str:
    """Return the page of a run for those who must stay blind.

    Args:
        record: run.json. Of it the counts, the names of the steps, the format, the versions, and the pooled measures
            of the delivered clips are used.
    """
    record = printable(record)
    clips = [clip for clip in record["clips"] if clip["delivered"] and clip["role"] == "stimulus"]
    encode: dict[str, Any] = next((step["encode"] for step in record["config"]["chain"] if "encode" in step), {})
    delivered = sorted(clip["delivered"]["sha256"] for clip in record["clips"] if clip["delivered"])
    return rendered(
        "report_blind.html",
        clips=len(record["clips"]),
        counts=sorted(Counter(clip["status"] for clip in record["clips"]).items()),
        chain=record["chain"],
        format=[(name.replace("_", " "), encode[name]) for name in FORMAT if encode.get(name) is not None],
        figures=[*_levels(clips), *_spectrum(clips)],
        digest=digest("\n".join(delivered).encode()),
        versions=record["versions"],
    )


def _levels(clips: Sequence[Record]) -> list[Figure]:
    """Return the delivered levels of all clips together, in rising order, so that no place tells a label."""
    figures = []
    for name, axis in LEVELS:
        values = sorted(
            value for clip in clips if (value := measures_of(clip["delivered"]["cues"]).get(name)) is not None
        )
        if values:
            dots = [Dot(value, "a clip") for value in thinned(values)]
            label = f"{axis} of every delivered clip, all together"
            caption = f"{sentence(axis)}: median {statistics.median(values):.1f}, {values[0]:.1f} to {values[-1]:.1f}."
            figures.append(Figure(strips([Strip("all clips", 3, dots)], axis, label), caption))
    return figures


def _spectrum(clips: Sequence[Record]) -> list[Figure]:
    bands = quartiles_of(clips, "delivered")
    if not bands.hertz:
        return []
    line = Curve("all clips", 3, *filled(bands), *filled_band(bands))
    axes = ("frequency, Hz", "level over the clip's mean, dB")
    picture = curves([line], axes, "median third-octave spectrum of all delivered clips together", logarithmic=True)
    return [Figure(picture, "As delivered: the median of all clips, with the middle half of them.")]
