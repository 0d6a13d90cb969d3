"""The tables of the pages in docs/: each script writes its own between its marks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCS = Path(__file__).resolve().parents[1] / "docs"


def write_table(mark: str, rows: Sequence[Sequence[str]], page: str = "separability.md") -> None:
    """Print a table, the first row its head, and put it between its marks in a page."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    table = "\n".join(lines) + "\n"
    print(table)
    path = DOCS / page
    before, rest = path.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n")
    after = rest.split(f"<!-- /{mark} -->")[1]
    path.write_text(f"{before}<!-- {mark} -->\n{table}<!-- /{mark} -->{after}", encoding="utf-8")
