"""Tabular: one table of a report as Markdown, CSV or LaTeX, whatever is in its cells."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, NamedTuple

from prep import latex
from prep.recorded import readable_text
from prep.spreadsheet import NUMBER, csv_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDE = 40  # signs; a longer cell is set as a paragraph


class Table(NamedTuple):
    """A table: the name of its file, what it shows, the head, and the rows of plain text or numbers."""

    name: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def without_empty(self) -> tuple[Table, list[str]]:
        """Return it without the columns that have a dash in every row, and what these are called."""
        kept = [place for place in range(len(self.head)) if any(row[place] != "-" for row in self.rows)]
        left_out = [name for place, name in enumerate(self.head) if self.rows and place not in kept]
        if not left_out:
            return self, []
        rows = [[row[place] for place in kept] for row in self.rows]
        return self._replace(head=[self.head[place] for place in kept], rows=rows), left_out

    def markdown(self, most: int | None = None) -> str:
        """Return it in Markdown, of a long one the first rows."""
        rows = self.rows if most is None else self.rows[:most]
        lines = [self.head, ["---"] * len(self.head), *rows]
        told = "\n".join("| " + " | ".join(readable_text(str(cell)) for cell in line) + " |" for line in lines)
        more = len(self.rows) - len(rows)
        return told + (f"\n\nand {more} more; run.json has all." if more else "")

    def csv(self) -> bytes:
        """Return it as CSV in UTF-8. A text that a spreadsheet would run as a formula gets an apostrophe before it."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([csv_cell(cell) for cell in self.head])
        writer.writerows([csv_cell(cell) for cell in row] for row in self.rows)
        return text.getvalue().encode("utf-8", "backslashreplace")

    def latex(self) -> bytes:
        """Return it as LaTeX: numbers to the right, long texts as paragraphs."""
        cells = [[str(cell) for cell in row] for row in self.rows]
        kinds = [self._kind([row[place] for row in cells]) for place in range(len(self.head))]
        wide = kinds.count("p")
        share = f"p{{{0.6 / wide:.2f}\\linewidth}}" if wide else ""
        preamble = "".join(share if kind == "p" else kind for kind in kinds)
        made = latex.tabular(self.caption, f"tab:{self.name}", self.head, cells, preamble=preamble)
        return made.encode("utf-8", "backslashreplace")

    @staticmethod
    def _kind(column: Sequence[str]) -> str:
        if any(len(cell) > WIDE for cell in column):
            return "p"
        return "r" if column and all(NUMBER.fullmatch(cell) or not cell for cell in column) else "l"
