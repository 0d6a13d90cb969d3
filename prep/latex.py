r"""LaTeX: text and tables that pdfLaTeX, XeLaTeX and LuaLaTeX take, whatever is in the cells.

Every sign that TeX reads as a command is escaped; letters stay as they are, in UTF-8.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # At the start of a row these would be read as arguments of the \\ before it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}",
    "\u201c": r"\textquotedblleft{}",
    "\u201d": r"\textquotedblright{}",
    "\u201e": r"\quotedblbase{}",
    "«": r"\guillemotleft{}",
    "»": r"\guillemotright{}",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "\u2026": r"\textellipsis{}",
    "\u00d7": r"\texttimes{}",
    "÷": r"\textdiv{}",
    "±": r"\textpm{}",
    "°": r"\textdegree{}",
    "µ": r"\textmu{}",
    "§": r"\textsection{}",
    "·": r"\textperiodcentered{}",
}
NEEDED = r"% needs \usepackage[T1]{fontenc} (pdfLaTeX) and \usepackage{textcomp,booktabs,longtable}"
LIGATURES = re.compile(r"([-,])(?=\1)")  # two of them would become a dash, or a low quotation mark
BREAKS = re.compile(r"(/|\\_)")
MOST_COLUMNS = 8  # at the size of the text
# Latin with its marks, which T1 fonts hold, but for what they lack.
LATIN = frozenset(map(chr, range(0xC0, 0x180))) - frozenset("ĦħĸĿŀŉŦŧſ\u00d7÷")
# What pdfLaTeX cannot print, in UTF-8 for the engines that can, and by code points for it.
FALLBACK = r"\ifdefined\prepunicode\else\protected\def\prepunicode#1#2{\ifdefined\Umathcode#1\else#2\fi}\fi"


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it stands.

    Control codes and marks of writing direction are dropped; a line end or a tab becomes a space. Signs beyond Latin
    (other scripts, emoji) stay in UTF-8 for LuaLaTeX and XeLaTeX, whose document must name a font that has them;
    pdfLaTeX prints their code points, as U+1F600.
    """
    plain = "".join(" " if sign.isspace() else sign for sign in unicodedata.normalize("NFC", text) if _kept(sign))
    runs = groupby(plain, key=_printed)
    return "".join(_known(run) if known else _fallback(run) for known, signs in runs for run in ["".join(signs)])


def breakable(told: str) -> str:
    """Return escaped text that may be broken after a stroke or an underscore, as paths and addresses must be."""
    return BREAKS.sub(r"\1\\allowbreak{}", told)


def _kept(sign: str) -> bool:
    return sign.isspace() or sign.isprintable()


def _printed(sign: str) -> bool:
    return sign.isascii() or sign in SPECIAL or sign in LATIN


def _known(run: str) -> str:
    return "".join(SPECIAL.get(sign, sign) for sign in LIGATURES.sub("\\1\0", run)).replace("\0", "{}")


def _fallback(run: str) -> str:
    codes = " ".join(f"U+{ord(sign):04X}" for sign in run)
    return rf"\prepunicode{{{run}}}{{{codes}}}"


def tabular(caption: str, label: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, preamble: str) -> str:
    r"""Return a table on as many pages as it takes (longtable, with booktabs rules), to be read by \input.

    Args:
        caption: plain text.
        label: lower case letters, digits and hyphens.
        head: plain text of each column.
        rows: plain text of each cell.
        preamble: the columns, such as `lrr`.
    """
    small = [r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}"] if len(head) > MOST_COLUMNS else [r"\begingroup"]
    line = " & ".join(rf"\textbf{{{escaped(cell)}}}" for cell in head) + r" \\"
    width = len(head)
    return "\n".join(
        [
            NEEDED,
            FALLBACK,
            *small,
            rf"\begin{{longtable}}{{{preamble}}}",
            rf"\caption{{{escaped(caption)}}}\label{{{label}}}\\",
            r"\toprule",
            line,
            r"\midrule",
            r"\endfirsthead",
            r"\toprule",
            line,
            r"\midrule",
            r"\endhead",
            rf"\midrule \multicolumn{{{width}}}{{r}}{{continued}}\\",
            r"\endfoot",
            r"\bottomrule",
            r"\endlastfoot",
            *(" & ".join(breakable(escaped(cell)) for cell in row) + r" \\" for row in rows),
            r"\end{longtable}",
            r"\endgroup",
            "",
        ]
    )
