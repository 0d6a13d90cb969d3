"""codec_history: whether a clip was once MP3, or coded likewise, whatever file it is in now."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.bibliography import Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.spectrum import SHORT_FRAME_SECONDS, short_time_power

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Clip, Signal

# A frame lasts about one granule of MP3 (13 to 36 ms by its rate); a coder leaves scale-factor bands empty.
BAND_HZ = 150.0
# Below, the partials of a voice have gaps of their own.
LOWEST_HZ = 2000.0
# Noise in such a cell varies by some 3 dB; a hole is emptier than the cells around it by far more.
DEPTH_DB = 12.0
# A closure of speech lasts longer, and empties the bands beside as well.
REACH_FRAMES = 4
# What lies further below the loud frames is rounding, whose holes say nothing.
RANGE_DB = 100.0
# As the effective bandwidth: above it a clip is empty throughout, and that is no hole.
EDGE_RANGE_DB = 60.0
LOUD_PERCENTILE = 95.0


HERRE = Reference(
    "herre2000decompressed",
    "inproceedings",
    {
        "author": "Herre, J. and Schug, M.",
        "title": "Analysis of Decompressed Audio -- The Inverse Decoder",
        "booktitle": "109th Convention of the Audio Engineering Society",
        "year": "2000",
    },
)


class CodecHistory(Cue):
    """Holes that a lossy coder leaves in the spectrum where it spends no bits."""

    NAME: ClassVar[str] = "codec_history"
    VERSION: ClassVar[int] = 2
    REFERENCES: ClassVar[tuple[Reference, ...]] = (HERRE,)
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # The 95th percentile of speech that was never coded is two of these.
        Feature(
            "codec_holes_percent", "%", "share of the cells above 2 kHz that are empty and their neighbours not", 0.05
        ),
    )
    MEANING: ClassVar[str] = "an MP3 past, which warbles at low bitrates; it survives any later file format"
    SOURCE: ClassVar[str] = (
        "holes in the spectrogram of decoded audio after Herre and Schug, Analysis of decompressed audio (AES 109, "
        "2000), here in cells of 32 ms and 150 Hz, 12 dB under both neighbours in frequency and 64 ms of time"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the share of cells in percent.

        Raises:
            ClipError: the clip is too short, silent, not finite, or holds nothing above 2 kHz.
        """
        levels, band_hz = _cell_levels_db(clip)
        return {"codec_holes_percent": 100.0 * float(_holes(_audible(levels, band_hz, clip)).mean())}


def _cell_levels_db(clip: Clip) -> tuple[Signal, float]:
    """Return the level of each cell in dB, (frames, bands), and the width of a band in Hz."""
    size = round(SHORT_FRAME_SECONDS * clip.rate)
    fewest = size + 2 * REACH_FRAMES * (size // 2)
    if clip.frames < fewest:
        raise ClipError(f"too short for a history: {clip.seconds:.3f} s; it takes at least {fewest / clip.rate:.3f} s")
    power, bin_hz = clip.once(short_time_power)
    bins = max(round(BAND_HZ / bin_hz), 1)
    cells = np.add.reduceat(power, np.arange(0, power.shape[1] + 1 - bins, bins), axis=1).astype(np.float64)
    loud = float(np.percentile(cells.sum(axis=1), LOUD_PERCENTILE))
    levels: Signal = 10 * np.log10(np.maximum(cells, loud * 10 ** (-RANGE_DB / 10)))
    return levels, bins * bin_hz


def _audible(levels: Signal, band_hz: float, clip: Clip) -> Signal:
    """Return the bands from 2 kHz to the clip's upper edge, with one more on either side."""
    often = np.percentile(levels, LOUD_PERCENTILE, axis=0)
    edge = int(np.flatnonzero(often >= often.max() - EDGE_RANGE_DB)[-1]) + 1
    lowest = int(np.ceil(LOWEST_HZ / band_hz))
    if edge - lowest < 2:
        raise ClipError(
            f"holds nothing above {LOWEST_HZ:.0f} Hz (its rate is {clip.rate} Hz), where a coder would leave "
            "holes; leave the clip out of this cue"
        )
    return levels[:, lowest - 1 : edge]


def _holes(levels: Signal) -> NDArray[np.bool_]:
    """Return which cells are holes, (frames - 8, bands - 2): the outermost have no neighbours to compare with."""
    cells = levels[REACH_FRAMES:-REACH_FRAMES, 1:-1]
    around = np.lib.stride_tricks.sliding_window_view(levels[:, 1:-1], REACH_FRAMES, axis=0).max(axis=-1)
    before, after = around[: len(cells)], around[-len(cells) :]
    beside = np.minimum(levels[REACH_FRAMES:-REACH_FRAMES, :-2], levels[REACH_FRAMES:-REACH_FRAMES, 2:])
    surround = np.minimum(np.minimum(before, after), beside)
    return np.asarray(cells <= surround - DEPTH_DB)
