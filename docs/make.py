"""Write the tables of the README and the docs from the classes: `python docs/make.py`."""

from __future__ import annotations

from pathlib import Path

from prep.describe import cue_table, settings_table, stage_table

PROJECT = Path(__file__).resolve().parents[1]
TABLES = {
    "README.md": ("stages", stage_table),
    "docs/cues.md": ("cues", cue_table),
    "docs/config.md": ("settings", settings_table),
}


def main() -> None:
    """Put each table between its marks."""
    for page, (mark, table) in TABLES.items():
        path = PROJECT / page
        before, rest = path.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n")
        after = rest.split(f"<!-- /{mark} -->")[1]
        path.write_text(f"{before}<!-- {mark} -->\n{table()}<!-- /{mark} -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
