"""Report: the record as pages to read. Every function here takes run.json's mapping and nothing else."""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Record = dict[str, Any]

LEVEL_MEASURES = ("integrated_lufs", "true_peak_dbtp")
STRONG_CORRELATION = 0.7
NOTABLE_CHANGE = 0.1  # of a separation by one stage
MOST_ROWS = 20  # of a list in the report


def report_md(record: Record) -> str:
    """Return the report of a run in Markdown. It names conditions: it belongs beside the key."""
    record = readable(record)
    parts = [
        f"# {record['study']}\n\nThis page names conditions. Keep it with the key, away from listeners.",
        _done(record),
        _shortfalls(record),
        _set_aside(record),
        _odd_sources(record),
        _clips(record),
        _levels(record),
        _fits(record),
        _cues(record),
        _looks(record),
        "## Methods\n\n" + methods_md(record).strip(),
        _versions(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def methods_md(record: Record) -> str:
    """Return a paragraph that a paper can print."""
    record = readable(record)
    sentences = [
        _format_sentence(record),
        *_level_sentences(record),
        *_tilt_sentences(record),
        *_audit_sentences(record),
        _exclusion_sentence(record),
        *_caveats(record),
        _software_sentence(record),
    ]
    return " ".join(sentence for sentence in sentences if sentence) + "\n"


def stimuli_csv(record: Record) -> bytes:
    """Return the delivered clips as a table for a paper: what each is, its measures, its corrections."""
    columns = ["condition", "speaker", "passage", "text", "source", "licence"]
    delivered = [clip for clip in record["clips"] if clip["delivered"]]
    known = [name for name in columns if any(clip["columns"].get(name) for clip in delivered)]
    measures = list(dict.fromkeys(name for clip in delivered for name in measures_of(clip["delivered"]["cues"])))
    text = io.StringIO()
    head = ["id", "role", *known, *measures, "corrections"]
    writer = csv.DictWriter(text, head, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for clip in sorted(delivered, key=lambda clip: str(clip["id"])):
        corrections = "; ".join(
            f"{stage} {name} {_figure(value)}"
            for stage, notes in clip["stages"].items()
            for name, value in notes.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        )
        values = {name: f"{value:.3f}" for name, value in measures_of(clip["delivered"]["cues"]).items()}
        writer.writerow(
            {**clip["columns"], **values, "id": clip["id"], "role": clip["role"], "corrections": corrections}
        )
    return text.getvalue().encode()


def readable(value: Any) -> Any:
    """Return a record in which no text can be taken for markup or a control code."""
    if isinstance(value, dict):
        return {readable(name): readable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [readable(item) for item in value]
    if not isinstance(value, str) or (value.isprintable() and not set("<>&") & set(value)):
        return value
    escaped = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in value)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _done(record: Record) -> str:
    return "## What was done\n\n" + "\n".join(f"- {line}" for line in done_lines(record))


def done_lines(record: Record) -> list[str]:
    """Say what was done, and on which side only."""
    counts = record["counts"]
    lines = [
        f"{counts.get('delivered', 0)} of {len(record['clips'])} clips delivered; chain: {', '.join(record['chain'])}."
    ]
    for item in record["one_sided"]:
        treated = ", ".join(f"{count} {name}" for name, count in item["treated_by_condition"].items()) or "none"
        lines.append(f"One-sided: {item['stage']} treated {treated} clips only.")
    return lines + [f"Note: {notice}." for notice in record["notices"]]


def _shortfalls(record: Record) -> str:
    """Say what was not achieved on delivered clips: levels that were lowered, and what steps warned of."""
    rows = []
    for clip in record["clips"]:
        for stage, notes in clip["stages"].items():
            if notes.get("lowered_by_db", 0) > 0:
                rows.append(
                    (clip["file_name"], stage, f"{notes['lowered_by_db']:.2f} dB under its target, for the ceiling")
                )
            if notes.get("warning"):
                rows.append((clip["file_name"], stage, notes["warning"]))
    if not rows:
        return ""
    return "## Not achieved\n\n" + _table(("clip", "step", "what"), rows[:MOST_ROWS]) + _more(rows)


def _set_aside(record: Record) -> str:
    """List each clip that is not delivered, who stands in for it, and what a screen let through with a flag."""
    stand_ins = {
        lost["file_name"]: slot["filled_by"] or "none: the slot is empty"
        for slot in record["slots"]
        for lost in slot["instead_of"]
        if slot["candidates"] > 1
    }
    rows = [
        (
            clip["file_name"],
            clip["status"],
            clip["failure"]["step"],
            clip["failure"]["reason"],
            stand_ins.get(clip["file_name"], "none"),
        )
        for clip in record["clips"]
        if clip["failure"]
    ]
    parts = ["## Exclusions", "No clip was excluded."]
    if rows:
        parts[1] = _table(("clip", "status", "step", "reason", "in its place"), rows)
    empty = [slot["slot"] for slot in record["slots"] if not slot["filled_by"] and slot["candidates"] > 1]
    if empty:
        parts.append(f"**Empty slots:** {', '.join(empty)}: no candidate could be used.")
    spare = record["counts"].get("spare", 0)
    if spare:
        parts.append(f"{spare} further candidates were not needed and not read.")
    noted = list(_screen_notes(record))
    if noted:
        parts += ["Seen by the screen in clips that are used:", _table(("clip", "check", "what"), noted[:MOST_ROWS])]
        parts.append(_more(noted))
    return "\n\n".join(part.strip() for part in parts if part)


def _screen_notes(record: Record) -> Iterable[tuple[str, str, str]]:
    """Yield what a screen flagged, cut off or could not check in clips that are used."""
    for clip in record["clips"]:
        screen = clip["screen"]
        if clip["status"] != "delivered" or not screen:
            continue
        for cut in screen["cut_for"]:
            yield clip["file_name"], cut["check"], f"{cut['value']:.2f} s of its start were cut off: {cut['reason']}"
        for item in screen["findings"]:
            if item["outcome"] == "failed":
                yield clip["file_name"], item["check"], f"flagged: {item['reason']}"
            elif item["outcome"] == "not checked":
                yield clip["file_name"], item["check"], f"not checked: {item['reason']}"


def _odd_sources(record: Record) -> str:
    """List what is odd about the files as they came, and how it was taken."""
    rows = [
        (clip["file_name"], warning)
        for clip in record["clips"]
        for warning in (clip["source"]["facts"] or {}).get("warnings", ())
    ]
    if not rows:
        return ""
    return "## Odd sources\n\n" + _table(("clip", "what"), rows[:MOST_ROWS]) + _more(rows)


def _more(rows: Sequence[Any]) -> str:
    return f"\n\nand {len(rows) - MOST_ROWS} more; run.json has all." if len(rows) > MOST_ROWS else ""


def _clips(record: Record) -> str:
    """Count clips and units by condition and half."""
    rows = []
    for condition, clips in by_condition(record).items():
        halves = Counter(clip["half"] for clip in clips)
        unit = record["config"]["compare"]["unit"] if record["config"]["compare"] else "speaker"
        units = {clip["columns"].get(unit) for clip in clips} - {None, ""}
        rows.append((condition, len(clips), len(units), halves.get("fit", 0), halves.get("held-out", 0)))
    warnings = (record["split"] or {}).get("warnings", [])
    table = _table(("condition", "clips", "units", "fit split", "held-out"), rows)
    return "## Conditions\n\n" + table + "".join(f"\n\n{warning}" for warning in warnings)


def _levels(record: Record) -> str:
    """Tell the levels of each condition before and after: median and range."""
    rows = []
    for condition, clips in by_condition(record).items():
        for name in LEVEL_MEASURES:
            before = _values(clips, "source", name)
            after = _values(clips, "delivered", name)
            rows.append((condition, name, _spread(before), _spread(after)))
    return "## Levels\n\n" + _table(
        ("condition", "measure", "source: median (range)", "delivered: median (range)"), rows
    )


def _fits(record: Record) -> str:
    """Tell what each fitted stage learned, in the run that is the evidence and as released."""
    rows = [
        (stage, name, _figure(record["fits"]["evidence"].get(stage, {}).get(name)), _figure(value))
        for stage, released in record["fits"]["release"].items()
        for name, value in released.items()
        if not isinstance(value, list | dict) and name != "warning"
    ]
    if not rows:
        return ""
    capped = [
        f"**The cap bit:** {_capped_sentence(stage, fit)}"
        for stage, fit in record["fits"]["release"].items()
        if fit.get("capped")
    ]
    warnings = [
        f"**{stage}:** {fit['warning']}." for stage, fit in record["fits"]["release"].items() if fit.get("warning")
    ]
    warnings += [f"**{warning}**" for warning in _no_better(record)]
    table = _table(("stage", "value", "evidence run", "released"), rows)
    parts = ["## Fits", table, *capped, *_shifts(record), *_stability(record), *warnings]
    return "\n\n".join(parts)


def _shifts(record: Record) -> Iterable[str]:
    """Tell the difference that a correction is for, with its interval: what may remain."""
    for stage, shifts in record["fit_intervals"].items():
        for kind, shift in shifts.items():
            told = f"{stage}: {kind} difference of the sources {shift['shift']:+.3f}"
            if shift["low"] is None:
                yield f"{told} (too few units for an interval)."
                continue
            holds = " The interval holds 0: the sources may not differ." if shift["low"] <= 0 <= shift["high"] else ""
            yield f"{told}, 90 % interval {shift['low']:+.2f} to {shift['high']:+.2f}.{holds}"


def _stability(record: Record) -> Iterable[str]:
    """Tell how far the held-out figure would have moved with another split."""
    for stage, spread in record["stability"].items():
        if spread:
            yield (
                f"{stage}: had the split been drawn otherwise, the held-out AUC of {spread['cue']} after "
                f"the correction would have been {spread['auc_p5']:.2f} to {spread['auc_p95']:.2f} (5th to 95th "
                f"percentile of {spread['splits']} splits, foreseen before encoding; it is no test)."
            )


def _no_better(record: Record) -> Iterable[str]:
    """Say of each corrected cue that held-out clips are no closer to chance after the correction."""
    audit = record["audit"]
    for stage, spread in record["stability"].items():
        if not (spread and audit and audit["after"]):
            continue
        before, after = (audit[column].get(spread["cue"], {}) for column in ("before", "after"))
        apart = [column.get("separation") for column in (before, after)]
        if None not in apart and apart[1] >= apart[0] > 0:
            yield (
                f"On held-out clips {stage} brought {spread['cue']} no closer to chance: "
                f"AUC {before['auc']:.3f} before, {after['auc']:.3f} after."
            )


def _cues(record: Record) -> str:
    """Tell how far every cue tells the conditions apart, and what that settles."""
    audit = record["audit"]
    if audit is None:
        return "## Cues\n\nNo two conditions are compared, so nothing is audited."
    limits = _limit_lines(record)
    if "pairs" not in audit:
        return "\n\n".join(part for part in ("## Cues", _cue_table(audit, limits)) if part)
    parts = ["## Cues", _omnibus(audit), *limits]
    for pair in audit["pairs"]:
        parts += [f"### {pair['a']} and {pair['b']}", _cue_table(pair, ())]
    return "\n\n".join(parts)


def _omnibus(audit: Mapping[str, Any]) -> str:
    """Tell of each cue which pair of several conditions it tells apart best, and what that settles."""
    rows = []
    for name in audit["cues"]:
        before, after, delivered = (
            (audit[column] or {}).get(name) or {} for column in ("before", "after", "delivered")
        )
        rows.append(
            (
                name,
                _pair_figure(before),
                _pair_figure(after),
                _p(after.get("p")),
                _p(after.get("p_familywise")),
                _pair_figure(delivered),
                after.get("verdict", "descriptive only"),
            )
        )
    smallest = [item["smallest_p"] for item in (audit["after"] or {}).values() if item["smallest_p"] is not None]
    able = f" The smallest p these units can give is {max(smallest):.3g}." if smallest else ""
    reference = f" {audit['reference']} is the reference, the first of its pairs." if audit["reference"] else ""
    text = (
        f"{len(audit['conditions'])} conditions ({', '.join(audit['conditions'])}) make {len(audit['pairs'])} pairs."
        f"{reference} Of each cue the pair that it tells apart best is named, with the AUC that the second exceeds the "
        "first. p is over all pairs of a cue, by exchanging labels among all conditions at once; *familywise* is over "
        f"all cues and pairs.{able} *Before* and *after* are over held-out clips.\n\n"
    )
    return text + _table(("cue", "before", "after", "p", "p familywise", "delivered", "verdict"), rows)


def _pair_figure(found: Mapping[str, Any]) -> str:
    return f"{_figure(found['auc'])} ({found['pair'][0]}, {found['pair'][1]})" if found.get("pair") else "-"


def _audits(record: Record) -> list[Mapping[str, Any]]:
    """Return the audit of each pair of conditions."""
    audit = record["audit"]
    return [] if audit is None else audit.get("pairs", [audit])


def _cue_table(audit: Mapping[str, Any], limits: Iterable[str]) -> str:
    """Tell how far every cue tells two conditions apart."""
    rows = []
    for name in audit["cues"]:
        found = {
            column: (audit[column] or {}).get(name) or {} for column in ("sources", "before", "after", "delivered")
        }
        tested = found["after"]
        rows.append(
            (
                name,
                *(_figure(found[column].get("auc")) for column in ("sources", "before", "after")),
                _interval(tested),
                _p(tested.get("p")),
                _p(tested.get("p_familywise")),
                _figure(found["delivered"].get("auc")),
                _figure(found["delivered"].get("auc_matched")),
                tested.get("verdict", "descriptive only"),
            )
        )
    head = (
        "cue",
        "sources",
        "before",
        "after",
        "90 % interval",
        "p",
        "p familywise",
        "delivered",
        "matched",
        "verdict",
    )
    parts = [
        _attainable(audit),
        (
            f"AUC is the probability that a clip of {audit['b']} has the higher value than one of {audit['a']}. "
            "*Sources* and *delivered* are over all clips and descriptive; *before* and *after* are over held-out "
            "clips, *after* with corrections that never saw them; *matched* is inside matched cells, over delivered "
            "clips. p and interval belong to *after*. *Not settled* is no pass: it says that these clips cannot tell."
        ),
        _table(head, rows),
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
    return "\n\n".join(part for part in parts if part)


def _meetings(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say of each cue that differs otherwise within pairs than over the set which listeners would meet which figure."""
    found = audit["delivered"] or audit["sources"] or {}
    differing = [
        f"{name} ({_figure(item['auc_matched'])} within pairs, {_figure(item['auc'])} over the set)"
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


def _looks(record: Record) -> str:
    """Tell where each cue comes from: its AUC after every stage, and which stage removed or created it."""
    shown = [_look(audit, titled=len(_audits(record)) > 1) for audit in _audits(record) if audit.get("looks")]
    if not shown:
        return ""
    text = (
        "## Where cues come from\n\n"
        "AUC over all compared clips, descriptive, through the released corrections. *Null pass* "
        "sends the clips that a one-sided stage passes by through it as well, for comparison only."
    )
    return "\n\n".join((text, *shown))


def _look(audit: Mapping[str, Any], *, titled: bool) -> str:
    """Tell the AUC of each cue of two conditions after every stage."""
    looks = audit["looks"]
    rows = [
        (
            name,
            _figure(audit["sources"][name]["auc"]),
            *(_figure(view.get(name, {}).get("auc")) for view in looks.values()),
        )
        for name in audit["cues"]
    ]
    title = f"### {audit['a']} and {audit['b']}\n\n" if titled else ""
    return title + _table(("cue", "sources", *looks), rows) + "".join(f"\n\n{line}" for line in _origins(audit))


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
    for name in audit["cues"]:
        own = audit["features"].get(name)
        if own and audit["after"]:
            figures = ", ".join(f"{feature} {_figure(auc)}" for feature, auc in own.items())
            yield (
                f"{name} is scored by a classifier over its numbers, trained on the fit split of the sources; its AUC "
                f"is that of the score. Each number's own AUC over the delivered clips: {figures}."
            )


def _correlated(audit: Mapping[str, Any]) -> Iterable[str]:
    """Say which cues go together, so that nobody counts one cue twice."""
    names, table = audit["correlation"]["cues"], audit["correlation"]["spearman"]
    pairs = [
        (abs(table[i][j]), f"{names[i]} and {names[j]} ({table[i][j]:+.2f})")
        for i in range(len(names))
        for j in range(i)
        if "all" not in (names[i], names[j]) and table[i][j] is not None and abs(table[i][j]) >= STRONG_CORRELATION
    ]
    if pairs:
        told = ", ".join(text for _, text in sorted(pairs, reverse=True)[:MOST_ROWS])
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
    tested = [item for item in (audit["after"] or {}).values() if item["smallest_p"] is not None]
    if not tested:
        return "Nothing is tested: the table names no units, or there is no held-out half. All figures are descriptive."
    first = max(tested, key=lambda item: item["smallest_p"])
    enough = "" if first["smallest_p"] <= 0.05 else ", so no difference can be settled here, whatever the figures say"
    return (
        f"The held-out half has {first['units_a']} units of {audit['a']} and {first['units_b']} of {audit['b']} "
        f"({audit['unit']}). The smallest p they can give is {first['smallest_p']:.3g}{enough}. A claim that a cue "
        f"cannot tell the conditions apart would take about {first['units_needed']} a side."
    )


def _versions(record: Record) -> str:
    return "## Versions\n\n" + ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + "."


def _format_sentence(record: Record) -> str:
    encode = record["config"]["chain"][-1]["encode"]
    if encode["codec"] == "copy":
        return "Clips were served as produced, with tags removed and the sound unaltered."
    depth = f", {encode['bit_depth']} bits" if "bit_depth" in encode else ""
    rate = f", {encode['bitrate_kbps']} kb/s" if "bitrate_kbps" in encode else ""
    channels = {1: "mono", 2: "stereo"}[encode["channels"]]
    return f"All clips share one format: {encode['codec'].upper()}, {encode['rate']} Hz, {channels}{depth}{rate}."


def _level_sentences(record: Record) -> Iterable[str]:
    gain = record["fits"]["release"].get("shared_gain")
    if gain:
        lowered = f" (lowered by {gain['lowered_by_db']:.2f} dB to keep the ceiling)" if gain["lowered_by_db"] else ""
        yield (
            f"One gain of {gain['gain_db']:+.2f} dB brought the set to {gain['achieved_lufs']:.1f} LUFS{lowered}; "
            "level differences between clips were left as they were."
        )
    if "clip_loudness" in record["chain"]:
        yield f"Each clip was brought to {_clip_target(record)} by a gain of its own{_limiting(record)}."


def _clip_target(record: Record) -> str:
    """Return the level that each clip was brought to, in words."""
    step = next(step["clip_loudness"] for step in record["config"]["chain"] if "clip_loudness" in step)
    target = record["fits"]["release"].get("clip_loudness", step)
    lufs = target.get("target_lufs")
    level = f"{lufs:.4g} LUFS" if lufs is not None else f"an active speech level of {target['target_dbov']:.4g} dBov"
    return f"{level}, the median of the clips with {_selection(step['median_of'])}," if "median_of" in step else level


def _limiting(record: Record) -> str:
    """Return what the limiter did to the delivered clips, in words; empty where it did nothing."""
    notes = [clip["stages"].get("clip_loudness", {}) for clip in record["clips"] if clip["status"] == "delivered"]
    reductions = [note["limited_db"] for note in notes if note.get("limited_db")]
    if not reductions:
        return ""
    return f"; a limiter held the peaks of {len(reductions)} of them, by {max(reductions):.1f} dB at most"


def _tilt_sentences(record: Record) -> Iterable[str]:
    fit = record["fits"]["release"].get("tilt_eq")
    if not fit:
        return
    step = next(step["tilt_eq"] for step in record["config"]["chain"] if "tilt_eq" in step)
    adjusted = _selection(step["adjust"])
    evidence = record["fits"]["evidence"]["tilt_eq"]
    held = " (fitted on the fit split alone: " + f"{evidence['shift_db_per_octave']:+.2f})" if record["split"] else ""
    yield (
        f"Long-term spectral tilt was adjusted by one straight line applied to the clips with {adjusted}, the same "
        f"for every speaker: {fit['applied_db_per_octave']:+.2f} dB/octave, the {fit['method']} Hodges-Lehmann "
        f"difference to the clips with {_selection(step['towards'])}{held}."
    )
    if fit["capped"]:
        yield _capped_sentence("tilt_eq", fit)


def _capped_sentence(stage: str, fit: Mapping[str, Any]) -> str:
    return (
        f"{stage} stopped at its cap of {fit['max_db_per_octave']:g} dB/octave; the conditions differ by "
        f"{fit['shift_db_per_octave']:+.2f} dB/octave, so a part of the difference remains."
    )


def _audit_sentences(record: Record) -> Iterable[str]:
    audit = record["audit"]
    if audit is None or not audit["after"]:
        return
    if "pairs" in audit:
        yield from _omnibus_sentences(audit)
        return
    tested = [item for item in audit["after"].values() if item["smallest_p"] is not None]
    if tested:
        most = max(tested, key=lambda item: item["smallest_p"])
        yield (
            f"Cues were judged on held-out clips of {most['units_a']} ({audit['a']}) and {most['units_b']} "
            f"({audit['b']}) {audit['unit']} units, by permutation of whole units; "
            f"no p below {most['smallest_p']:.3g} was possible."
        )
    corrected = {spread["cue"] for spread in record["stability"].values() if spread}
    for name in sorted(corrected & audit["after"].keys()):
        before, after, delivered = (audit[column][name] for column in ("before", "after", "delivered"))
        yield (
            f"For {name}, the area under the ROC curve ({audit['b']} above {audit['a']}) was "
            f"{_figure(before['auc'])} before and {_figure(after['auc'])} after ({_verdict(after)}), and "
            f"{_figure(delivered['auc'])} over all delivered clips."
        )
    others = [f"{name} {_figure(after['auc'])} ({_verdict(after)})" for name, after in audit["after"].items()]
    others = [text for text, name in zip(others, audit["after"], strict=True) if name not in corrected]
    if others:
        yield f"The same figure after preparation for what was not corrected: {', '.join(others)}."


def _omnibus_sentences(audit: Mapping[str, Any]) -> Iterable[str]:
    """Tell what held-out clips say of several conditions."""
    conditions, pairs = len(audit["conditions"]), len(audit["pairs"])
    smallest = [item["smallest_p"] for item in audit["after"].values() if item["smallest_p"] is not None]
    able = f"; no p below {max(smallest):.3g} was possible" if smallest else ""
    yield (
        f"{conditions} conditions were compared in all {pairs} pairs on held-out clips, by permutation of whole "
        f"{audit['unit']} units among all conditions{able}."
    )
    found = [f"{name} {_pair_figure(item)} ({_verdict(item)})" for name, item in audit["after"].items()]
    yield f"The widest pair of each cue after preparation, with the area under the ROC curve: {', '.join(found)}."


def _verdict(tested: Mapping[str, Any]) -> str:
    return str(tested["verdict"]) + ("" if tested["p"] is None else f", p = {_p(tested['p'])}")


def _exclusion_sentence(record: Record) -> str:
    excluded = [clip for clip in record["clips"] if clip["failure"]]
    checks = _checks(record)
    screened = f"Source recordings were screened for {checks}. " if checks else ""
    if not excluded:
        return f"{screened}No clip was excluded."
    steps = ", ".join(
        f"{count} at {step}" for step, count in Counter(clip["failure"]["step"] for clip in excluded).items()
    )
    tried = len(record["clips"]) - record["counts"].get("spare", 0)
    replaced = sum(bool(slot["filled_by"] and slot["instead_of"]) for slot in record["slots"])
    told = f", and {replaced} place{'s were' if replaced != 1 else ' was'} filled by the next candidate" * bool(
        replaced
    )
    return f"{screened}{len(excluded)} of {tried} clips were excluded ({steps}){told}."


def _checks(record: Record) -> str:
    """Return what a screen looked for, in words; empty without one."""
    screen: Mapping[str, Any] = next((step["screen"] for step in record["config"]["chain"] if "screen" in step), {})
    names = [name.replace("_", " ") for name in screen if name != "only"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _caveats(record: Record) -> Iterable[str]:
    if "tilt_eq" in record["chain"]:
        yield (
            "This addresses one difference between recording chains; it does not establish that no others remain, "
            "and listeners heard adjusted recordings."
        )


def _software_sentence(record: Record) -> str:
    version = record["versions"]["listening-prep"]
    return f"Audio was prepared with prep {version} (seed {record['seed']})."


def _selection(selection: Mapping[str, str | list[str]]) -> str:
    return " and ".join(
        f"{column} {value if isinstance(value, str) else ' or '.join(value)}" for column, value in selection.items()
    )


def by_condition(record: Record) -> dict[str, list[Record]]:
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


def _values(clips: Sequence[Record], part: str, name: str) -> list[float]:
    return [value for clip in clips if (value := measures_of(clip[part]["cues"]).get(name)) is not None]


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def _interval(tested: Mapping[str, Any]) -> str:
    low, high = tested.get("auc_low"), tested.get("auc_high")
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; a bar inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
