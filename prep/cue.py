"""Cue: something measurable that may tell the conditions apart. With a limit it is a screen.

One class serves both uses. A cue sees one clip and no label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from prep.stage import Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prep.clip import Clip
    from prep.facts import AudioFacts
    from prep.stage import Notes

Kind = Literal["nuisance", "voice", "file"]


class Feature(NamedTuple):
    """One number of a cue: its field name (with the unit in it), its unit, its meaning and its resolution.

    Differences below the resolution, in the same unit, count as none: nobody hears the rounding of a codec,
    and an exact comparison would tell conditions apart by it.
    """

    name: str
    unit: str
    meaning: str
    resolution: float


class Cue(Step):
    """Something measurable about a clip.

    KIND: `nuisance` (the recording chain), `voice` (perhaps the very thing judged) or `file`.
    FEATURES: the numbers `measure` returns, in order. MEANING: one line for a reader.
    SOURCE: the paper or standard that defines it. LIMITS: what it forbids as a screen where the config says
    nothing, as {"max_music_probability": 0.5}: `max_` or `min_` before a feature's name.
    MODELS: names in `prep.models` of what it needs. BATTERY: whether `audit: {cues: all}` holds it; a check for
    defects does not belong there, and one with MODELS is audited only where the config names it.
    CUT: the feature, in seconds, that says how much of the clip's start may be cut off to mend it.
    """

    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = ()
    MEANING: ClassVar[str] = ""
    SOURCE: ClassVar[str] = ""
    LIMITS: ClassVar[dict[str, float]] = {}
    MODELS: ClassVar[tuple[str, ...]] = ()
    BATTERY: ClassVar[bool] = True
    CUT: ClassVar[str] = ""

    def models(self) -> Sequence[str]:
        """Return MODELS."""
        return self.MODELS

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return each feature by name. Pure.

        Raises:
            ClipError: the cue is not defined for this clip, and why.
        """
        raise NotImplementedError

    def from_file(self, facts: AudioFacts, size_bytes: int) -> dict[str, float] | None:  # noqa: ARG002
        """Return the features from the file itself; None: the sound says them.

        For cues of kind `file`. `measure` then says what a clip without a file has.
        """
        return None

    def from_notes(self, notes: Mapping[str, Notes]) -> dict[str, float] | None:  # noqa: ARG002
        """Return the features from what the stages noted of a treated clip, by stage; None: the sound says them.

        For what a treatment leaves no measurable trace of. `measure` then says what untreated sound has.
        """
        return None

    def from_text(self, clip: Clip, text: str) -> dict[str, float] | None:  # noqa: ARG002
        """Return the features of a clip that should speak this text (the table's `text`); None: the text is no matter.

        Raises:
            ClipError: as `measure`.
        """
        return None

    def evidence(self, clip: Clip) -> Notes:  # noqa: ARG002
        """Return what a reader of a rejection should see beside the numbers, as the words that were heard."""
        return {}
