"""The level presets on real studies: what a listener gets has the level that the record states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from prep.audio import decode
from prep.level import active_level, integrated_lufs, true_peak_dbtp
from prep.mpeg import mp3_stream
from prep.progress import Silent
from prep.run import run_study

PROJECT = Path(__file__).resolve().parents[1]

LOUDNESS_TOLERANCE_LU = 0.1  # LU, of the delivered clip
ACTIVE_LEVEL_TOLERANCE_DB = 0.1  # dB, of an active level


def run_preset(folder: Path, shared: Path, preset: str, table: str) -> tuple[Path, dict[str, Any]]:
    """Run a preset on a real table; return the output folder and the record."""
    config = yaml.safe_load((PROJECT / "configs" / f"{preset}.yaml").read_text(encoding="utf-8"))
    # What stands before the level has tests of its own, and a screen would replace the clips that are hard to level.
    config["chain"] = [step for step in config["chain"] if not {"screen", "dereverb", "reference_eq"} & step.keys()]
    config |= {"clips": {"table": str(shared / "data" / f"{table}.csv")}, "audit": {"cues": ["limiting", "loudness"]}}
    (folder / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    done = run_study(folder / "study.yaml", Silent(), workers=2)
    return folder / "out", done.record


@pytest.mark.parametrize("table", ["chains", "detection"])
def test_the_arena_delivers_minus_16_lufs(shared: Path, tmp_path: Path, table: str) -> None:
    """Every decoded MP3 is within 0.1 LU of -16 and under -1 dBTP, of exact length, 128 kb/s constant, without tags."""
    output, record = run_preset(tmp_path, shared, "arena", table)
    for clip in record["clips"]:
        assert clip["status"] == "delivered", clip["failure"]
        data = (output / clip["delivered"]["file"]).read_bytes()
        decoded, facts = decode(data, clip["file_name"])
        stream = mp3_stream(data)
        source = clip["source"]["facts"]
        assert integrated_lufs(decoded) == pytest.approx(-16, abs=LOUDNESS_TOLERANCE_LU), clip["file_name"]
        assert true_peak_dbtp(decoded) <= -1, clip["file_name"]  # type: ignore[operator]
        assert decoded.frames == round(source["frames"] * 44100 / source["rate"])
        assert (decoded.rate, decoded.channels) == (44100, 1)
        assert stream is not None
        assert stream.kbps == (128,)
        assert facts.tags == ()
    limited = [clip["delivered"]["cues"]["limiting"]["limited_db"] for clip in record["clips"]]
    assert sum(value > 0 for value in limited) > 0.9 * len(limited)  # at -16 LUFS limiting is the rule
    assert max(limited) <= 12
    assert record["audit"]["after"]["limiting"]["auc"] is not None


def test_voice_conversion_gets_one_active_level(shared: Path, tmp_path: Path) -> None:
    """Every clip of the MOS study has an active speech level of -26 dBov, or is named as lowered."""
    output, record = run_preset(tmp_path, shared, "vc_mos", "voice_conversion")
    for clip in record["clips"]:
        decoded, _ = decode((output / clip["delivered"]["file"]).read_bytes(), clip["file_name"])
        measured = active_level(decoded)
        assert measured is not None
        lowered = clip["stages"]["clip_loudness"]["lowered_by_db"]
        assert measured.active_level_dbov + lowered == pytest.approx(-26, abs=ACTIVE_LEVEL_TOLERANCE_DB)
