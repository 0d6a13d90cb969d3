"""loudness: how loud a clip is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import ITU_BS1770, PYLOUDNORM, Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.level import BLOCK_SECONDS, integrated_lufs

if TYPE_CHECKING:
    from prep.clip import Clip


class Loudness(Cue):
    """Integrated loudness of the clip, measured at 48 kHz."""

    NAME: ClassVar[str] = "loudness"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (ITU_BS1770, PYLOUDNORM)
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("integrated_lufs", "LUFS", "loudness of the clip over the blocks that pass both gates", 0.1),
    )
    MEANING: ClassVar[str] = "level: the louder of two clips is judged the better one"
    SOURCE: ClassVar[str] = "ITU-R BS.1770-5, Annex 1"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the integrated loudness of the clip in LUFS.

        Raises:
            ClipError: the clip is shorter than one 400 ms block, or silent.
        """
        loudness_lufs = integrated_lufs(clip)
        if loudness_lufs is not None:
            return {"integrated_lufs": loudness_lufs}
        if clip.seconds < BLOCK_SECONDS:
            raise ClipError(f"it lasts {clip.seconds:.3f} s, and loudness needs {BLOCK_SECONDS:g} s; use a longer clip")
        raise ClipError("it is silent (no 400 ms block above -70 LUFS), so it has no loudness; replace it")
