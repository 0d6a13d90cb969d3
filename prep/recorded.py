"""Recorded: what a record holds, picked out and put in words, for every page and table that is made from it."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any

from prep.prose import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Record = dict[str, Any]

SIGNIFICANT = 0.05  # a smallest p above it settles nothing
REPORT_FOLDER = "report"  # of a record: pictures and tables, one a file; they name conditions

ACTIVE_SIGNS = frozenset("&<>|[]*`\\@$~^")  # of HTML and of Markdown, wherever they stand
EMPHASIS = re.compile(r"(?<!\w)_|_(?!\w)")  # inside a word Markdown takes an underscore for itself


def readable(value: Any) -> Any:
    """Return a record in which no text can be taken for markup, a citation or a control code.

    Signs that mean something to HTML or Markdown become numeric entities, which both read; what cannot be printed
    (control codes, marks of writing direction, line ends) becomes its escape.
    """
    if isinstance(value, dict):
        return {readable(name): readable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [readable(item) for item in value]
    return readable_text(value) if isinstance(value, str) else value


def readable_prose(record: Mapping[str, Any]) -> Record:
    """Return `readable` of a record without the measures of its clips, of which there are most and prose names none."""
    kept = [
        {
            **{name: value for name, value in clip.items() if name not in ("source", "evidence")},
            "delivered": bool(given),
        }
        for clip in record["clips"]
        for given in [clip["delivered"]]
    ]
    found: Record = readable({**record, "clips": kept})
    return found


def readable_text(text: str) -> str:
    """Return text that is only text in Markdown and in HTML."""
    if text.isprintable() and not ACTIVE_SIGNS.intersection(text) and "_" not in text:
        return text
    return EMPHASIS.sub("&#95;", "".join(_readable_sign(sign) for sign in text))


def _readable_sign(sign: str) -> str:
    if not sign.isprintable():
        return sign.encode("unicode_escape", "surrogatepass").decode().replace("\\", "&#92;")
    return f"&#{ord(sign)};" if sign in ACTIVE_SIGNS else sign


def by_condition(record: Mapping[str, Any]) -> dict[str, list[Record]]:
    """Return the stimuli that were delivered by condition, in alphabetical order."""
    compare = record["config"]["compare"]
    column = compare["column"] if compare else "condition"
    found: dict[str, list[Record]] = {}
    for clip in record["clips"]:
        if clip["delivered"] and clip["role"] == "stimulus":
            found.setdefault(clip["columns"].get(column, ""), []).append(clip)
    return dict(sorted(found.items()))


def measures_of(cues: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return every defined feature of a clip's cues by name."""
    return {name: value for cue in cues.values() if "undefined" not in cue for name, value in cue.items()}


def values_of(clips: Iterable[Mapping[str, Any]], part: str, name: str) -> list[float]:
    """Return a feature of each clip that has it, of its `source` or as `delivered`."""
    return [value for clip in clips if (value := measures_of(clip[part]["cues"]).get(name)) is not None]


def audits(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the audit of each pair of conditions; none where nothing is compared."""
    audit = record["audit"]
    return [] if audit is None else audit.get("pairs", [audit])


def titles(record: Mapping[str, Any]) -> list[str]:
    """Return the title of each pair's audit; empty for the only one."""
    found = audits(record)
    return [f"{audit['a']} and {audit['b']}" if len(found) > 1 else "" for audit in found]


def corrected_cues(record: Mapping[str, Any]) -> list[str]:
    """Return the cues that a stage corrects, in alphabetical order."""
    return sorted({spread["cue"] for spread in record["stability"].values() if spread})


def hardest(audit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the tested cue whose smallest attainable p is the largest; None where nothing is tested."""
    tested = [item for item in (audit["after"] or {}).values() if item["smallest_p"] is not None]
    return max(tested, key=lambda item: float(item["smallest_p"])) if tested else None


def too_few(audit: Mapping[str, Any]) -> str:
    """Say that so few units settle nothing, with the smallest p they can give; empty where they can, or none is tested.

    Args:
        audit: of two conditions, or over all pairs of several.
    """
    first = hardest(audit)
    if first is None or first["smallest_p"] <= SIGNIFICANT:
        return ""
    return f"too few {plural(audit['unit'])} to settle anything: smallest possible p {p_figure(first['smallest_p'])}"


def last_column(audit: Mapping[str, Any]) -> str:
    """Return the column that says what is left: after where cues are tested, else delivered, else sources."""
    return next((column for column in ("after", "delivered") if audit[column]), "sources")


def widest_number(item: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the number of a cue of several that alone tells most, with its AUC; None where none is off chance.

    Args:
        item: of one cue in a column of the audit.
    """
    known = {name: auc for name, auc in (item.get("numbers") or {}).items() if auc not in (None, 0.5)}
    return max(known.items(), key=lambda found: abs(found[1] - 0.5)) if known else None


def width(item: Mapping[str, Any]) -> float:
    """Return how far from chance a cue lies, by its AUC or by that of its widest number; below 0 where neither is."""
    alone = widest_number(item)
    return max(abs(auc - 0.5) if auc is not None else -1.0 for auc in (item.get("auc"), alone and alone[1]))


def widest_first(audit: Mapping[str, Any]) -> list[str]:
    """Return the cues of an audit by what is left of them in its last column, the widest first."""
    left = audit[last_column(audit)] or {}
    return sorted(audit["cues"], key=lambda name: -width(left.get(name) or {}))


def alone_figure(item: Mapping[str, Any]) -> str:
    """Return the widest number of a cue of several with its AUC; a dash where there is none."""
    alone = widest_number(item)
    return f"{alone[0]} {figure(alone[1])}" if alone else "-"


def figure(value: Any) -> str:
    """Return a number of the record as every page and table gives it; a dash for none."""
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def p_figure(value: float | None) -> str:
    """Return a p with three digits; a dash where there is none."""
    return "-" if value is None else f"{value:.3g}"


def interval_figure(tested: Mapping[str, Any]) -> str:
    """Return the interval of an AUC; a dash where there is none."""
    low, high = tested.get("auc_low"), tested.get("auc_high")
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def pair_figure(found: Mapping[str, Any]) -> str:
    """Return the AUC of the pair of conditions that stands out, with their names."""
    return f"{figure(found['auc'])} ({found['pair'][0]}, {found['pair'][1]})" if found.get("pair") else "-"


def spread_figure(values: Sequence[float]) -> str:
    """Return median and range; a dash for no values."""
    if not values:
        return "-"
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def capped_sentence(stage: str, fit: Mapping[str, Any]) -> str:
    """Say that a correction stopped at its cap."""
    return (
        f"{stage} stopped at its cap of {fit['max_db_per_octave']:g} dB/octave; the conditions differ by "
        f"{fit['shift_db_per_octave']:+.2f} dB/octave, so a part of the difference remains."
    )
