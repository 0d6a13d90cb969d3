"""limiting: by how much a limiter held a clip's peaks down to reach its loudness."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prep.clip import Clip
    from prep.stage import Notes


class Limiting(Cue):
    """Largest gain reduction of the limiter. The sources have none: what limited them before cannot be known."""

    NAME: ClassVar[str] = "limiting"
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("limited_db", "dB", "largest gain reduction that clip_loudness made to keep the ceiling", 0.1),
    )
    MEANING: ClassVar[str] = "density: peaky voices are squashed more to reach one loudness, and it can be heard"
    SOURCE: ClassVar[str] = "prep.limiter, as clip_loudness noted it"

    def measure(self, clip: Clip) -> dict[str, float]:  # noqa: ARG002
        """Return no reduction: the sound itself does not tell."""
        return {"limited_db": 0.0}

    def from_notes(self, notes: Mapping[str, Notes]) -> dict[str, float]:
        """Return the reduction in dB that clip_loudness noted; 0 where it did nothing."""
        return {"limited_db": float(notes.get("clip_loudness", {}).get("limited_db", 0.0))}
