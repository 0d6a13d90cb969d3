"""tilt_eq: one straight line in dB/octave for one condition, fitted to another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from prep import level
from prep.bibliography import HODGES_LEHMANN, Reference, cite
from prep.errors import RefusedError
from prep.prose import clips_with, counted
from prep.shift import hodges_lehmann, walsh_median
from prep.spectrum import TILT_BAND_HZ, checked_tilt_band, filter_zero_phase, tilt_db_per_octave, tilt_fir
from prep.stage import Applied, FitsOn, Measured, Stage, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip
    from prep.stage import Account
    from prep.units import DbPerOctave, Decibels

Selection = dict[str, str | list[str]]


class TiltMeasure(Value):
    """What fit needs of one clip."""

    tilt_db_per_octave: float = Field(description="spectral tilt of the clip, dB/octave")


class TiltFit(Value):
    """The correction, and what it was fitted on."""

    shift_db_per_octave: float = Field(description="what `adjust` lacks relative to `towards`, dB/octave")
    applied_db_per_octave: float = Field(description="slope of the correction, dB/octave: the shift, capped")
    capped: bool = Field(description="the shift passes the cap; no unit")
    max_db_per_octave: float = Field(description="the cap, dB/octave")
    method: Literal["matched", "pooled"] = Field(description="which of the two shifts is used; no unit")
    pooled_shift_db_per_octave: float = Field(description="median of all differences between clips, dB/octave")
    matched_shift_db_per_octave: float | None = Field(
        description="median of Walsh averages of matched cells' differences, dB/octave; none without cells"
    )
    adjust_clips: int = Field(description="clips measured on the side that is corrected, count")
    towards_clips: int = Field(description="clips measured on the other side, count")
    matched_cells: int = Field(description="cells that hold clips of both sides, count")


class TiltEq(Stage[TiltMeasure, TiltFit]):
    """Tilt the spectrum of one condition by one straight line, so that it is as bright as another.

    The line is the shift between the two conditions' tilts: Hodges-Lehmann over all pairs of clips, or, where
    every clip lies in a cell matched by speaker and passage, the median of Walsh averages of the cells'
    differences (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3.2 and 4.2). One line for the
    condition, never one for a speaker. A linear-phase filter applies it with zero lag, between 50 Hz and
    16 kHz; the loudness of the clip is restored (BS.1770 integrated loudness; RMS where that is undefined).
    """

    NAME: ClassVar[str] = "tilt_eq"
    VERSION: ClassVar[int] = 2
    REFERENCES: ClassVar[tuple[Reference, ...]] = (HODGES_LEHMANN,)
    FITS_ON: ClassVar[FitsOn] = "labels"
    MEASURES: ClassVar[type[Value] | None] = TiltMeasure
    FITS: ClassVar[type[Value] | None] = TiltFit
    CORRECTS: ClassVar[str] = "tilt"
    CURES: ClassVar[tuple[str, ...]] = ("tilt",)
    MOVES: ClassVar[tuple[str, ...]] = ("head_silence", "tail_silence")

    adjust: Selection = Field(
        min_length=1, description="rows whose clips are corrected: {column: value or list of values}; no unit"
    )
    towards: Selection = Field(
        min_length=1,
        description="rows whose tilt they are brought to: {column: value or list of values}; no unit",
    )
    max_db_per_octave: float = Field(default=3.0, gt=0, description="largest correction either way, dB/octave")
    tilt_band_hz: Annotated[tuple[float, float], AfterValidator(checked_tilt_band)] = Field(
        default=TILT_BAND_HZ, description="lower and upper limit of the band in which tilt is measured, Hz"
    )
    match: list[str] = Field(
        default=[],
        description="columns whose values make a matched cell, such as [speaker, passage]; "
        "when not set, the study's compare.match; no unit",
    )

    @model_validator(mode="after")
    def _derives_only(self) -> TiltEq:
        """Refuse `only`, which follows from `adjust`, and a condition that is to be brought to itself."""
        if self.only is not None:
            raise ValueError("tilt_eq is applied to the rows of `adjust`; say it there and leave `only` out")
        if self.adjust == self.towards:
            raise ValueError("`adjust` and `towards` name the same rows; name two conditions")
        return self

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:
        """Return caps of 1, 2, 3 and 6 dB/octave on the correction of a."""
        sides = {"adjust": {column: a}, "towards": {column: b}}
        return [{**sides, "max_db_per_octave": cap} for cap in (1.0, 2.0, 3.0, 6.0)]

    def applies_to(self) -> Selection:
        """Return `adjust`: no other clip is touched."""
        return self.adjust

    def selections(self) -> Sequence[tuple[str, Selection]]:
        """Return `adjust` and `towards`."""
        return [("adjust", self.adjust), ("towards", self.towards)]

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return which condition was tilted, by how much, how that was fitted, and whether the cap bit."""
        step, fit = account.parameters, account.release or {}
        held = (
            f" Fitted on the fit split alone, for the held-out test, it was "
            f"{account.evidence['applied_db_per_octave']:+.2f} dB/octave."
            if account.evidence
            else ""
        )
        capped = (
            f" The correction stopped at its cap of {fit['max_db_per_octave']:g} dB/octave; the conditions differ by "
            f"{fit['shift_db_per_octave']:+.2f} dB/octave, so that a part of the difference remains."
            if fit["capped"]
            else ""
        )
        cells = f" over {counted(fit['matched_cells'], 'matched cell')}" if fit["method"] == "matched" else ""
        low, high = step["tilt_band_hz"]
        return (
            f"The long-term spectral tilt of {clips_with(step['adjust'])} was adjusted by one straight line of "
            f"{fit['applied_db_per_octave']:+.2f} dB/octave, the same for every speaker: the {fit['method']} "
            f"Hodges-Lehmann shift {cite(HODGES_LEHMANN)} to {clips_with(step['towards'])}{cells}, of tilts measured "
            f"from {low:g} to {high:g} Hz, applied by a linear-phase filter, with each clip's loudness restored."
            f"{held}{capped}"
        )

    def measure(self, clip: Clip) -> TiltMeasure:
        """Return the tilt of the clip.

        Raises:
            ClipError: the clip has no tilt in the band: too short, silent, or its band is narrower.
        """
        return TiltMeasure(tilt_db_per_octave=tilt_db_per_octave(clip, self.tilt_band_hz))

    def fit(self, measured: Sequence[Measured[TiltMeasure]]) -> TiltFit:
        """Return the correction that brings `adjust` to `towards`.

        Raises:
            RefusedError: a side has no clip, or a clip is on both sides.
        """
        adjust = [item for item in measured if item.row.selected_by(self.adjust)]
        towards = [item for item in measured if item.row.selected_by(self.towards)]
        _check_sides(adjust, towards)
        pooled = hodges_lehmann(_tilts(adjust), _tilts(towards))
        differences, complete = self._matched_differences(adjust, towards)
        matched = walsh_median(differences) if differences else None
        shift = matched if matched is not None and complete else pooled
        applied = min(max(shift, -self.max_db_per_octave), self.max_db_per_octave)
        return TiltFit(
            shift_db_per_octave=shift,
            applied_db_per_octave=applied,
            capped=applied != shift,
            max_db_per_octave=self.max_db_per_octave,
            method="matched" if complete else "pooled",
            pooled_shift_db_per_octave=pooled,
            matched_shift_db_per_octave=matched,
            adjust_clips=len(adjust),
            towards_clips=len(towards),
            matched_cells=len(differences),
        )

    def apply(self, clip: Clip, fit: TiltFit) -> Applied:
        """Return the clip with the fitted slope, and its loudness as it was. Peaks may pass full scale.

        Raises:
            ClipError: a sample is not finite.
        """
        slope = fit.applied_db_per_octave
        tilted = clip.with_samples(filter_zero_phase(clip.samples, tilt_fir(slope, clip.rate)))
        gain_db = _loudness_change(tilted, clip) if slope else 0.0
        return Applied(
            level.gain(tilted, gain_db) if slope else clip,
            {"applied_db_per_octave": slope, "capped": fit.capped, "gain_restored_db": gain_db},
        )

    def foresee(self, measured: Measured[TiltMeasure], fit: TiltFit) -> float:
        """Return the tilt that a clip will have, dB/octave."""
        moved = fit.applied_db_per_octave if measured.row.selected_by(self.adjust) else 0.0
        return measured.value.tilt_db_per_octave + moved

    def _matched_differences(
        self, adjust: list[Measured[TiltMeasure]], towards: list[Measured[TiltMeasure]]
    ) -> tuple[list[DbPerOctave], bool]:
        """Return each matched cell's shift, and whether every clip lies in such a cell."""
        cells: dict[tuple[str, ...], tuple[list[DbPerOctave], list[DbPerOctave]]] = defaultdict(lambda: ([], []))
        for side, items in enumerate((adjust, towards)):
            for item in items:
                cell = tuple(item.row.columns.get(column, "") for column in self.match)
                cells[cell][side].append(item.value.tilt_db_per_octave)
        # A row that leaves a match column empty is matched to nothing.
        matched = [sides for cell, sides in sorted(cells.items()) if cell and all(cell) and all(sides)]
        differences = [hodges_lehmann(before, after) for before, after in matched]
        return differences, len(matched) == len(cells)


def _check_sides(adjust: list[Measured[TiltMeasure]], towards: list[Measured[TiltMeasure]]) -> None:
    """Refuse a side without clips, and a clip on both sides."""
    for field, items in (("adjust", adjust), ("towards", towards)):
        if not items:
            raise RefusedError(
                f"tilt_eq: no clip is left in the rows of `{field}`, so there is no tilt to fit; "
                "see which clips were set aside, or name other rows"
            )
    both = {item.row.file_name for item in adjust} & {item.row.file_name for item in towards}
    if both:
        raise RefusedError(
            f"tilt_eq: {min(both)} is in the rows of `adjust` and of `towards`; name rows that do not overlap"
        )


def _tilts(items: list[Measured[TiltMeasure]]) -> list[DbPerOctave]:
    """Return the measured tilts in rising order, so that the order of rows cannot show."""
    return sorted(item.value.tilt_db_per_octave for item in items)


def _loudness_change(clip: Clip, source: Clip) -> Decibels:
    """Return the gain in dB that gives a clip the loudness of its source; 0 for silence."""
    for loudness in (level.integrated_lufs, level.rms_dbfs):
        wanted, heard = loudness(source), loudness(clip)
        if wanted is not None and heard is not None:
            return wanted - heard
    return 0.0
