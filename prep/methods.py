"""Methods: what a paper says of a run, made from its record, with the references that it cites.

The sentence about a step comes from the class of the step (`Step.methods`), the references of a cue from its class.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from prep.bibliography import (
    OF_LIBRARIES,
    PREP,
    SHARED,
    WHISPER,
    Reference,
    bibtex,
    cite,
    cited,
)
from prep.classifiers import cue_classes
from prep.findings import cue_words, findings
from prep.prose import clips_with, counted, joined, sentence, was
from prep.recorded import by_condition, lines_of_takes, readable_prose, unchecked, unchecked_words
from prep.stage import Account
from prep.stages import stage_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prep.recorded import Record


def methods_md(record: Record) -> str:
    """Return what a paper says of a run: what was done, how it was checked, and what that leaves open. In Markdown."""
    record = readable_prose(record)
    paragraphs = (
        (_stimuli(record), _takes(record), *_treatment(record), _unaltered(record)),
        tuple(findings(record)),
        (*_caveats(record), _software(record)),
    )
    told = (" ".join(text for text in sentences if text) for sentences in paragraphs)
    return "\n\n".join(text for text in told if text) + "\n"


def references_bib(record: Record) -> str:
    """Return the references that the methods of a run cite, as BibTeX."""
    keys = cited(methods_md(record))
    known = {reference.key: reference for reference in (*_references(), *SHARED)}
    version = {"note": f"Version {record['versions']['listening-prep']}"}
    chosen = [known[key] for key in keys]
    return bibtex(
        Reference(item.key, item.kind, {**item.fields, **version}) if item.key == PREP.key else item for item in chosen
    )


def _references() -> Iterable[Reference]:
    """Yield the references of every stage and cue."""
    for found in (*stage_classes().values(), *cue_classes().values()):
        yield from found.REFERENCES


def _stimuli(record: Record) -> str:
    """Tell how many clips of which conditions and units were delivered."""
    unit = record["config"]["compare"]["unit"] if record["config"]["compare"] else "speaker"
    groups = []
    for condition, clips in by_condition(record).items():
        units = {clip["columns"].get(unit) for clip in clips} - {None, ""}
        of = f" of {counted(len(units), unit)}" if units else ""
        groups.append(f"{len(clips)} {condition or 'without a condition'}{of}")
    delivered = [clip for clip in record["clips"] if clip["delivered"]]
    roles = Counter(clip["role"] for clip in delivered if clip["role"] != "stimulus")
    others = (
        f" A further {joined([counted(count, f'{role} clip') for role, count in sorted(roles.items())])} got the same "
        "treatment and took no part in fits and comparisons."
        if roles
        else ""
    )
    number = len(delivered) - sum(roles.values())
    stimuli = "1 stimulus" if number == 1 else f"{number} stimuli"
    return f"The listening set has {stimuli} ({joined(groups)}).{others}"


def _takes(record: Record) -> str:
    """Tell how many clips were cut from how many long recordings, by what, and which lines of the scripts have none."""
    takes = record.get("takes") or []
    if not takes:
        return ""
    by_words = sum(take["cut_by"] == "words" for take in takes)
    ways = [(by_words, f"by recognised words {cite(WHISPER)}"), (len(takes) - by_words, "by pauses")]
    told = [(count, way) for count, way in ways if count]
    how = f" {told[0][1]}" if len(told) == 1 else f", {joined([f'{count} {way}' for count, way in told])}"
    lines, missing = lines_of_takes(record)
    lost = f"; {counted(missing, 'line')} had no clip" if missing else ""
    clips = sum(take["clips"] for take in takes)
    return (
        f"{counted(clips, 'clip')} for {counted(lines, 'line')} of script {was(clips)} cut from "
        f"{counted(len(takes), 'long recording')}{how}{lost}."
    )


def exclusion_sentence(record: Mapping[str, Any]) -> str:
    """Tell which clips are not delivered, for what, of which condition, and what stands in their place.

    A line of a script that nobody read is no clip, and told where cutting is.
    """
    clips = [clip for clip in record["clips"] if (clip["failure"] or {}).get("step") != "takes"]
    excluded = [clip for clip in clips if clip["failure"]]
    if not excluded:
        return "No clip was excluded."
    tried = len(clips) - record["counts"].get("spare", 0)
    column = record["config"]["compare"]["column"] if record["config"]["compare"] else "condition"
    reasons = Counter(reason for clip in excluded for reason in _reasons(clip))
    sides = Counter(clip["columns"].get(column) or "without a condition" for clip in excluded)
    replaced = sum(bool(slot["filled_by"] and slot["instead_of"]) for slot in record["slots"])
    if len(excluded) == 1:
        instead = "was replaced" if replaced else "was not replaced"
    else:
        instead = f"{replaced} of them {was(replaced)} replaced" if replaced else "none was replaced"
    return (
        f"Of {counted(tried, 'source clip')}, {len(excluded)} {was(len(excluded))} excluded "
        f"({joined([f'{count} {name}' for name, count in sorted(sides.items())])}; "
        f"{joined([f'{name}: {count}' for name, count in sorted(reasons.items())])}) and {instead} by another "
        "candidate."
    )


def _reasons(clip: Mapping[str, Any]) -> list[str]:
    """Return the checks that turned a clip down, or else the step."""
    findings = (clip["screen"] or {}).get("findings", ()) if clip["failure"]["step"] == "screen" else ()
    failed = {item["check"] for item in findings if item["outcome"] == "failed" and item["on_fail"] != "flag"}
    return [cue_words(name) for name in sorted(failed)] or [clip["failure"]["step"].replace("_", " ")]


def _treatment(record: Record) -> Iterable[str]:
    """Tell each step in the order in which it was carried out, in the words of its class."""
    steps = {name: parameters for step in record["config"]["chain"] for name, parameters in step.items()}
    one_sided = {item["stage"]: item["treated_by_condition"] for item in record["one_sided"]}
    chain = record["chain"]
    if "screen" not in chain:
        yield exclusion_sentence(record)
    for name in chain:
        if name == "convert":
            yield _conversion(record)
            continue
        known = stage_classes().get(name)
        notes = [clip["stages"][name] for clip in record["clips"] if clip["delivered"] and name in clip["stages"]]
        fits = {part: record["fits"][part].get(name) for part in ("release", "evidence")}
        evidence = fits["evidence"] if record["split"] else None
        if known is None:  # a stage that this version no longer has
            yield f"The clips went through the step {name}."
        else:
            asked = _asked(record, steps.get(name, {})) if name == "screen" else steps.get(name, {})
            yield known.methods(Account(asked, fits["release"], evidence, notes))
        if name == "screen":
            yield " ".join(f"{sentence(told)}." for told in unchecked_words(record, cue_words))
            yield exclusion_sentence(record)
        if name in one_sided:
            yield _spared(record, one_sided[name])


def _asked(record: Record, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a screen without the checks that could be made in no clip."""
    never = {name for name, (count, of) in unchecked(record).items() if count == of}
    return {name: value for name, value in parameters.items() if name not in never}


