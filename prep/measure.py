"""Measure: every cue of single files, without a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prep import audio
from prep.classifiers import cue_classes
from prep.errors import AudioError
from prep.visit import measure_cues, told_by_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Measures:
    """What was measured of each file, in the order asked; `error` where it cannot be read."""

    files: list[dict[str, Any]]

    @property
    def exit_code(self) -> int:
        """0 where every file was read; 1 where some were; 4 where none was."""
        failed = sum("error" in file for file in self.files)
        return 0 if not failed else 4 if failed == len(self.files) else 1


def measure_files(paths: Sequence[Path]) -> Measures:
    """Return every measure of each file."""
    return Measures([_measured(path) for path in paths])


def _measured(path: Path) -> dict[str, Any]:
    """Return one file's facts and cues by feature; undefined ones are null, with the reason beside."""
    try:
        clip, facts = audio.decode(audio.read_bytes(path), str(path))
    except AudioError as error:
        return {"file": str(path), "error": str(error)}
    cues = [cue() for cue in cue_classes().values() if not cue.MODELS]
    values: dict[str, Any] = {}
    undefined: dict[str, str] = {}
    measured = measure_cues(clip, cues) | told_by_file(cues, facts, path.stat().st_size)
    for cue, features in zip(cues, measured.values(), strict=True):
        for feature in cue.FEATURES:
            values[feature.name] = features.get(feature.name)
        if "undefined" in features:
            undefined[cue.NAME] = features["undefined"]
    return {"file": str(path), "facts": facts.model_dump(mode="json"), "measures": values, "undefined": undefined}
