"""reference_eq: each clip to one spectrum, by Matchering's frequency matching and nothing else of it."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from prep.bibliography import Reference, cite
from prep.errors import ConfigError, RefusedError
from prep.level import crest_db
from prep.matching import BIN_HZ, Correction, correction, heard, matching_fir
from prep.profile import Profile, mean_profile, profile_of, profile_of_files, read_profile
from prep.prose import clips_with, counted
from prep.spectrum import filter_zero_phase, third_octave_centres
from prep.stage import Applied, FitsOn, Measured, Notes, Stage, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prep.clip import Clip
    from prep.stage import Account

MATCHERING = Reference(
    "matchering",
    "misc",
    {
        "author": "{Sergree}",
        "title": "Matchering: audio matching and mastering",
        "howpublished": "Computer software, https://github.com/sergree/matchering",
    },
)

Selection = dict[str, str | list[str]]

_AT_CAP_DB = 1e-6
CREST_AIM = 0.95  # of the bound on the crest factor: aimed a little below it, one or two steps reach it


class ReferenceEq(Stage[Profile, Profile]):
    """Give each clip the spectrum of one reference (Matchering's frequency matching), and leave its level.

    The reference is a stored profile (`prep profile`), sound files, the clips of some rows, or, where none is named,
    the mean of all clips. Each clip gets a linear-phase filter with its delay taken out: Matchering's smoothed ratio
    of averaged spectra, in the band that clip and reference fill. Beyond it the gain is held, never above 0 dB where
    the clip is empty; an offset keeps the clip's loudness. A correction that would move the crest factor too far, by a
    click or a hiss that it lifts, is scaled down as a whole. All channels get one filter.
    """

    NAME: ClassVar[str] = "reference_eq"
    VERSION: ClassVar[int] = 2
    MOVES: ClassVar[tuple[str, ...]] = ("tilt", "head_silence", "tail_silence")
    REFERENCES: ClassVar[tuple[Reference, ...]] = (MATCHERING,)
    FITS_ON: ClassVar[FitsOn] = "every clip"
    MEASURES: ClassVar[type[Value] | None] = Profile
    FITS: ClassVar[type[Value] | None] = Profile

    profile: str | None = Field(
        default=None, min_length=1, description="stored profile to match to, relative to the config; no unit"
    )
    files: list[str] = Field(
        default=[], description="sound files whose mean to match to, relative to the config; no unit"
    )
    towards: Selection | None = Field(
        default=None,
        min_length=1,
        description="rows whose mean to match to: {column: value or list of values}; all by default; no unit",
    )
    max_boost_db: float = Field(default=12.0, gt=0, description="largest gain at any frequency, dB")
    max_cut_db: float = Field(default=12.0, gt=0, description="largest attenuation at any frequency, dB")
    max_crest_change_db: float = Field(
        default=3.0,
        ge=0.1,
        description="most that the crest factor may move; where it would by more, the correction is scaled down, dB",
    )

    _given: Profile | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _has_one_reference(self, info: ValidationInfo) -> Self:
        """Measure the reference where it is a file, once; not where the context says `opens_files`: False.

        Raises:
            ValueError: several references are named, or a file is no sound or no profile.
        """
        named = [name for name in ("profile", "files", "towards") if getattr(self, name)]
        if len(named) > 1:
            raise ValueError(f"{' and '.join(named)} are all references; keep one of them")
        context = info.context or {}
        if not context.get("opens_files", True):
            return self
        place = context.get("path_of", Path)
        try:
            if self.profile is not None:
                self._given = read_profile(place(self.profile))
            elif self.files:
                self._given = profile_of_files([place(name) for name in self.files])
        except ConfigError as error:
            raise ValueError("; ".join(str(problem) for problem in error.problems)) from None
        return self

    def identity(self) -> Mapping[str, Any]:
        """Return what decides the sound: of a file, what was measured on it and not its name."""
        known = super().identity()
        if self._given is None:
            return known
        parameters = {name: value for name, value in known["parameters"].items() if name not in ("profile", "files")}
        return {**known, "parameters": {**parameters, "profile_sha256": self._given.sha256()}}

    def fits_on(self) -> FitsOn:
        """Return what `fit` learns from: nothing of a file, labels where only some rows are the reference."""
        given = self.profile is not None or self.files
        return "nothing" if given else "labels" if self.towards or self.only else "every clip"

    def selections(self) -> Sequence[tuple[str, Selection]]:
        """Return `only` and `towards`."""
        return [*super().selections(), *([("towards", self.towards)] if self.towards else [])]

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return whose spectrum the clips were given, within which bounds, and how often these were met."""
        step = account.parameters
        files = counted(len(step["files"]), "reference recording")
        whose = "a stored profile" if step.get("profile") else f"the mean of {files}" if step["files"] else ""
        whose = whose or f"the mean of {clips_with(step.get('towards'))}"
        moved = account.values("mean_correction_db")
        capped = sum(bool(note.get("capped")) for note in account.notes)
        how_far = f" The mean correction of a clip was {median(moved):.1f} dB in the median" if moved else ""
        bound = f", and a bound was met in {capped} of {counted(len(moved), 'clip')}." if moved else ""
        scaled = [note["applied_percent"] for note in account.notes if note.get("applied_percent", 100.0) < 100]
        eased = (
            f" In {counted(len(scaled), 'clip')} the correction was scaled down, to {min(scaled):.0f} % in dB at the "
            f"least, so that the crest factor moved by no more than {step['max_crest_change_db']:g} dB."
            if scaled
            else ""
        )
        return (
            f"The long-term spectrum of {account.whom} was matched to {whose}, by the frequency matching of Matchering "
            f"{cite(MATCHERING)} as one linear-phase filter a clip, with gains from {-step['max_cut_db']:g} to "
            f"{step['max_boost_db']:+g} dB and the clip's loudness kept.{how_far}{bound}{eased}"
        )

    def measure(self, clip: Clip) -> Profile:
        """Return the averaged spectrum of the clip.

        Raises:
            ClipError: it is shorter than 60 ms, silent, not finite, or has nothing in the speech band.
        """
        return profile_of(clip)

    def fit(self, measured: Sequence[Measured[Profile]]) -> Profile:
        """Return the mean of the clips, or of those in `towards`.

        Raises:
            RefusedError: there is no such clip.
        """
        chosen = [item.value for item in measured if item.row.selected_by(self.towards)]
        if not chosen:
            where = "in the rows of `towards`" if self.towards else "to measure"
            raise RefusedError(
                f"reference_eq: no clip is left {where}, so there is no reference; see which clips were set aside, "
                "or name another reference"
            )
        return mean_profile(chosen)

    def reference(self, fit: Profile | None) -> Profile:
        """Return what clips are matched to: the fit, or the measured files.

        Raises:
            TypeError: the reference is the study's own clips, and there is no fit.
        """
        if (found := self._given or fit) is None:
            raise TypeError("reference_eq has no reference; fit it first")
        return found

    def apply(self, clip: Clip, fit: Profile | None) -> Applied:
        """Return the clip with the spectrum of the reference. Peaks may pass full scale.

        Raises:
            ClipError: a sample is not finite; the clip is shorter than 60 ms; its channels cancel each other; or it
                shares less than an octave of the speech band with the reference.
        """
        if not clip.samples.any():
            return Applied(clip, {"silent": True})
        sound, reference = heard(clip.mono(), clip.rate), self.reference(fit).spectrum()
        before, share = crest_db(clip) or 0.0, 1.0
        found = whole = correction(sound, reference, self.max_boost_db, self.max_cut_db)
        while True:
            treated = clip.with_samples(filter_zero_phase(clip.samples, matching_fir(found.gain_db, clip.rate)))
            moved = (crest_db(treated) or 0.0) - before
            if abs(moved) <= self.max_crest_change_db:
                return Applied(treated, self._notes(found, whole, share) | {"crest_change_db": round(moved, 3)})
            share *= CREST_AIM * self.max_crest_change_db / abs(moved)
            found = correction(sound, reference, self.max_boost_db, self.max_cut_db, share)

    def _notes(self, found: Correction, whole: Correction, share: float) -> Notes:
        """Return what the correction is in the matched band, what the whole one wanted, and how much of it that is."""
        bins = slice(int(np.ceil(found.from_hz / BIN_HZ)), int(found.to_hz / BIN_HZ) + 1)
        gain, wanted, scaled = found.gain_db[bins], whole.wanted_db[bins], found.wanted_db[bins]
        beyond = (scaled > self.max_boost_db + _AT_CAP_DB) | (scaled < -self.max_cut_db - _AT_CAP_DB)
        centres = third_octave_centres((found.from_hz, found.to_hz))
        mean = np.abs(np.interp(centres, np.arange(len(found.gain_db)) * BIN_HZ, found.gain_db)).mean()
        return {
            "from_hz": round(found.from_hz, 1),
            "to_hz": round(found.to_hz, 1),
            "mean_correction_db": round(float(mean), 3),
            "largest_boost_db": round(max(float(gain.max()), 0.0), 3),
            "largest_cut_db": round(max(float(-gain.min()), 0.0), 3),
            "wanted_boost_db": round(max(float(wanted.max()), 0.0), 3),
            "wanted_cut_db": round(max(float(-wanted.min()), 0.0), 3),
            "capped": bool(beyond.any()),
            "capped_percent": round(100 * float(beyond.mean()), 2),
            "applied_percent": round(100 * share, 1),
        }
