"""Summary: what a run did, a sentence a step, and what it did not achieve. Made from run.json's mapping alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from prep.prose import counted, joined, selected, sentence
from prep.recorded import (
    alone_words,
    figure,
    last_column,
    lines_of_takes,
    p_figure,
    too_few,
    unchecked,
    unchecked_words,
    widest_first,
    width,
)
from prep.stage import Stage
from prep.stages import stage_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prep.recorded import Record

TOLD_APART = "told apart"
NOT_SETTLED = "not settled"
MOST_NAMES = 8  # in one sentence; run.json and the tables have all
# What a step did, where nothing more need be said of it. A step that is not here is told by its name.
DEEDS = {
    "bandwidth": "low-passed {clips} to one bandwidth",
    "denoise": "took noise off {clips}",
    "dereverb": "took late reverberation off {clips}",
    "detap": "took taps and clicks out of {clips}",
    "edges": "gave {clips} one head and one tail length",
    "high_pass": "took out what lies below speech in {clips}",
    "masking_noise": "put one noise floor under {clips}",
    "convert": "brought {clips} to the delivered rate and channels",
}


def step_sentences(record: Record) -> list[tuple[str, str]]:
    """Return each step, in order, with what it did in one sentence: takes cut first, then those of the chain."""
    settings = {name: values for step in record["config"]["chain"] for name, values in step.items()}
    cut = [("takes", _cut(record))] if record.get("takes") else []
    return [*cut, *((name, _step(record, name, settings.get(name, {}))) for name in record["chain"])]


def _cut(record: Record) -> str:
    """Say how many clips were cut from how many takes, by what, and how to listen to the cuts."""
    takes = record["takes"]
    clips = sum(take["clips"] for take in takes)
    lines, missing = lines_of_takes(record)
    ways = Counter(take["cut_by"] for take in takes)
    table = (record["config"].get("clips") or {}).get("table") or "TABLE"
    lost = f", {counted(missing, 'line')} without a clip" if missing else ""
    return (
        f"cut {counted(clips, 'clip')} for {counted(lines, 'line')} of script from {counted(len(takes), 'take')} "
        f"({joined([f'{count} by {way}' for way, count in sorted(ways.items())])}){lost}; to listen to every cut: "
        f"prep cut {table} -o FOLDER."
    )


def _step(record: Record, name: str, settings: Mapping[str, Any]) -> str:
    notes = [clip["stages"][name] for clip in record["clips"] if name in clip["stages"]]
    told = {
        "screen": _screen,
        "tilt_eq": _tilt_eq,
        "reference_eq": _reference_eq,
        "shared_gain": _shared_gain,
        "clip_loudness": _clip_loudness,
        "encode": _encode,
    }
    if name in told:
        text = told[name](record, settings, notes)
    else:
        text = DEEDS.get(name, f"{name} treated {{clips}}").format(clips=counted(len(notes), "clip"))
    sided = next((item for item in record["one_sided"] if item["stage"] == name), None)
    side = f" (one-sided: {selected(sided['rows'])} only)" if sided else ""
    return f"{text}{side}."


def _screen(record: Record, settings: Mapping[str, Any], _: Sequence[Mapping[str, Any]]) -> str:
    never = {name for name, (count, of) in unchecked(record).items() if count == of}
    checks = [_spaced(name) for name in settings if name != "only" and name not in never]
    turned_down = sum((clip["failure"] or {}).get("step") == "screen" for clip in record["clips"])
    screens = [clip["screen"] for clip in record["clips"] if clip["screen"]]
    cut = sum(bool(screen["cut_for"]) for screen in screens)
    replaced = sum(bool(slot["filled_by"] and slot["instead_of"]) for slot in record["slots"])
    parts = [f"{counted(turned_down, 'clip')} turned down"]
    parts += [f"{counted(replaced, 'place')} filled by the next candidate"] if replaced else []
    parts += [f"{counted(cut, 'clip')} cut at the start"] if cut else []
    looked = f"looked in {counted(len(screens), 'clip')} for {joined(checks) or 'nothing, as no check could be made'}"
    return "; ".join([f"{looked}: {joined(parts)}", *unchecked_words(record, _spaced)])


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _tilt_eq(record: Record, settings: Mapping[str, Any], notes: Sequence[Mapping[str, Any]]) -> str:
    fit, evidence = (record["fits"][name].get("tilt_eq", {}) for name in ("release", "evidence"))
    slope, foreseen = fit.get("applied_db_per_octave"), evidence.get("applied_db_per_octave")
    if slope is None:
        return f"tilted {counted(len(notes), 'clip')}"
    held = f", {foreseen:+.2f} where fitted on the fit split alone" if record["split"] and foreseen is not None else ""
    return (
        f"tilted {counted(len(notes), 'clip')} by one straight line of {slope:+.2f} dB/octave{held}, "
        f"towards {selected(settings['towards'])}"
    )


def _reference_eq(_: Record, settings: Mapping[str, Any], notes: Sequence[Mapping[str, Any]]) -> str:
    if settings.get("profile"):
        reference = f"the stored profile {settings['profile']}"
    elif settings.get("files"):
        reference = f"the mean of {counted(len(settings['files']), 'file')}"
    else:
        reference = f"the mean of {selected(settings['towards'])}" if settings.get("towards") else "the mean of the set"
    means = [note["mean_correction_db"] for note in notes if "mean_correction_db" in note]
    largest = [max(note["largest_boost_db"], note["largest_cut_db"]) for note in notes if "largest_boost_db" in note]
    figures = f", by {sum(means) / len(means):.1f} dB on average and {max(largest):.1f} dB at most" if means else ""
    return f"gave {counted(len(notes), 'clip')} the spectrum of {reference}{figures}"


def _shared_gain(record: Record, _: Mapping[str, Any], __: Sequence[Mapping[str, Any]]) -> str:
    fit = record["fits"]["release"]["shared_gain"]
    return f"brought the set to {fit['achieved_lufs']:.1f} LUFS by one gain of {fit['gain_db']:+.2f} dB"


def _clip_loudness(record: Record, settings: Mapping[str, Any], notes: Sequence[Mapping[str, Any]]) -> str:
    target = {**settings, **(record["fits"]["release"].get("clip_loudness") or {})}
    lufs, dbov = target.get("target_lufs"), target.get("target_dbov")
    level = f"{lufs:.1f} LUFS" if lufs is not None else f"an active level of {dbov:.1f} dBov"
    limited = [note["limited_db"] for note in notes if note.get("limited_db")]
    held = f"; a limiter held the peaks of {len(limited)}, by {max(limited):.1f} dB at most" if limited else ""
    return f"brought {counted(len(notes), 'clip')} to {level} each{held}"


def _encode(record: Record, settings: Mapping[str, Any], _: Sequence[Mapping[str, Any]]) -> str:
    count = counted(record["counts"].get("delivered", 0), "clip")
    if settings.get("codec") == "copy":
        return f"served {count} as they came, tags taken off"
    channels = {1: "mono", 2: "stereo"}.get(settings["channels"], f"{settings['channels']} channels")
    depth = f", {settings['bit_depth']} bits" if settings.get("bit_depth") else ""
    bitrate = f", {settings['bitrate_kbps']} kb/s" if settings.get("bitrate_kbps") else ""
    return f"wrote {count} as {settings['codec'].upper()}, {settings['rate']} Hz, {channels}{depth}{bitrate}"


# What was not achieved ----------------------------------------------------------------------------


def shortfall_sentences(record: Record) -> list[str]:
    """Return what was not achieved, the gravest first; empty where this record knows of nothing."""
    return [
        *_broken_limits(record),
        *_cue_shortfalls(record),
        *_empty_places(record),
        *_lost_clips(record),
        *_capped(record),
        *_warned(record),
    ]


def _broken_limits(record: Record) -> Iterator[str]:
    for limit in record["limits"]:
        if limit["broken"]:
            yield f"The limit {limit['limit']} is broken: {limit['why']}."


def _cue_shortfalls(record: Record) -> Iterator[str]:
    audit = record["audit"]
    if audit is None:
        yield "Nothing was proven: no two conditions are compared."
        return
    tested = audit["after"]
    if not tested:
        yield "Nothing was proven on held-out clips: none is held out, or not every clip of them has a unit to test by."
        yield from _described(record)
        return
    ordered = [(name, tested[name]) for name in widest_first(audit) if name in tested]
    if apart := [_told(record, name, item) for name, item in ordered if item["verdict"] == TOLD_APART]:
        yield f"Still told apart on held-out clips, the widest first: {_named(apart)}."
    if unsettled := [_told(record, name, item) for name, item in ordered if item["verdict"] == NOT_SETTLED]:
        few = too_few(audit, [name for name, item in ordered if item["verdict"] == NOT_SETTLED])
        yield (
            f"Not settled, which is no pass, for {len(unsettled)} of {counted(len(tested), 'cue')}"
            f"{f' ({few})' if few else ''}, the widest first: {_named(unsettled)}."
        )
    for stage, spread in record["stability"].items():
        cue = spread and spread["cue"]
        before, after = ((audit[column] or {}).get(cue, {}) for column in ("before", "after"))
        apart_by = [column.get("separation") for column in (before, after)]
        if None not in apart_by and apart_by[1] >= apart_by[0] > 0:
            yield (
                f"{stage} brought {cue} no closer to chance on held-out clips: AUC {before['auc']:.3f} before, "
                f"{after['auc']:.3f} after."
            )


def _described(record: Record) -> Iterator[str]:
    """Name the cues that lie beyond the study's margin where nothing is tested."""
    audit = record["audit"]
    column, margin = last_column(audit), record["config"]["audit"]["equivalence_auc"]
    left = audit[column] or {}
    wide = [name for name in widest_first(audit) if width(left.get(name) or {}) > margin]
    if wide:
        clips = {"delivered": "the delivered clips", "sources": "the sources"}[column]
        names = _named([_told(record, name, left[name]) for name in wide])
        yield (
            f"Described and not tested, {len(wide)} of {counted(len(left), 'cue')} lie more than {margin:g} from "
            f"chance (0.5) over {clips}, the widest first: {names}."
        )