def _spared(record: Record, treated: Mapping[str, int]) -> str:
    """Say which condition a one-sided step did not touch."""
    others = [name for name in by_condition(record) if not treated.get(name)]
    return f"This step was one-sided: {joined(others)} clips did not pass through it." if others else ""


def _conversion(record: Record) -> str:
    """Tell how many clips came at another rate or with other channels, and that this was before a level was set."""
    notes = [clip["stages"].get("convert", {}) for clip in record["clips"] if clip["delivered"]]
    rates = sum("source_rate" in note for note in notes)
    mixed = sum("downmixed_channels" in note for note in notes)
    told = [
        *([f"{rates} of {counted(len(notes), 'clip')} {was(rates)} resampled to the delivered rate"] if rates else []),
        *([f"{mixed} of {counted(len(notes), 'clip')} {was(mixed)} mixed to one channel"] if mixed else []),
    ]
    levelled = any(getattr(stage_classes().get(name), "LEVEL", False) for name in record["chain"])
    when = "once, before the level was set, " if levelled else ""
    return f"{sentence(f'{when}{joined(told)}')}." if told else ""


def _unaltered(record: Record) -> str:
    served = record["config"]["chain"][-1].get("encode", {}).get("codec") == "copy"
    return "" if served else "Apart from these steps, the sound was not altered."


def _caveats(record: Record) -> Iterable[str]:
    """Say what the treatment cannot promise."""
    classes = {name: known for name in record["chain"] if (known := stage_classes().get(name))}
    corrects = {name: cue for name, known in classes.items() if (cue := getattr(known, "CORRECTS", ""))}
    corrected = [cue_words(cue) for cue in sorted(set(corrects.values()))]
    targets = _targets(record, corrects)
    if corrected:
        yield (
            f"The correction addresses one difference between recording chains ({joined(corrected)}); others may "
            f"remain, among them any that no cue measures.{f' {sentence(targets)}.' if targets else ''}"
        )
    elif record["audit"] is not None:
        yield (
            f"No step was fitted to a difference between the conditions{f', but {targets}' if targets else ''}; "
            "differences may remain, among them any that no cue measures."
        )
    if record["one_sided"]:
        yield "Listeners hear adjusted recordings, and one side was adjusted otherwise than the other."
    elif any(name not in ("convert", "encode", "screen") for name in record["chain"]):
        yield "Listeners hear adjusted recordings."


def _targets(record: Record, corrects: Iterable[str]) -> str:
    """Say which steps took a target from the clips of one condition alone; empty where none did.

    Args:
        record: its config says which columns a step looks at.
        corrects: the steps that are told as corrections already.
    """
    compare = record["config"]["compare"]
    if compare is None:
        return ""
    steps = {"takes": record["config"].get("takes") or {}} if record.get("takes") else {}
    steps |= {name: values for step in record["config"]["chain"] for name, values in step.items()}
    sources: dict[str, list[str]] = {}
    for step, values in steps.items():
        for name, value in values.items():
            if name != "only" and step not in corrects and isinstance(value, dict) and compare["column"] in value:
                sources.setdefault(clips_with(value), []).append("cutting" if step == "takes" else cue_words(step))
    return joined(
        [
            f"{joined(names)} took {'its target' if len(names) == 1 else 'their targets'} from {whose}"
            for whose, names in sources.items()
        ]
    )


def _software(record: Record) -> str:
    """Name the programs and models, with their versions."""
    versions = record["versions"]
    libraries = [
        f"{name} {versions[key]} {cite(OF_LIBRARIES[key])}"
        for name, key in (("NumPy", "numpy"), ("SciPy", "scipy"))
        if key in versions
    ]
    models = joined(sorted(record["models"]))
    with_models = f", and the models {models}" if models else ""
    return (
        f"Audio was prepared with listening-prep {versions['listening-prep']} {cite(PREP)} (seed {record['seed']}), on "
        f"{joined(libraries)}{with_models}; the run's record holds every setting, fit, version and digest."
    )
