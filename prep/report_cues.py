"""Report of the cues: how far each tells the conditions apart, as text and as tables, from the record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prep.prose import joined
from prep.recorded import (
    SIGNIFICANT,
    alone_figure,
    audits,
    figure,
    fullest,
    interval_figure,
    last_column,
    p_figure,
    pair_figure,
    thin_sentence,
    titles,
    widest_first,
)
from prep.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prep.recorded import Record

STRONG_CORRELATION = 0.7
NOTABLE_CHANGE = 0.1  # of a separation by one stage
MOST_PAIRS = 20  # of correlated cues
MEANING = (
    "*Sources* and *delivered* are over all clips and descriptive; *before* and *after* are over held-out "
    "clips, *after* with what was learned from labels on the fit split alone; *matched* is inside matched cells, over "
    "delivered clips. p and interval belong to *after*. *Not settled* is no pass: these clips cannot tell. "
    "A cue of several numbers is tested by a score over them; *widest number* is the one of them that alone tells the "
    "same clips apart best, by its own AUC and without a test. The widest cue is on top, by its own AUC."
)
NOT_SHOWN = "Columns without a figure are left out."
# Why a whole column can be empty.
EMPTY = {
    "sources": "one condition has no clip left, or too few to train a score on",
    "verdict": "nothing could be tested",
    "before": "nothing is held out, or there are no units to test with",
    "after": "nothing is held out, or there are no units to test with",
    "90 % interval": "there are fewer than 5 units a side",
    "p": "no p at or below 0.05 can be reached",
    "p familywise": "no p at or below 0.05 can be reached",
    "delivered": "nothing was rendered",
    "matched": "no clips are matched",
    "widest number": "no cue has one off chance",
}


def cue_sections(record: Record, safe: Record) -> list[str]:
    """Return what the audit found, in Markdown.

    Args:
        record: as it is, for the tables, which make their own cells safe.
        safe: `readable` of it, for prose.
    """
    audit = safe["audit"]
    if audit is None:
        return ["## Cues\n\nNo two conditions are compared, so nothing is audited."]
    limits = list(_limit_lines(safe))
    pairs = list(zip(audits(record), audits(safe), titles(safe), strict=True))
    if "pairs" not in audit:
        told = ["## Cues", *_pair(*pairs[0][:2], limits)]
    else:
        told = ["## Cues", _omnibus(audit), *_shown(omnibus_table(record["audit"])), *limits]
        for raw, tested, title in pairs:
            told += [f"### {title}", *_pair(raw, tested, ())]
    looks = [_look(*pair) for pair in pairs if pair[0].get("looks")]
    text = (
        "AUC over all compared clips, descriptive, through the released corrections. *Null pass* "
        "sends the clips that a one-sided stage passes by through it as well, for comparison only."
    )
    return ["\n\n".join(told), *(["\n\n".join(("## Where cues come from", text, *looks))] if looks else [])]


def cue_tables(record: Record) -> list[Table]:
    """Return every table of the audit: the cues of each pair of conditions, and after each stage."""
    audit = record["audit"]
    several = [omnibus_table(audit)] if audit is not None and "pairs" in audit else []
    found = [*several]
    for place, (pair, title) in enumerate(zip(audits(record), titles(record), strict=True), 1):
        number = f"-{place}" if several else ""
        found.append(cue_table(pair, f"cues{number}", title))
        if pair.get("looks"):
            found.append(look_table(pair, f"stages{number}", title))
    return found


def _shown(table: Table) -> list[str]:
    """Return a table of cues without its empty columns, and why they are empty."""
    shown, left_out = table.without_empty()
    reasons: dict[str, list[str]] = {}
    for name in left_out:
        reasons.setdefault(EMPTY[name], []).append(name)
    why = "; ".join(f"{joined(names)}: {reason}" for reason, names in reasons.items())
    return [shown.markdown(), *([f"{NOT_SHOWN} {why}."] if left_out else [])]


def cue_table(audit: Mapping[str, Any], name: str = "cues", title: str = "") -> Table:
    """Return how far every cue tells two conditions apart, the widest first."""
    rows = []
    for cue in widest_first(audit):
        found = {column: (audit[column] or {}).get(cue) or {} for column in ("sources", "before", "after", "delivered")}
        tested = found["after"]
        rows.append(
            (
                cue,
                *(figure(found[column].get("auc")) for column in ("sources", "before", "after")),
                interval_figure(tested),
                p_figure(tested.get("p")),
                p_figure(tested.get("p_familywise")),
                figure(found["delivered"].get("auc")),
                figure(found["delivered"].get("auc_matched")),
                alone_figure(found[last_column(audit)]),
                tested.get("verdict", "descriptive only"),
            )
        )
    columns = (
        *("sources", "before", "after", "90 % interval", "p", "p familywise", "delivered", "matched"),
        *("widest number", "verdict"),
    )
    caption = f"AUC of each cue{': ' if title else ''}{title}, {audit['b']} above {audit['a']}; 0.5 is chance."
    return Table(name, caption, ("cue", *columns), rows)


def omnibus_table(audit: Mapping[str, Any]) -> Table:
    """Return of each cue which pair of several conditions it tells apart best, and what that settles; widest first."""
    rows = []
    for name in widest_first(audit):
        before, after, delivered = (
            (audit[column] or {}).get(name) or {} for column in ("before", "after", "delivered")
        )
        p, familywise = p_figure(after.get("p")), p_figure(after.get("p_familywise"))
        alone = alone_figure((audit[last_column(audit)] or {}).get(name) or {})
        figures = pair_figure(before), pair_figure(after), p, familywise, pair_figure(delivered), alone
        rows.append((name, *figures, after.get("verdict", "descriptive only")))
    head = ("cue", "before", "after", "p", "p familywise", "delivered", "widest number", "verdict")
    return Table("pairs", "The pair of conditions that each cue tells apart best, with its AUC.", head, rows)


def look_table(audit: Mapping[str, Any], name: str = "stages", title: str = "") -> Table:
    """Return the AUC of each cue of two conditions after every stage."""
    looks = audit["looks"]
    rows = [
        (
            cue,
            figure(audit["sources"][cue]["auc"]),
            *(figure(view.get(cue, {}).get("auc")) for view in looks.values()),
        )
        for cue in audit["cues"]
    ]
    caption = f"AUC of each cue after every stage{': ' if title else ''}{title}; descriptive."
    return Table(name, caption, ("cue", "sources", *looks), rows)


def _pair(raw: Mapping[str, Any], audit: Mapping[str, Any], limits: Iterable[str]) -> list[str]:
    """Tell how far every cue tells two conditions apart, and what that settles."""
    return [
        _attainable(audit),
        f"AUC is the probability that a clip of {audit['b']} has the higher value than one of {audit['a']}. {MEANING}",
        *_shown(cue_table(raw)),
        *limits,
        *_meetings(audit),
        *_score_notes(audit),
        *_correlated(audit),
        *_common_warnings(audit),
        # What a claim of equality would take is said once, above.
        *(
            f"**{name}:** {tested['verdict_text'].split('; the claim')[0]}."
            for name, tested in (audit["after"] or {}).items()
        ),
    ]


def _omnibus(audit: Mapping[str, Any]) -> str:
    """Say how several conditions were compared."""
    most = fullest(audit)
    able = f" The smallest p these units can give is {most['smallest_p']:.3g}.{thin_sentence(audit)}" if most else ""
    reference = f" {audit['reference']} is the reference, the first of its pairs." if audit["reference"] else ""
    return (
        f"{len(audit['conditions'])} conditions ({', '.join(audit['conditions'])}) make {len(audit['pairs'])} pairs."
        f"{reference} Of each cue the pair that it tells apart best is named, with the AUC that the second exceeds the "
        "first. p is over all pairs of a cue, by exchanging labels among all conditions at once; *familywise* is over "
        f"all cues and pairs.{able} *Before* and *after* are over held-out clips."
    )


def _look(raw: Mapping[str, Any], audit: Mapping[str, Any], title: str) -> str:
    """Tell the AUC of each cue of two conditions after every stage, and which stage removed or created it."""
    head = [f"### {title}"] if title else []
    return "\n\n".join([*head, look_table(raw).markdown(), *_origins(audit)])


def _meetings(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say of each cue that differs otherwise within pairs than over the set which listeners would meet which figure."""
    found = audit["delivered"] or audit["sources"] or {}
    differing = [
        f"{name} ({figure(item['auc_matched'])} within pairs, {figure(item['auc'])} over the set)"
        for name, item in found.items()
        if item["auc_matched"] is not None
        and item["auc"] is not None
        and abs(item["auc_matched"] - item["auc"]) >= NOTABLE_CHANGE
    ]
    if differing:
        yield (
            "Listeners who hear matched clips side by side meet the figure within pairs; those who judge single clips, "
            f"one after another, meet the figure over the set. They differ for {', '.join(differing)}."
        )