def _told(record: Record, name: str, item: Mapping[str, Any]) -> str:
    """Return a cue with its AUC, its widest number and its p, and the stages that might take it out."""
    parts = [auc_words(item)]
    if item.get("p") is not None:
        parts.append(f"p = {p_figure(item['p'])}")
    able = [
        stage
        for stage, known in stage_classes().items()
        if issubclass(known, Stage) and name in known.CURES and stage not in record["chain"]
    ]
    told = f"{name} ({', '.join(parts)}"
    return f"{told}; {' or '.join(able)} addresses it)" if able else f"{told})"


def auc_words(item: Mapping[str, Any]) -> str:
    """Return the AUC of a cue, with the pair of conditions it is for and its widest single number, where there are."""
    pair = f", {item['pair'][1]} over {item['pair'][0]}" if item.get("pair") else ""
    return ("no AUC" if item["auc"] is None else f"AUC {figure(item['auc'])}") + pair + alone_words(item)


def _empty_places(record: Record) -> Iterator[str]:
    # Without a column of slots every row is a slot of its own, and told of as a clip.
    named = any(slot["candidates"] > 1 for slot in record["slots"])
    empty = [slot["slot"] for slot in record["slots"] if named and not slot["filled_by"]]
    if empty:
        yield f"{counted(len(empty), 'slot')} unfilled, for no candidate could be used: {_named(empty)}."


