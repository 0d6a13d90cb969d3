"""dereverb: less room after each sound, by predicting it from what came before.

Weighted prediction error (Nakatani et al. 2010; nara_wpe, Drude et al. 2018), one channel, at the clip's own rate:
late reverberation is what a linear filter can predict from the sound some hops earlier, and it is taken off. What the
filter cannot know, the direct sound and the early reflections, stays.

A decay is told from the ends of a few sounds, so it may be told too long, or not at all. What the filter took is the
better witness: a room is predictable at every frequency, a dry voice at a few of its harmonics. A clip of which little
is taken at the median frequency is passed through.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from prep import deepfilter, level
from prep.bibliography import DEEPFILTERNET, Reference, cite
from prep.decay import t60_seconds
from prep.errors import ClipError
from prep.pauses import digital_zeros, runs
from prep.prose import counted, joined, was
from prep.stage import Applied, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Decibels, Seconds

WPE = Reference(
    "nakatani2010wpe",
    "article",
    {
        "author": "Nakatani, Tomohiro and Yoshioka, Takuya and Kinoshita, Keisuke and Miyoshi, Masato and Juang, "
        "Biing-Hwang",
        "title": "Speech Dereverberation Based on Variance-Normalized Delayed Linear Prediction",
        "journal": "{IEEE} Transactions on Audio, Speech, and Language Processing",
        "volume": "18",
        "number": "7",
        "pages": "1717--1731",
        "year": "2010",
        "doi": "10.1109/TASL.2010.2052251",
    },
)
NARA_WPE = Reference(
    "drude2018narawpe",
    "inproceedings",
    {
        "author": "Drude, Lukas and Heymann, Jahn and Boeddeker, Christoph and Haeb-Umbach, Reinhold",
        "title": "{NARA-WPE}: A {Python} package for weighted prediction error dereverberation in {Numpy} and "
        "{Tensorflow} for online and offline processing",
        "booktitle": "13. {ITG} Fachtagung Sprachkommunikation ({ITG} 2018)",
        "year": "2018",
    },
)

# Windows of 32 ms every 8 ms, and three hops that are never predicted: as published, and as nara_wpe is used.
WINDOW_SECONDS, HOP_SECONDS = 0.032, 0.008
DELAY_HOPS = 3
ITERATIONS = 3
# Dry speech itself falls in about 0.2 s. The filter is as long as a third of what rings on beyond that: a longer one
# took more of every room tried, and more of dry clips, of which it can take the voice alone.
DRY_SECONDS, REACH_OF_DECAY = 0.2, 0.35
FEWEST_TAPS, DEFAULT_TAPS, MOST_TAPS = 3, 5, 24
# With fewer hops for every tap the filter predicts the voice itself, and takes it off.
HOPS_PER_TAP = 25
# Power taken off over power, at the median frequency of the band of speech. Where it was set, dry clips had 0.001 and
# less, readings at home up to 0.003, clips in rooms of 0.3 to 0.6 s and C50 of 7 to 16 dB 0.007 and more.
LEAST_REMOVED = 0.004
NOTHING_REMOVED = 1e-12  # what a transform and back leaves of a clip that no filter went through
SPEECH_HZ = (200.0, 6000.0)
MOST_LOSS_DB = 6.0  # of RMS; where more goes, the filter took the voice
PASSED = "passed through: "  # before the reason, in a warning
NOT_DENOISED = "not denoised: the denoiser would have taken the voice with what is left of the room"
EARLY_SECONDS = 0.05  # what C50 counts as clear (ISO 3382-1)


class Dereverb(Stage[None, None]):
    """Take late reverberation off each clip; its length, its level and its band stay.

    A clip without a room, one too short for the filter, and one that it would eat are passed through, and the notes say
    so. Where `taps` is set, no clip is judged to be without a room. Channels are treated one by one.
    """

    NAME: ClassVar[str] = "dereverb"
    VERSION: ClassVar[int] = 2
    REFERENCES: ClassVar[tuple[Reference, ...]] = (WPE, NARA_WPE, DEEPFILTERNET)
    EXPENSIVE: ClassVar[bool] = True

    taps: int | None = Field(
        default=None, ge=1, le=60, description="filter length in hops of 8 ms, count; by the estimated decay where none"
    )
    then_denoise_db: float | None = Field(
        default=None,
        gt=0,
        le=60,
        description="most that DeepFilterNet lowers what is left of the room after it, dB; none: not at all",
    )

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return whom it treated, how many it let through as they were and why, and how far the decay fell."""
        treated = [note for note in account.notes if note.get("taps")]
        reasons = Counter(_recorded_reason(note) for note in account.notes if not note.get("taps"))
        passed = sum(reasons.values())
        told = [f"{count} because {why}" for why, count in reasons.items() if why]
        let_through = (
            f", and {passed} {was(passed)} passed through as {'it was' if passed == 1 else 'they were'}"
            f"{': ' if told else ''}{joined(told)}"
            if passed
            else ""
        )
        known = [
            (note["t60_before_seconds"], note["t60_after_seconds"])
            for note in treated
            if note.get("t60_before_seconds") is not None and note.get("t60_after_seconds") is not None
        ]
        fell = (
            f" Their estimated reverberation time was {median(before for before, _ in known):.2f} s before and "
            f"{median(after for _, after in known):.2f} s after, in the median."
            if known
            else ""
        )
        return (
            f"Late reverberation was reduced in {account.whom} by weighted prediction error {cite(WPE, NARA_WPE)}: "
            f"{len(treated)} of {counted(len(account.notes), 'clip')} {was(len(treated))} changed{let_through}."
            f"{_denoising(account.parameters.get('then_denoise_db'), treated)}{fell}"
        )

    def models(self) -> Sequence[str]:
        """Return DeepFilterNet where it follows."""
        return (deepfilter.MODEL,) if self.then_denoise_db else ()

    def apply(self, clip: Clip, fit: None) -> Applied:  # noqa: ARG002
        """Return the clip with less reverberation; the notes hold decay and C50 before and after.

        Raises:
            ClipError: it is not finite, or faster than what follows it can hear.
        """
        clip.check_finite()
        before = _decay(clip)
        wanted = self.taps or _taps_for(before)
        taps = min(wanted, int(clip.seconds / HOP_SECONDS / HOPS_PER_TAP))
        notes: dict[str, Any] = {"taps": taps, "t60_before_seconds": before, "c50_before_db": _c50_db(before)}
        if why := _why_not(clip, wanted, taps, min(FEWEST_TAPS, self.taps or FEWEST_TAPS)):
            return Applied(clip, notes | {"taps": 0, "warning": f"{PASSED}{why}"})
        treated = np.stack([_predicted_off(clip, channel, taps) for channel in range(clip.channels)], axis=1)
        # Where the source is digital zero, nothing is made up.
        zeros = digital_zeros(clip)
        made = clip.with_samples(np.where(zeros, 0.0, treated))
        notes["removed_share"] = removed = _removed_share(clip, made)
        if removed < NOTHING_REMOVED:
            why = f"{PASSED}digital zero parts its sound into pieces too short for the filter"
            return Applied(clip, notes | {"taps": 0, "warning": why})
        if not self.taps and removed < LEAST_REMOVED:
            why = f"{PASSED}what the filter would take off is too little for a room"
            return Applied(clip, notes | {"taps": 0, "warning": why})
        if _eaten(clip, made):
            why = f"{PASSED}the filter would have taken the voice with the room"
            return Applied(clip, notes | {"taps": 0, "warning": why})
        if self.then_denoise_db:
            noise = deepfilter.taken_away(made, self.then_denoise_db, "leave then_denoise_db out")
            quieter = made.with_samples(np.where(zeros, 0.0, made.samples - noise))
            if _eaten(made, quieter):
                notes["warning"] = NOT_DENOISED
            else:
                made = quieter
        gain_db = _change_db(clip, made, (level.integrated_lufs, level.rms_dbfs)) or 0.0
        made = level.gain(made, gain_db)
        after = _decay(made)
        told = {"taps": taps, "t60_after_seconds": after, "c50_after_db": _c50_db(after), "gain_restored_db": gain_db}
        return Applied(made, notes | told)