def _origins(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say which stage removed and which created a cue."""
    before = {name: item["separation"] for name, item in audit["sources"].items()}
    for view, found in audit["looks"].items():
        if not view.startswith("after "):
            continue
        for name, item in found.items():
            old, new = before.get(name), item["separation"]
            if old is not None and new is not None and abs(new - old) >= NOTABLE_CHANGE:
                did = "created or strengthened" if new > old else "removed or weakened"
                yield f"{view.removeprefix('after ')} {did} {name}: separation {old:.2f} before it, {new:.2f} after it."
            before[name] = new


def _limit_lines(record: Record) -> Iterable[str]:
    """Say of each limit whether it holds."""
    for limit in record["limits"]:
        yield f"Limit `{limit['limit']}`: " + (f"**broken**, {limit['why']}." if limit["broken"] else "holds.")


def _score_notes(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say of each cue of several numbers that its AUC is that of a score, and give each number's own."""
    column = last_column(audit)
    where = {"after": "the held-out clips, after", "delivered": "the delivered clips", "sources": "the sources"}[column]
    taught = "the sources" if audit["before"] is None else "the fit split of the sources"
    for name in widest_first(audit):
        item = (audit[column] or {}).get(name) or {}
        if item.get("numbers"):
            figures = ", ".join(f"{number} {figure(auc)}" for number, auc in item["numbers"].items())
            yield (
                f"{name} is scored by a classifier over its numbers, trained on {taught}; its AUC is that of the "
                f"score. Each number's own AUC over {where}: {figures}."
            )


def _correlated(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say which cues go together, so that nobody counts one cue twice."""
    if "correlation" not in audit:  # a pair of conditions of which no clip is left
        return
    names, table = audit["correlation"]["cues"], audit["correlation"]["spearman"]
    pairs = [
        (abs(table[i][j]), f"{names[i]} and {names[j]} ({table[i][j]:+.2f})")
        for i in range(len(names))
        for j in range(i)
        if "all" not in (names[i], names[j]) and table[i][j] is not None and abs(table[i][j]) >= STRONG_CORRELATION
    ]
    if pairs:
        told = ", ".join(text for _, text in sorted(pairs, reverse=True)[:MOST_PAIRS])
        yield f"Cues that go together within the conditions (Spearman's correlation over the sources): {told}."


def _common_warnings(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say each warning once, with the cues it is for where it is not for all."""
    tested = audit["after"] or {}
    holders: dict[str, list[str]] = {}
    for name, item in tested.items():
        for warning in item["warnings"]:
            holders.setdefault(warning, []).append(name)
    for warning, names in holders.items():
        whose = "" if len(names) == len(tested) else f" ({', '.join(names)})"
        yield f"Note{whose}: {warning}."


def _attainable(audit: Mapping[str, Any]) -> str:
    """Say first what so many units can show at all."""
    first = fullest(audit)
    if first is None:
        return "Nothing is tested: the table names no units, or there is no held-out half. All figures are descriptive."
    enough = (
        "" if first["smallest_p"] <= SIGNIFICANT else ", so no difference can be settled here, whatever the figures say"
    )
    return (
        f"The held-out half has {first['units_a']} units of {audit['a']} and {first['units_b']} of {audit['b']} "
        f"({audit['unit']}). The smallest p they can give is {first['smallest_p']:.3g}{enough}.{thin_sentence(audit)} "
        f"A claim that a cue cannot tell the conditions apart would take about {first['units_needed']} a side."
    )