def _lost_clips(record: Record) -> Iterator[str]:
    """Count what was turned down and what failed, by step."""
    for status, what in (("rejected", "turned down"), ("failed", "failed")):
        steps = Counter(clip["failure"]["step"] for clip in record["clips"] if clip["status"] == status)
        if steps:
            by_step = joined([f"{counted(count, 'clip')} at {step}" for step, count in steps.items()])
            yield f"{sentence(what)}: {by_step}."


def _capped(record: Record) -> Iterator[str]:
    for stage, fit in record["fits"]["release"].items():
        if fit.get("capped"):
            yield (
                f"{stage} stopped at its cap of {fit['max_db_per_octave']:g} dB/octave where the conditions differ by "
                f"{fit['shift_db_per_octave']:+.2f}: a part of the difference remains."
            )
        if (fit.get("lowered_by_db") or 0.0) > 0:
            yield f"{stage} stayed {fit['lowered_by_db']:.2f} dB under its target, to keep the ceiling."
    for stage, count in _counts(record, lambda note: note.get("capped_percent", 0.0) > 0).items():
        yield f"{counted(count, 'clip')} reached the cap of {stage}."
    for stage, count in _counts(record, lambda note: note.get("applied_percent", 100.0) < 100).items():
        yield f"{counted(count, 'clip')} had the correction of {stage} scaled down, to keep the crest factor."
    for stage, count in _counts(record, lambda note: (note.get("lowered_by_db") or 0.0) > 0).items():
        yield f"{counted(count, 'clip')} stayed under the target of {stage}, to keep the ceiling."


def _warned(record: Record) -> Iterator[str]:
    for stage, count in _counts(record, lambda note: bool(note.get("warning"))).items():
        yield f"{stage} warns of {counted(count, 'clip')}: see the table further down."


def _counts(record: Record, holds: Any) -> Counter[str]:
    """Return by stage on how many delivered clips its notes hold something."""
    return Counter(stage for clip in record["clips"] for stage, note in clip["stages"].items() if holds(note))


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return joined([*names[:MOST_NAMES], f"{more} more"] if more > 0 else names)


def unblinded_sentences(entries: Iterable[Mapping[str, str]]) -> list[str]:
    """Say when a study was opened, by whom and why."""
    return [
        f"Unblinded on {entry['time']} by {entry['user']}, at record {entry['record']}"
        f"{': ' + entry['reason'] if entry['reason'] else ''}."
        for entry in entries
    ]
