"""Spreadsheet: what a person's program does with a cell of CSV when it opens the file."""

from __future__ import annotations

import re
from typing import Any

# A spreadsheet runs a cell that begins so as a formula; a number with a sign is none.
FORMULA = re.compile(r"\s*[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?|-", re.IGNORECASE)


def csv_cell(cell: Any) -> str:
    """Return a cell that no spreadsheet takes for a formula, and in which NUL is written out.

    A cell that has been through it stays as it is.
    """
    text = ("" if cell is None else str(cell)).replace("\0", "\\0")
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text
