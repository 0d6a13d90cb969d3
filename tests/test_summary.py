"""The sentences at the top of a report: what each step did, and what was not achieved."""

from __future__ import annotations

from typing import Any

import pytest

from prep.summary import shortfall_sentences, step_sentences, unblinded_sentences


def record_of(
    step: str, settings: dict[str, Any], *, fit: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """Return as much of a record of one step and two delivered clips as a sentence needs."""
    note = changes.pop("note", {})
    clip = {"stages": {step: note}, "screen": None, "failure": None, "status": "delivered", "columns": {}}
    record = {
        "chain": [step],
        "config": {"chain": [{step: settings}], "audit": {"equivalence_auc": 0.15}},
        "clips": [clip, clip],
        "fits": {"release": {step: fit} if fit else {}, "evidence": {step: fit} if fit else {}},
        "one_sided": [],
        "slots": [],
        "limits": [],
        "stability": {},
        "split": None,
        "audit": audit_of({"tilt": {"verdict": "cannot be told apart", "auc": 0.5}}),
        "counts": {"delivered": 2},
    }
    return record | changes


def audit_of(after: dict[str, Any] | None, **columns: Any) -> dict[str, Any]:
    """Return as much of an audit as a sentence needs: cues with their AUC, and what their units could show."""
    for item in (after or {}).values():
        item.setdefault("smallest_p", 0.01)
    cues = dict.fromkeys([*(after or {}), *(columns.get("delivered") or {})])
    return {"before": {}, "delivered": None, "unit": "speaker", **columns, "after": after, "cues": cues}


@pytest.mark.parametrize(
    ("step", "settings", "fit", "note", "told"),
    [
        ("encode", {"codec": "copy"}, None, {}, "served 2 clips as they came, tags taken off."),
        (
            "encode",
            {"codec": "mp3", "rate": 44100, "channels": 2, "bitrate_kbps": 128},
            None,
            {},
            "wrote 2 clips as MP3, 44100 Hz, stereo, 128 kb/s.",
        ),
        (
            "shared_gain",
            {},
            {"achieved_lufs": -26.04, "gain_db": 3.0},
            {},
            "brought the set to -26.0 LUFS by one gain of +3.00 dB.",
        ),
        (
            "clip_loudness",
            {"target_lufs": -16.0},
            None,
            {"limited_db": 2.34},
            "brought 2 clips to -16.0 LUFS each; a limiter held the peaks of 2, by 2.3 dB at most.",
        ),
        (
            "clip_loudness",
            {"target_lufs": None, "median_of": {"condition": "human"}},
            {"target_lufs": None, "target_dbov": -25.5},
            {"limited_db": 0.0},
            "brought 2 clips to an active level of -25.5 dBov each.",
        ),
        (
            "reference_eq",
            {"profile": "p.json"},
            None,
            {"mean_correction_db": 1.0, "largest_boost_db": 2.0, "largest_cut_db": 3.0},
            "gave 2 clips the spectrum of the stored profile p.json, by 1.0 dB on average and 3.0 dB at most.",
        ),
        ("reference_eq", {"files": ["a.wav"]}, None, {}, "gave 2 clips the spectrum of the mean of 1 file."),
        ("dereverb", {}, None, {}, "took late reverberation off 2 clips."),
        ("sparkle", {}, None, {}, "sparkle treated 2 clips."),
    ],
)
def test_each_step_has_its_sentence(
    step: str, settings: dict[str, Any], fit: dict[str, Any] | None, note: dict[str, Any], told: str
) -> None:
    """What a step did is told from its settings, its fit and its notes; a step that is not known by its name."""
    assert step_sentences(record_of(step, settings, fit=fit, note=note)) == [(step, told)]


def test_a_one_sided_step_says_for_whom() -> None:
    """A step for some rows only names them."""
    sided = [{"stage": "denoise", "rows": {"condition": ["a", "b"]}, "treated_by_condition": {"a": 2}}]
    found = step_sentences(record_of("denoise", {}, one_sided=sided))

    assert found == [("denoise", "took noise off 2 clips (one-sided: condition a or b only).")]


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    """A record in which every cue cannot be told apart and no clip was lost has no shortfall."""
    assert shortfall_sentences(record_of("encode", {"codec": "copy"})) == []


def test_each_shortfall_is_said() -> None:
    """Nothing proven, caps, lowered levels, warnings and lost clips are each told, with numbers."""
    lost = {"stages": {}, "screen": None, "failure": {"step": "read"}, "status": "failed", "columns": {}}
    note = {"lowered_by_db": 0.5, "capped_percent": 3.0, "applied_percent": 60.0, "warning": "it is loud"}
    fit = {"capped": True, "max_db_per_octave": 3.0, "shift_db_per_octave": 4.2, "lowered_by_db": 1.25}
    record = record_of("mix", {}, fit=fit, note=note, audit=None)
    record["clips"].append(lost)

    assert shortfall_sentences(record) == [
        "Nothing was proven: no two conditions are compared.",
        "Failed: 1 clip at read.",
        "mix stopped at its cap of 3 dB/octave where the conditions differ by +4.20: a part of the difference remains.",
        "mix stayed 1.25 dB under its target, to keep the ceiling.",
        "2 clips reached the cap of mix.",
        "2 clips had the correction of mix scaled down, to keep the crest factor.",
        "2 clips stayed under the target of mix, to keep the ceiling.",
        "mix warns of 2 clips: see the table further down.",
    ]
    record = record_of("encode", {"codec": "copy"}, audit=audit_of(None, sources={}))
    assert shortfall_sentences(record) == [
        "Nothing was proven on held-out clips: none is held out, or not every clip of them has a unit to test by."
    ]


def test_a_correction_that_did_not_help_is_said() -> None:
    """Where held-out clips are no closer to chance after the correction, both figures stand there."""
    figures = audit_of(
        {"tilt": {"auc": 0.2, "separation": 0.3, "verdict": "cannot be told apart"}},
        before={"tilt": {"auc": 0.6, "separation": 0.1}},
    )
    record = record_of("tilt_eq", {}, audit=figures, stability={"tilt_eq": {"cue": "tilt"}, "other": None})

    assert shortfall_sentences(record) == [
        "tilt_eq brought tilt no closer to chance on held-out clips: AUC 0.600 before, 0.200 after."
    ]


def test_the_widest_pair_of_several_conditions_is_named() -> None:
    """Among several conditions a cue that is told apart names its pair, the one with the higher values first."""
    after = {"tilt": {"verdict": "told apart", "auc": 0.95, "p": 0.004, "pair": ["a", "b"]}}
    record = record_of("tilt_eq", {}, audit=audit_of(after))

    assert shortfall_sentences(record) == [
        "Still told apart on held-out clips, the widest first: tilt (AUC 0.950, b over a, p = 0.004)."
    ]


def test_the_widest_cue_leads_with_the_stage_for_it() -> None:
    """Cues stand by the distance of their own AUC from chance, each with a stage to try and its widest number."""
    after = {
        "hum": {"verdict": "not settled", "auc": 0.6},
        "tail_silence": {"verdict": "not settled", "auc": 0.1},
        "peak": {"verdict": "not settled", "auc": 0.5, "numbers": {"true_peak_dbtp": 0.0, "crest_db": 0.6}},
    }

    (told,) = shortfall_sentences(record_of("high_pass", {}, audit=audit_of(after)))
    assert told == (
        "Not settled, which is no pass, for 3 of 3 cues, the widest first: tail_silence (AUC 0.100; edges "
        "addresses it), hum (AUC 0.600) and peak (AUC 0.500, the widest of 2 numbers, true_peak_dbtp, alone 0.000)."
    )
    sentence = shortfall_sentences(record_of("edges", {}, audit=audit_of(after)))[0]
    assert "tail_silence (AUC 0.100)" in sentence  # it is in the chain


def test_few_units_are_said_where_nothing_is_settled() -> None:
    """Where no p at or below 0.05 can be reached, the smallest possible p stands beside what is not settled."""
    after = {"hum": {"verdict": "not settled", "auc": 0.6, "smallest_p": 0.125}}
    told = shortfall_sentences(record_of("high_pass", {}, audit=audit_of(after)))[0]

    assert "for 1 of 1 cue (too few speakers to settle anything: smallest possible p 0.125), the widest" in told


def test_a_badly_covered_cue_is_named_and_the_study_is_not_blamed() -> None:
    """Where one cue alone has too few values, it alone is told as one that so few units settle nothing of."""
    after = {
        "hum": {"verdict": "not settled", "auc": 0.6},
        "reverb": {"verdict": "not settled", "auc": 0.7, "smallest_p": 0.125},
    }
    told = shortfall_sentences(record_of("high_pass", {}, audit=audit_of(after)))[0]

    assert "for 2 of 2 cues (too few speakers to settle anything of reverb (smallest possible p 0.125)), the" in told


def test_the_widest_of_many_numbers_puts_no_cue_beyond_the_margin() -> None:
    """Where nothing is tested, a cue whose own AUC is within the margin is not told, however wide one number is."""
    delivered = {"spectrum": {"auc": 0.5, "numbers": {"a": 0.9, "b": 0.5}}}

    assert len(shortfall_sentences(record_of("high_pass", {}, audit=audit_of(None, delivered=delivered)))) == 1


def test_what_is_only_described_leads_with_the_widest_too() -> None:
    """Where nothing is tested, the cues beyond the study's margin are named by width, as described and not tested."""
    delivered = {"tilt": {"auc": 0.7}, "hum": {"auc": 0.52}, "head_silence": {"auc": 0.05}}
    record = record_of("high_pass", {}, audit=audit_of(None, delivered=delivered))

    assert shortfall_sentences(record)[1] == (
        "Described and not tested, 2 of 3 cues lie more than 0.15 from chance (0.5) over the delivered clips, the "
        "widest first: head_silence (AUC 0.050; edges addresses it) and tilt (AUC 0.700; tilt_eq addresses it)."
    )


def test_cutting_takes_is_the_first_step() -> None:
    """Where clips were cut from takes, that is told before the chain, with the command that lets one hear the cuts."""
    take = {"cut_by": "words", "clips": 5, "lines": 6, "missing": [{"line": 2}]}
    record = record_of("high_pass", {}, takes=[take, {**take, "cut_by": "pauses", "missing": []}])
    record["config"]["clips"] = {"table": "takes.csv"}
    line = record["clips"][0] | {"role": "stimulus"}
    record["clips"] = [line | {"slot": str(place), "take": {"rank": 1}} for place in range(11)]
    record["clips"] += [line | {"slot": "0", "take": {"rank": 2}}, line | {"slot": "11", "take": {"missing": "why"}}]
    (name, told), (second, _) = step_sentences(record)

    assert (name, second) == ("takes", "high_pass")
    assert told == (
        "cut 10 clips for 12 lines of script from 2 takes (1 by pauses and 1 by words), 1 line without a clip; to "
        "listen to every cut: prep cut takes.csv -o FOLDER."
    )


def test_checks_that_could_not_be_made_are_counted() -> None:
    """A screen is told to have looked for what it could look for, and where it could not."""
    record = record_of("screen", {"preamble": {}, "tail_silence": {}, "only": None})
    findings = [{"check": "preamble", "outcome": "not checked"}, {"check": "tail_silence", "outcome": "passed"}]
    seen = record["clips"][0] | {"screen": {"findings": findings, "cut_for": []}}
    other = [findings[0], findings[1] | {"outcome": "not checked"}]
    record["clips"] = [seen, seen | {"screen": {"findings": other, "cut_for": []}}]

    ((_, told),) = step_sentences(record)
    assert told == (
        "looked in 2 clips for tail silence: 0 clips turned down; preamble could not be checked in 2 of 2 clips; "
        "tail silence could not be checked in 1 of 2 clips."
    )


def test_an_opening_is_told_with_and_without_a_reason() -> None:
    """When, who, at which record, and why where it was said."""
    entry = {"time": "2030-01-01T00:00:00+00:00", "user": "u", "record": "0002", "reason": ""}

    assert unblinded_sentences([entry, entry | {"reason": "done"}]) == [
        "Unblinded on 2030-01-01T00:00:00+00:00 by u, at record 0002.",
        "Unblinded on 2030-01-01T00:00:00+00:00 by u, at record 0002: done.",
    ]