def _recorded_reason(note: Mapping[str, Any]) -> str:
    """Return why a clip was passed through, without its figures; empty where its note does not say."""
    return re.sub(r"^[\d.]+ s are ", "it is ", note.get("warning", "").removeprefix(PASSED))


def _denoising(most_db: Decibels | None, treated: Sequence[Mapping[str, Any]]) -> str:
    """Return in how many of the changed clips a denoiser lowered what was left of the room."""
    if not most_db or not treated:
        return ""
    spared = sum(note.get("warning") == NOT_DENOISED for note in treated)
    told = (
        f" What was left was lowered by at most {most_db:g} dB by DeepFilterNet 3 {cite(DEEPFILTERNET)} in "
        f"{len(treated) - spared} of {counted(len(treated), 'clip')}"
    )
    return f"{told}; in {spared} it would have taken the voice with it and was left out." if spared else f"{told}."


def _decay(clip: Clip) -> Seconds | None:
    """Return the reverberation time; None where the clip does not tell."""
    try:
        return t60_seconds(clip)
    except ClipError:
        return None


def _taps_for(t60: Seconds | None) -> int:
    """Return the filter length for a decay, hops; 0 for that of dry speech."""
    if t60 is None:
        return DEFAULT_TAPS
    taps = round(REACH_OF_DECAY * (t60 - DRY_SECONDS) / HOP_SECONDS)
    return min(taps, MOST_TAPS) if taps >= FEWEST_TAPS else 0


