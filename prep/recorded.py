"""Recorded: what a record holds, picked out and put in words, for every page and table that is made from it."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from prep.prose import counted, joined, plural
from prep.stages import stage_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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


def lines_of_takes(record: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many lines the takes of a record hold, and how many of them no take has a clip of.

    A line that several takes of one speaker hold is one line: its clips are candidates of one slot.
    """
    cut = [clip for clip in record["clips"] if clip.get("take")]
    lines = {_line_of(clip) for clip in cut}
    return len(lines), len(lines - {_line_of(clip) for clip in cut if "missing" not in clip["take"]})


def _line_of(clip: Mapping[str, Any]) -> tuple[str, str, str]:
    return clip["role"], clip["slot"], clip["columns"].get("passage", "")


def unchecked(record: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return by check of the screen in how many clips it could not be made, of how many it was asked of.

    Only checks that could not be made everywhere are named. One that was skipped, as the clip was lost already, was
    not asked.
    """
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for clip in record["clips"]:
        outcomes: dict[str, set[str]] = {}
        for item in (clip["screen"] or {}).get("findings", ()):
            outcomes.setdefault(item["check"], set()).add(item["outcome"])
        asked.update(name for name, found in outcomes.items() if found != {"skipped"})
        failed.update(name for name, found in outcomes.items() if "not checked" in found)
    return {name: (count, asked[name]) for name, count in failed.items()}


def unchecked_words(record: Mapping[str, Any], words: Callable[[str], str] = str) -> list[str]:
    """Return of each check that could not be made everywhere, in words, in how many clips it could not."""
    return [
        f"{words(name)} could not be checked in {count} of {counted(of, 'clip')}"
        for name, (count, of) in unchecked(record).items()
    ]


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
    """Return the cues that a stage of the chain corrects, in alphabetical order."""
    stages = [stage_classes().get(name) for name in record["chain"]]
    return sorted({cue for stage in stages if (cue := getattr(stage, "CORRECTS", ""))})


def fullest(audit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the tested cue that most units have a value of, and with it what a study of this size can show.

    It is the cue whose smallest attainable p is the smallest; None where nothing is tested. A clip without a value
    drops out of one cue's test, and says nothing of the others.
    """
    found: Iterable[Mapping[str, Any]] = (audit["after"] or {}).values()
    tested = [item for item in found if item["smallest_p"] is not None]
    if not tested:
        return None
    return min(tested, key=lambda item: (item["smallest_p"], -(item.get("units_a") or 0) - (item.get("units_b") or 0)))


def thin_cues(audit: Mapping[str, Any]) -> dict[str, float]:
    """Return the smallest attainable p of each tested cue that fewer units have a value of than the study has."""
    first = fullest(audit)
    return {
        name: item["smallest_p"]
        for name, item in (audit["after"] or {}).items()
        if first and item["smallest_p"] is not None and item["smallest_p"] > first["smallest_p"]
    }


def thin_sentence(audit: Mapping[str, Any], words: Callable[[str], str] = str) -> str:
    """Name the cues whose smallest attainable p is larger than that of the study; empty where there is none.

    Args:
        audit: of two conditions, or over all pairs of several.
        words: what a cue is called.
    """
    unsettled = ", so that no difference in it could be settled"
    study = fullest(audit)
    able = study is not None and study["smallest_p"] <= SIGNIFICANT
    told = [
        f"{words(name)} ({p_figure(least)}{unsettled if able and least > SIGNIFICANT else ''})"
        for name, least in thin_cues(audit).items()
    ]
    return f" It is larger for what fewer {plural(audit['unit'])} have a value of: {joined(told)}." if told else ""


def too_few(audit: Mapping[str, Any], names: Iterable[str] | None = None) -> str:
    """Say that so few units settle nothing, with the smallest p they can give; empty where they can, or none is tested.

    Args:
        audit: of two conditions, or over all pairs of several.
        names: the cues that are spoken of, of which fewer units may have a value; all by default.
    """
    first = fullest(audit)
    if first is None:
        return ""
    few = f"too few {plural(audit['unit'])} to settle anything"
    if first["smallest_p"] > SIGNIFICANT:
        return f"{few}: smallest possible p {p_figure(first['smallest_p'])}"
    told = [
        f"{name} (smallest possible p {p_figure(least)})"
        for name, least in thin_cues(audit).items()
        if least > SIGNIFICANT and (names is None or name in names)
    ]
    return f"{few} of {joined(told)}" if told else ""


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
    """Return how far from chance a cue lies, by its own AUC; below 0 where it has none.

    Its single numbers count for nothing: the widest of many is far from chance where there is no difference at all.
    """
    auc = item.get("auc")
    return -1.0 if auc is None else abs(auc - 0.5)


def widest_first(audit: Mapping[str, Any]) -> list[str]:
    """Return the cues of an audit by what is left of them in its last column, the widest first."""
    left = audit[last_column(audit)] or {}
    return sorted(audit["cues"], key=lambda name: -width(left.get(name) or {}))


def alone_figure(item: Mapping[str, Any]) -> str:
    """Return the widest number of a cue of several with its AUC and of how many it is; a dash where there is none."""
    alone = widest_number(item)
    return f"{alone[0]} {figure(alone[1])} (of {_known_numbers(item)})" if alone else "-"


def alone_words(item: Mapping[str, Any]) -> str:
    """Return the widest number of a cue of several, as it stands in a sentence behind the cue's AUC; else nothing."""
    alone = widest_number(item)
    if not alone:
        return ""
    return f", the widest of {counted(_known_numbers(item), 'number')}, {alone[0]}, alone {figure(alone[1])}"


def _known_numbers(item: Mapping[str, Any]) -> int:
    return sum(auc is not None for auc in (item.get("numbers") or {}).values())


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
