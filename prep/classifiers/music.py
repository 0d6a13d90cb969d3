"""music: music under the voice, also where it lies far below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from prep import audio, deepfilter, yamnet
from prep.bibliography import DEEPFILTERNET, Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.units import ratio_from_db

if TYPE_CHECKING:
    from prep.clip import Clip, Signal
    from prep.stage import Notes

SHORTEST_SECONDS = 0.96  # one patch of the network
LEVEL_DBFS = -23.0  # RMS that the network is given: that of broadcasts, and so of most videos it was trained on

# Logits of the class Music, as means over the half of the patches with the most of it: a bed may fade in, or end. In
# the clip itself the voice hides a bed; in what denoising takes away it does not, but there hiss, hum or an echo of
# the voice can sound a little like music too.
CLIP_WEIGHT, REMOVED_WEIGHT = 0.3, 0.7
MIDDLE_LOGIT = -1.7  # of the weighted sum: readings have -2.7 and less, nearly all beds 20 dB below the voice -1.3 up
NO_TRACE_LOGIT = -8.5  # of the clip, where no bed was seen below -6.2: denoising is not worth its time
NOTHING_REMOVED_DB = -45.0  # below the clip: rounding


AUDIOSET = Reference(
    "gemmeke2017audioset",
    "inproceedings",
    {
        "author": "Gemmeke, Jort F. and Ellis, Daniel P. W. and Freedman, Dylan and Jansen, Aren and Lawrence, "
        "Wade and Moore, R. Channing and Plakal, Manoj and Ritter, Marvin",
        "title": "Audio Set: An ontology and human-labeled dataset for audio events",
        "booktitle": "{IEEE} International Conference on Acoustics, Speech and Signal Processing ({ICASSP})",
        "pages": "776--780",
        "year": "2017",
        "doi": "10.1109/ICASSP.2017.7952261",
    },
)
YAMNET = Reference(
    "yamnet",
    "misc",
    {
        "title": "{YAMNet}: a sound event classifier",
        "howpublished": "Computer software, https://github.com/tensorflow/models/tree/master/research/audioset/yamnet",
    },
)


class Music(Cue):
    """Music in the clip, heard also in what denoising takes away from it."""

    NAME: ClassVar[str] = "music"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (YAMNET, AUDIOSET, DEEPFILTERNET)
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("music_probability", "no unit", "that music is played under the voice; 0.5 is as likely as not", 0.01),
    )
    MEANING: ClassVar[str] = "a music bed under a recording tells where it comes from, and listeners hear it first"
    SOURCE: ClassVar[str] = (
        "YAMNet (AudioSet, class Music) on the clip and on what DeepFilterNet 3 takes away from it; "
        "prep.classifiers.music weighs both"
    )
    LIMITS: ClassVar[dict[str, float]] = {"max_music_probability": 0.5}
    MODELS: ClassVar[tuple[str, ...]] = (yamnet.MODEL, deepfilter.MODEL)

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the probability of music, from 0 to 1.

        Raises:
            ClipError: the clip is shorter than 0.96 s, silent or not finite.
            ModelMissingError: a model was not fetched.
        """
        heard = clip.once(_heard)
        logit = CLIP_WEIGHT * _upper_half(heard.in_clip) + REMOVED_WEIGHT * _upper_half(heard.telling())
        return {"music_probability": 1 / (1 + math.exp(MIDDLE_LOGIT - logit))}

    def evidence(self, clip: Clip) -> Notes:
        """Return when the second begins in which music is heard best, and the logits behind the probability."""
        heard = clip.once(_heard)
        return {
            "heard_best_at_seconds": round(int(np.argmax(heard.telling())) * yamnet.PATCH_HOP_SECONDS, 2),
            "logit_in_clip": round(_upper_half(heard.in_clip), 2),
            "logit_in_what_denoising_takes": None if heard.removed is None else round(_upper_half(heard.removed), 2),
        }


class _Heard(NamedTuple):
    """Logits of Music by patch (patches,): in the clip, and in what denoising takes away; None where not asked."""

    in_clip: Signal
    removed: Signal | None

    def telling(self) -> Signal:
        """Return what tells more of a bed."""
        return self.in_clip if self.removed is None else self.removed


def _heard(clip: Clip) -> _Heard:
    clip.check_finite()
    if clip.seconds < SHORTEST_SECONDS:
        raise ClipError(f"it lasts {clip.seconds:.2f} s, and music is heard from {SHORTEST_SECONDS} s on")
    mono = clip.with_samples(clip.mono()[:, np.newaxis])
    in_clip = _music_logits(mono)
    if in_clip is None:
        raise ClipError("it is silent; replace it")
    if _upper_half(in_clip) < NO_TRACE_LOGIT:
        return _Heard(in_clip, None)
    whole = audio.resample(mono, deepfilter.RATE_HZ)
    signal = whole.mono()
    removed = signal - deepfilter.enhance(signal)
    if _rms(removed) < ratio_from_db(NOTHING_REMOVED_DB) * _rms(signal):
        return _Heard(in_clip, None)
    return _Heard(in_clip, _music_logits(whole.with_samples(removed[:, np.newaxis])))


def _music_logits(clip: Clip) -> Signal | None:
    """Return the logit of Music in each patch of a mono clip, brought to the level of the network; None for silence."""
    signal = audio.resample(clip, yamnet.RATE_HZ).mono()
    rms = _rms(signal)
    if rms == 0:
        return None
    music: Signal = yamnet.class_logits(signal * (ratio_from_db(LEVEL_DBFS) / rms))[:, yamnet.class_number("Music")]
    return music


def _upper_half(logits: Signal) -> float:
    """Return the mean of the higher half of some logits (patches,)."""
    return float(np.sort(logits)[len(logits) // 2 :].mean())


def _rms(signal: Signal) -> float:
    return float(np.sqrt(np.square(signal).mean()))
