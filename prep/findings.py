"""Findings: what the audit of a run says to the readers of a paper, in sentences, from its record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prep.bibliography import ROC, SCIKIT_LEARN, WESTFALL_YOUNG, cite
from prep.classifiers import cue_classes
from prep.prose import counted, joined, plural, was
from prep.recorded import (
    SIGNIFICANT,
    alone_words,
    corrected_cues,
    figure,
    fullest,
    last_column,
    p_figure,
    pair_figure,
    thin_sentence,
    widest_first,
)
from prep.stage import Stage
from prep.stages import stage_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prep.recorded import Record

NOTABLE_DIFFERENCE = 0.005  # of two AUCs of one cue
OWN_WORDS = {
    "all": "all nuisance cues together",
    "snr": "signal-to-noise ratio",
    "dc_offset": "DC offset",
    "file": "properties of the file",
    "limiting": "peak limiting",
}


def findings(record: Record) -> Iterable[str]:
    """Tell how separability was measured, and what was found before, after and as delivered.

    Args:
        record: run.json, with its texts safe for Markdown.
    """
    audit = record["audit"]
    if audit is None:
        yield "No two conditions were compared, so that nothing is known of cues that tell clips apart."
        return
    yield _cues(record, audit)
    if "pairs" in audit:
        if audit["after"]:
            yield _division(record, audit)
        yield from _omnibus(audit)
        return
    yield (
        f"How far a cue tells the conditions apart is given as the area under the ROC curve {cite(ROC)}, the "
        f"probability that a clip of condition {audit['b']} has a higher value than a clip of condition {audit['a']}; "
        "0.5 is chance."
    )
    if not audit["after"]:
        yield "Nothing was held out or tested; the figures describe these clips and no others."
        yield _described(audit)
        return
    yield _division(record, audit)
    yield from _design(audit)
    yield from _corrected(record, audit)
    yield from _findings(record, audit)


def _cues(record: Record, audit: Mapping[str, Any]) -> str:
    """Name the cues that were measured, with their sources."""
    classes = cue_classes()
    told = []
    for name in audit["cues"]:
        sources = classes[name].REFERENCES if name in classes else ()
        if name != "all":
            told.append(cue_words(name) + (f" {cite(*sources)}" if sources else ""))
    taught = (
        "on the fit split of the sources"
        if record["split"]
        else "on the sources of these very clips, so that their AUC is flattered"
    )
    score = (
        f" Cues of several numbers, and all nuisance cues together, were scored by logistic regression "
        f"{cite(SCIKIT_LEARN)} trained {taught}; beside such a cue stands that of its numbers which alone tells the "
        "same clips apart best, by its own AUC, which was not tested."
        if any("numbers" in item for item in (audit[last_column(audit)] or {}).values())
        else ""
    )
    cues = f"{counted(len(told), 'cue')} {was(len(told))}"
    return f"Before and after preparation, {cues} measured on every clip: {joined(told)}.{score}"


def _division(record: Record, audit: Mapping[str, Any]) -> str:
    """Tell how clips were held out, and what the held-out ones went through."""
    by = record["split"]["by"] if record["split"] else audit["unit"]
    by_labels, by_all = (_learners(record, what) for what in ("labels", "every clip"))
    lengths = next((take["lengths_of_clips"] for take in record.get("takes") or () if take["lengths_of_clips"]), 0)
    told = [
        *(
            [f"for held-out clips {joined(by_labels)} {was(len(by_labels))} fitted on the fit split alone"]
            if by_labels
            else []
        ),
        *(
            [f"{joined(by_all)} {was(len(by_all))} fitted on the clips of both parts, held-out ones among them"]
            if by_all
            else []
        ),
        *(
            [f"cutting took its heads and tails from the medians of {lengths} clips, held-out ones among them"]
            if lengths
            else []
        ),
    ]
    return (
        f"Before anything was measured, clips were divided by whole {plural(by)} into a fit split and a held-out half; "
        f"{'; '.join(told) or 'no step learned from the clips'}; held-out clips were measured as decoded from the "
        "delivered format."
    )


def _learners(record: Record, what: str) -> list[str]:
    """Return the steps that learn from labels, or from every clip whatever part of the split it is in, in order."""
    known = stage_classes()
    return [
        cue_words(name)
        for step in record["config"]["chain"]
        for name, values in step.items()
        # Not validated: the texts of the record are made safe for Markdown here, and what it fits on needs none.
        if isinstance(stage := known[name].model_construct(**values) if name in known else None, Stage)
        and stage.fits_on() == what
    ]


def _design(audit: Mapping[str, Any]) -> Iterable[str]:
    """Tell what was permuted, and what so few units can show."""
    most = fullest(audit)
    if most is None:
        yield "No cue was tested; the figures are descriptive."
        return
    settled = "" if most["smallest_p"] <= SIGNIFICANT else ", so that no difference could be settled here"
    unit = audit["unit"]
    yield (
        f"Differences were tested by permuting the labels of whole {plural(unit)} ({most['units_a']} {audit['a']}, "
        f"{most['units_b']} {audit['b']}), on an AUC in which {plural(unit)} weigh alike; the familywise p is from the "
        f"maximum statistic over the cues {cite(WESTFALL_YOUNG)}. The smallest p that these {plural(unit)} can give is "
        f"{p_figure(most['smallest_p'])}{settled}.{thin_sentence(audit, cue_words)}"
    )


def _corrected(record: Record, audit: Mapping[str, Any]) -> Iterable[str]:
    """Tell of each corrected cue the difference that was found, and its AUC before, after and as delivered."""
    intervals = {
        record["stability"][stage]["cue"]: shifts.get(record["fits"]["release"].get(stage, {}).get("method", "pooled"))
        for stage, shifts in record["fit_intervals"].items()
        if record["stability"].get(stage)
    }
    taught = "all of them" if record["config"]["heldout"]["release"] == "all" else "the fit split alone"
    for name in [name for name in corrected_cues(record) if name in audit["after"]]:
        before, after, delivered = (audit[column][name] for column in ("before", "after", "delivered"))
        shift = intervals.get(name)
        if shift and shift["low"] is not None:
            unit = audit["cues"][name]["features"][0].get("unit", "")
            yield (
                f"The difference in {cue_words(name)} that the correction is for was {shift['shift']:+.2f} {unit} in "
                f"the sources (90 % interval over {plural(audit['unit'])} {shift['low']:+.2f} to {shift['high']:+.2f})."
            )
        yield (
            f"On held-out clips, the AUC of {cue_words(name)} was {figure(before['auc'])} before and "
            f"{figure(after['auc'])} after preparation ({_verdict(after)}); over all delivered clips, with the "
            f"correction fitted on {taught}, it was {figure(delivered['auc'])}, which is descriptive."
        )


def _findings(record: Record, audit: Mapping[str, Any]) -> Iterable[str]:
    """Tell by verdict what was found of the cues that no step corrected: those told apart with their p."""
    corrected = corrected_cues(record)
    groups: dict[str, list[str]] = {}
    for name in audit["after"]:
        if name not in corrected:
            groups.setdefault(audit["after"][name]["verdict"], []).append(name)
    if apart := groups.pop("told apart", []):
        yield from _told_apart(audit, apart)
    elif any(item["p"] is not None for item in audit["after"].values()):
        other = "other " if any(name in audit["after"] for name in corrected) else ""
        yield f"After preparation, no {other}cue told held-out clips apart at p of 0.05 or less."
    for verdict, names in groups.items():
        figures = [
            cue_words(name) + (f" ({figure(item['auc'])}{alone_words(item)})" if item["auc"] is not None else "")
            for name in widest_first(audit)
            if name in names
            for item in [audit["after"][name]]
        ]
        known = any(audit["after"][name]["auc"] is not None for name in names)
        yield f"The verdict is *{verdict}*{', with the AUC in brackets,' if known else ''} for {joined(figures)}."
    if any(item["verdict"] == "not settled" for item in audit["after"].values()):
        most = fullest(audit)
        needed = (
            f"; a claim of equality would take about {most['units_needed']} {plural(audit['unit'])} a side"
            if most
            else ""
        )
        yield (
            "Where the verdict is *not settled* we did not detect a difference, which is no evidence that the "
            f"conditions do not differ{needed}."
        )


def _told_apart(audit: Mapping[str, Any], names: list[str]) -> Iterable[str]:
    """Tell which cues told held-out clips apart, and which of them stand against the number of cues."""
    told = []
    for name in names:
        item = audit["after"][name]
        tested = item.get("auc_tested")
        differs = tested is not None and abs(tested - item["auc"]) >= NOTABLE_DIFFERENCE
        auc = f"AUC {figure(item['auc'])}" + (f", {figure(tested)} as tested" if differs else "") + alone_words(item)
        voice = "; of the voice" if audit["cues"][name]["kind"] == "voice" else ""
        told.append(f"{cue_words(name)} ({auc}, {_chance(item)}{voice})")
    strong = [name for name in names if (p := audit["after"][name]["p_familywise"]) is not None and p <= SIGNIFICANT]
    stand = joined([cue_words(name) for name in strong]) if strong else "none"
    yield (
        f"After preparation, held-out clips of {audit['a']} and {audit['b']} were still *told apart* by "
        f"{joined(told)}. This verdict goes by the p of the single cue, and of {counted(len(audit['after']), 'cue')} "
        f"one in twenty would reach it by chance; the familywise p is 0.05 or less for {stand}."
    )


def _described(audit: Mapping[str, Any]) -> str:
    found = audit["delivered"] or audit["sources"] or {}
    names = joined(
        [
            f"{cue_words(name)} ({figure(item['auc'])}{alone_words(item)})"
            for name in widest_first(audit)
            for item in [found[name]]
            if item["auc"] is not None
        ]
    )
    clips = "delivered clips" if audit["delivered"] else "sources"
    return f"The AUC over the {clips}, the widest first: {names}."


def _omnibus(audit: Mapping[str, Any]) -> Iterable[str]:
    """Tell what held-out clips say of several conditions."""
    conditions, pairs = len(audit["conditions"]), len(audit["pairs"])
    most = fullest(audit)
    able = (
        f" The smallest p that these {plural(audit['unit'])} can give is {p_figure(most['smallest_p'])}."
        f"{thin_sentence(audit, cue_words)}"
        if most
        else ""
    )
    yield (
        f"{conditions} conditions were compared in all {pairs} pairs, by the area under the ROC curve {cite(ROC)} on "
        f"held-out clips; labels of whole {plural(audit['unit'])} were permuted among all conditions at once, and the "
        f"familywise p is from the maximum statistic over pairs and cues {cite(WESTFALL_YOUNG)}.{able}"
    )
    found = [
        f"{cue_words(name)} {pair_figure(item)}{alone_words(item)} ({_verdict(item)})"
        for name in widest_first(audit)
        for item in [(audit["after"] or {}).get(name)]
        if item
    ]
    if found:
        yield (
            "The pair that each cue tells apart best after preparation, with the AUC that the second exceeds the "
            f"first: {joined(found)}."
        )
    yield (
        "Where a verdict is *not settled* we did not detect a difference, which is no evidence that the conditions do "
        "not differ."
    )


def _verdict(tested: Mapping[str, Any]) -> str:
    return f"*{tested['verdict']}*" + ("" if tested["p"] is None else f", {_chance(tested)}")


def _chance(tested: Mapping[str, Any]) -> str:
    return f"p = {p_figure(tested['p'])}, familywise p = {p_figure(tested['p_familywise'])}"


def cue_words(name: str) -> str:
    """Return the name of a cue as prose has it."""
    return OWN_WORDS.get(name, name.replace("_", " "))
