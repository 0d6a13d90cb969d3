"""Which cue each restoring stage takes away and which it makes, on human clips alone and on both sides.

    python bench/stage_audits.py chains.csv detection.csv

Each table (file_name, condition with human and synthetic, ...) goes through each stage by itself, with its defaults,
once for the human clips only and once for all, in 24 bits: the dither of 16 lies above what some stages leave in
pauses, and has a colour of its own. AUC of every nuisance cue over all clips, of the sources and as delivered; a cue
went or came where its distance from 0.5 moves by the margin of the audit or more. What the format does by itself,
without a stage, is the first row. Writes its table into docs/restoration.md.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from restoration import write_table

from prep.classifiers import cue_classes
from prep.errors import PrepError
from prep.progress import Silent
from prep.run import run_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STAGES = ("high_pass", "detap", "denoise", "dereverb", "edges", "bandwidth", "masking_noise")
MARGIN = 0.15  # of the separation: the audit's own default for equivalence
HUMAN = {"condition": "human"}
HEADROOM = {"shared_gain": {"target_lufs": -32}}  # one gain, so that no clip is lost to its peaks at another rate
NUISANCE = [name for name, cue in cue_classes().items() if cue.KIND == "nuisance" and cue.BATTERY and not cue.MODELS]


def audit(table: Path, steps: list[Any]) -> Mapping[str, Any]:
    """Run a table through some steps; return its record."""
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "study": "stage",
            "clips": {"table": str(table.absolute())},
            "compare": {"a": "human", "b": "synthetic"},
            "chain": [*steps, HEADROOM, {"encode": {"codec": "flac", "rate": 44100, "channels": 1, "bit_depth": 24}}],
            "audit": {"cues": NUISANCE},
        }
        path = Path(folder) / "study.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return run_study(path, progress=Silent()).record


def moved(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return in words which cues went and which came."""
    went, came = [], []
    for name in NUISANCE:
        before, after = (record["audit"][column].get(name, {}).get("auc") for column in ("sources", "delivered"))
        if before is None or after is None:
            continue
        change = abs(after - 0.5) - abs(before - 0.5)
        if abs(change) >= MARGIN:
            (came if change > 0 else went).append(f"`{name}` {before:.2f} to {after:.2f}")
    return ", ".join(went), ", ".join(came)


def rows(tables: list[Path]) -> Iterator[list[str]]:
    """Yield the table."""
    yield ["table", "stage", "for", "clips", "went (AUC)", "came (AUC)"]
    for table in tables:
        for stage in (None, *STAGES):
            for only in ({}, {"only": HUMAN}) if stage else ({},):
                side = "human" if only else "all"
                try:
                    record = audit(table, [{stage: only}] if stage else [])
                except PrepError as error:
                    yield [table.name, f"`{stage}`", side, "0", f"refused: {error}".replace("|", " "), ""]
                    continue
                clips = str(record["counts"].get("delivered", 0))
                yield [table.name, f"`{stage}`" if stage else "the format alone", side, clips, *moved(record)]


if __name__ == "__main__":
    write_table("audits", list(rows([Path(name) for name in sys.argv[1:]])))
