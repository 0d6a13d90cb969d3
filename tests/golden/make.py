"""Make the golden methods paragraphs again: `python tests/golden/make.py`, and then read every one of them.

Each preset of configs/ is run on the made-up voices of fixtures/ (`make fixtures/clips/made` first; detection and arena
need `prep models fetch`). What the methods draw on is kept of the record in NAME.json, and what they say in NAME.md.
With `--texts` the runs are left out, and only NAME.md is made, from the NAME.json that is there.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import soundfile
import yaml

from prep.methods import methods_md
from prep.progress import Silent
from prep.run import run_study

GOLDEN = Path(__file__).resolve().parent
PROJECT = GOLDEN.parents[1]
CLIPS = PROJECT / "fixtures" / "clips.csv"
MASK = "0.0"  # in place of every version
CLIPPING_GAIN = 30.0  # at which a clip of the fixtures loses its tops
KEPT_OF_RECORD = ("study", "config", "seed", "chain", "fit_intervals", "stability", "one_sided", "counts")
KEPT_OF_CLIP = ("role", "status", "failure")
KEPT_OF_TEST = ("auc", "auc_tested", "p", "p_familywise", "smallest_p", "units_a", "units_b", "units_needed", "verdict")
KEPT_WHERE_THERE = ("numbers",)


def main() -> None:
    """Make what is asked for."""
    for config in sorted((PROJECT / "configs").glob("*.yaml")):
        kept = GOLDEN / f"{config.stem}.json"
        if "--texts" not in sys.argv:
            text = json.dumps(cut_down(ran(config)), indent=0, ensure_ascii=False)
            kept.write_text(text + "\n", encoding="utf-8")
        record = json.loads(kept.read_text(encoding="utf-8"))
        (GOLDEN / f"{config.stem}.md").write_text(methods_md(record), encoding="utf-8")


def ran(config: Path) -> dict[str, Any]:
    """Return the record of a preset on the made-up voices."""
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    with TemporaryDirectory(prefix="prep-golden-") as name:
        folder = Path(name)
        shutil.copytree(CLIPS.parent / "clips", folder / "clips")
        write_table(folder, values["compare"]["b"], spoilt=any("screen" in step for step in values["chain"]))
        values.pop("takes", None)  # the made-up voices are clips already
        for step in values["chain"]:
            # Voices made of formants sound like music: the limit is out of reach.
            if "music" in step.get("screen", {}):
                step["screen"]["music"] = {"max_music_probability": 1.0}
        values |= {"clips": {"table": "clips.csv"}, "output": "out", "cache": "cache", "workers": 1}
        (folder / "study.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
        return run_study(folder / "study.yaml", Silent()).record


def write_table(folder: Path, other: str, *, spoilt: bool) -> None:
    """Write the clip table: conditions as the preset names them, and for a screen a clipped take before a good one."""
    with CLIPS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["condition"] = row["condition"].replace("synthetic", other)
        row["slot"] = row["file_name"]
    if spoilt:
        samples, rate = soundfile.read(folder / rows[0]["file_name"])
        soundfile.write(folder / "clipped.wav", np.clip(samples * CLIPPING_GAIN, -1, 1), rate, subtype="PCM_16")
        rows.insert(0, {**rows[0], "file_name": "clipped.wav"})
    with (folder / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def cut_down(record: dict[str, Any]) -> dict[str, Any]:
    """Return what the methods draw on, with versions masked and figures of four digits."""
    audit = record["audit"]
    columns = {
        column: {
            cue: {name: item.get(name) for name in KEPT_OF_TEST}
            | {name: item[name] for name in KEPT_WHERE_THERE if name in item}
            for cue, item in (audit[column] or {}).items()
        }
        for column in ("sources", "before", "after", "delivered")
    }
    fits = {
        part: {
            stage: {name: value for name, value in fit.items() if not isinstance(value, list | dict)}
            for stage, fit in found.items()
        }
        for part, found in record["fits"].items()
    }
    kept = {
        **{name: record[name] for name in KEPT_OF_RECORD},
        "split": {"by": record["split"]["by"]},
        "fits": fits,
        "audit": {
            **{name: audit[name] for name in ("column", "a", "b", "unit")},
            "cues": {
                name: {"kind": cue["kind"], "features": [{"unit": item.get("unit")} for item in cue["features"][:1]]}
                for name, cue in audit["cues"].items()
            },
            **columns,
        },
        "slots": [{name: slot[name] for name in ("filled_by", "instead_of", "candidates")} for slot in record["slots"]],
        "clips": [
            {
                **{name: clip[name] for name in KEPT_OF_CLIP},
                "stages": {
                    stage: {
                        name: value
                        for name, value in notes.items()
                        if name == "warning" or not isinstance(value, list | str)
                    }
                    for stage, notes in clip["stages"].items()
                },
                "columns": {name: clip["columns"][name] for name in ("file_name", "condition", "speaker")},
                "screen": {"findings": failed(clip)},
                "delivered": bool(clip["delivered"]),
            }
            for clip in record["clips"]
        ],
        "versions": dict.fromkeys(record["versions"], MASK),
        "models": dict.fromkeys(record["models"], MASK),
    }
    found: dict[str, Any] = rounded(kept)
    return found


def failed(clip: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the checks of a screen that a clip failed."""
    found = (clip["screen"] or {"findings": []})["findings"]
    return [
        {name: item[name] for name in ("check", "outcome", "on_fail")} for item in found if item["outcome"] == "failed"
    ]


def rounded(value: Any) -> Any:
    """Return a value with every float of four digits after the point."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
