"""Report files: every picture and table of a report on its own, for a paper; made from the record alone.

They name conditions, and belong beside the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prep.methods import references_bib
from prep.page import printable
from prep.recorded import REPORT_FOLDER, audits, titles
from prep.report import report_tables
from prep.report_figures import battery, correction_figures, level_figures, roc_figures, spectrum_figures
from prep.standalone import png_file, svg_file
from prep.stimuli import stimuli_tex
from prep.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prep.recorded import Record


def report_files(record: Record) -> dict[str, bytes]:
    """Return every file of the report's folder by its name, `report/` before it.

    Pictures as SVG and PNG, tables as CSV and LaTeX, `captions.csv` with what each picture shows, `stimuli.tex`, and
    `references.bib` with what the methods cite.
    """
    found: dict[str, bytes] = {}
    captions = []
    for name, picture, caption in _pictures(record):
        found |= {f"{name}.svg": svg_file(picture), f"{name}.png": png_file(picture)}
        captions.append((f"{name}.svg", caption))
    for table in report_tables(record):
        found |= {f"{table.name}.csv": table.csv(), f"{table.name}.tex": table.latex()}
    found["captions.csv"] = Table("captions", "", ("file", "caption"), captions).csv()
    found["stimuli.tex"] = stimuli_tex(record)
    found["references.bib"] = references_bib(record).encode()
    return {f"{REPORT_FOLDER}/{name}": found[name] for name in sorted(found)}


def _pictures(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield (name, chart, caption) of every picture of the page that is not empty."""
    record = printable(record)
    kinds = {"level": level_figures, "spectrum": spectrum_figures, "correction": correction_figures}
    for kind, drawn in kinds.items():
        for place, figure in enumerate(drawn(record), 1):
            if figure.picture:
                yield f"{kind}-{place}", str(figure.picture), figure.caption
    margin = float(record["config"]["audit"]["equivalence_auc"])
    several = len(audits(record)) > 1
    for pair, (audit, title) in enumerate(zip(audits(record), titles(record), strict=True), 1):
        number = f"-{pair}" if several else ""
        cues = battery(audit, margin)
        if cues.picture:
            yield f"cues{number}", str(cues.picture), f"{cues.caption} {title}".strip()
        for place, figure in enumerate(roc_figures(record, audit), 1):
            if figure.picture:
                yield f"roc{number}-{place}", str(figure.picture), figure.caption