def _c50_db(t60: Seconds | None) -> Decibels | None:
    """Return the clarity of a room that decays exponentially in that time: early over late energy, dB."""
    if t60 is None:
        return None
    return 10 * math.log10(math.expm1(6 * math.log(10) * EARLY_SECONDS / t60))


def _why_not(clip: Clip, wanted: int, taps: int, fewest: int) -> str:
    """Return why a clip is not treated; empty where it is."""
    if not clip.samples.any():
        return "it is silent"
    if wanted == 0:
        return "it rings no longer than dry speech"
    if taps < fewest:
        return f"{clip.seconds:.2f} s are too short to tell the room from the voice"
    return ""


def _predicted_off(clip: Clip, channel: int, taps: int) -> Signal:
    """Return one channel without what its past predicts."""
    from nara_wpe.wpe import wpe_v8
    from scipy.signal import ShortTimeFFT
    from scipy.signal.windows import hann

    signal = clip.samples[:, channel].astype(np.float64)
    if not signal.any():
        return signal
    hop = round(HOP_SECONDS * clip.rate)
    window = round(WINDOW_SECONDS / HOP_SECONDS) * hop
    transform = ShortTimeFFT(hann(window, sym=False), hop, clip.rate)
    spectra = transform.stft(signal)
    dry = spectra.copy()
    # A hop without sound has no power to be divided by, and sound before it foretells nothing after it.
    for first, last in runs(np.abs(spectra).max(axis=0) > 0):
        if last - first >= HOPS_PER_TAP * taps:
            run = spectra[:, np.newaxis, first:last]
            dry[:, first:last] = wpe_v8(run, taps=taps, delay=DELAY_HOPS, iterations=ITERATIONS)[:, 0]
    back: Signal = np.real(transform.istft(dry, k1=len(signal)))
    return back


def _removed_share(before: Clip, after: Clip) -> float:
    """Return the share of the power that is gone at the median frequency of the band of speech."""
    from scipy.signal import welch

    window = round(WINDOW_SECONDS * before.rate)
    frequencies, gone = welch(before.samples - after.samples, before.rate, nperseg=window, axis=0)
    _, power = welch(before.samples, before.rate, nperseg=window, axis=0)
    gone, power = gone.sum(axis=1), power.sum(axis=1)
    heard = (frequencies > SPEECH_HZ[0]) & (frequencies < SPEECH_HZ[1]) & (power > 0)
    return float(np.median(gone[heard] / power[heard])) if heard.any() else 0.0


def _eaten(before: Clip, after: Clip) -> bool:
    """Say whether so much is gone that the voice must be among it."""
    loss_db = _change_db(before, after, (level.rms_dbfs,))
    return loss_db is None or loss_db > MOST_LOSS_DB


def _change_db(before: Clip, after: Clip, measures: Sequence[Any]) -> Decibels | None:
    """Return how far one clip lies over another, by the first measure that both have."""
    for measure in measures:
        levels = [measure(clip) for clip in (before, after)]
        if None not in levels:
            return float(levels[0] - levels[1])
    return None
