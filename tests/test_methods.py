"""The methods of a run: a golden text for each preset, what may not be said, the figures, and the references."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from prep.bibliography import SHARED, Reference, bibtex, cite, cited
from prep.classifiers import cue_classes
from prep.methods import methods_md, references_bib
from prep.stage import Account, Step
from prep.stages import dereverb, stage_classes

PROJECT = Path(__file__).resolve().parents[1]
GOLDEN = PROJECT / "tests" / "golden"
PRESETS = sorted(path.stem for path in (PROJECT / "configs").glob("*.yaml"))
OF_CLASSES = [
    reference for found in (*stage_classes().values(), *cue_classes().values()) for reference in found.REFERENCES
]
KNOWN = {reference.key: reference for reference in (*OF_CLASSES, *SHARED)}
# What BibTeX wants of each kind.
REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "book": {"author", "title", "publisher", "year"},
    "techreport": {"author", "title", "institution"},
    "misc": {"title"},
}
ENTRY = re.compile(r"@(\w+)\{([a-z0-9_]+),\n((?:  \w+ = \{.*\},\n)+)\}\n")
FIELD = re.compile(r"  (\w+) = \{(.*)\},\n")


def golden(preset: str) -> dict[str, Any]:
    """Return the record that a preset's golden text is made from."""
    record: dict[str, Any] = json.loads((GOLDEN / f"{preset}.json").read_text(encoding="utf-8"))
    return record


def parsed(text: str) -> dict[str, dict[str, str]]:
    """Return the entries of a BibTeX file by key; anything else in it is an error."""
    entries = {}
    rest = text
    while rest:
        found = ENTRY.match(rest)
        assert found, f"no entry begins at {rest[:60]!r}"
        kind, key, fields = found.groups()
        named = dict(FIELD.findall(fields))
        assert key not in entries
        assert REQUIRED[kind] <= named.keys(), key
        assert fields.isascii()
        for value in named.values():
            depth = 0
            for sign in value:
                depth += (sign == "{") - (sign == "}")
                assert depth >= 0, key
            assert depth == 0, key
        entries[key] = named
        rest = rest[found.end() :].removeprefix("\n")
    return entries


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_its_golden_methods(preset: str) -> None:
    """What a paper says of each preset is what a human has read; `python tests/golden/make.py` makes it again."""
    assert methods_md(golden(preset)) == (GOLDEN / f"{preset}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("preset", PRESETS)
def test_nothing_is_said_to_be_absent(preset: str) -> None:
    """A test that found nothing is never told as the absence of a difference."""
    text = methods_md(golden(preset)).lower()

    assert "did not detect" in text
    for phrase in ("there is no", "there was no", "no difference between", "do not differ significantly", "identical"):
        assert phrase not in text
    assert "no evidence that the conditions do not differ" in text


@pytest.mark.parametrize("preset", PRESETS)
def test_every_citation_has_its_entry_and_every_entry_a_citation(preset: str) -> None:
    """The references hold what the methods cite and nothing else, in BibTeX that a strict reader takes."""
    record = golden(preset)
    entries = parsed(references_bib(record))

    assert sorted(entries) == cited(methods_md(record))
    assert entries["listening_prep"]["note"] == f"Version {record['versions']['listening-prep']}"


def test_only_what_a_run_used_is_cited() -> None:
    """Clips that were served as they came cite no denoiser, no fit and no model."""
    plain, arena = (parsed(references_bib(golden(preset))) for preset in ("as_produced", "arena"))

    assert not {"hodges1963estimates", "matchering", "radford2023whisper", "nakatani2010wpe"} & plain.keys()
    assert {"matchering", "radford2023whisper", "nakatani2010wpe", "gemmeke2017audioset"} <= arena.keys()


def test_every_reference_is_whole() -> None:
    """Each reference of a stage or cue has what BibTeX asks of its kind, and one key stands for one reference."""
    text = bibtex(KNOWN.values())

    assert sorted(parsed(text)) == sorted(KNOWN)
    for reference in (*OF_CLASSES, *SHARED):
        assert KNOWN[reference.key] == reference
        assert re.fullmatch(r"10\.\d{4,9}/\S+", reference.fields.get("doi", "10.1234/x"))
        assert re.fullmatch(r"(19|20)\d\d", reference.fields.get("year", "2000"))


def test_citations_are_found_as_they_are_written() -> None:
    """Keys are read back from the citations that `cite` writes, and from nothing that a name may hold."""
    one, other = (Reference(key, "misc", {"title": key}) for key in ("b2", "a_1"))

    assert cited(f"x {cite(one, other)} y {cite(one)}") == ["a_1", "b2"]
    assert cited("mail@b2 [b2] [@B2] @b2") == []


@pytest.mark.parametrize("name", sorted(stage_classes()))
def test_every_step_has_words_of_its_own(name: str) -> None:
    """No step of the project is told by its name alone."""
    assert stage_classes()[name].methods.__func__ is not Step.methods.__func__  # type: ignore[attr-defined]


def test_a_step_without_words_is_told_by_its_name() -> None:
    """A new stage is in the methods before anybody wrote its sentence."""

    class Lisp(Step):
        NAME = "lisp"

    assert Lisp.methods(Account({"only": {"condition": "human"}})) == (
        "The clips with condition human went through the step lisp."
    )


PASSED_THROUGH = (
    "0.30 s are too short to tell the room from the voice",
    "0.41 s are too short to tell the room from the voice",
    "it is silent",
    "it rings no longer than dry speech",
    "the filter would have taken the voice with the room",
    "what the filter would take off is too little for a room",
)
ACCOUNTS: dict[str, list[tuple[Account, tuple[str, ...]]]] = {
    "bandwidth": [
        (Account({}, {"upper_hz": 8000.0, "wider_clips": 3, "clips": 9}), ("8000 Hz", "3 of 9 clips", "removed")),
    ],
    "clip_loudness": [
        (
            Account(
                {"median_of": {"condition": "b"}, "ceiling_dbtp": -1.0},
                {"target_lufs": -23.4, "target_dbov": None},
                None,
                [{"limited_db": 2.0, "lowered_by_db": 0.0}, {"limited_db": 0.0, "lowered_by_db": 1.5}],
            ),
            (
                "-23.4 LUFS",
                "median of the clips with condition b",
                "1 of 2 clips",
                "by 2.0 dB;",
                "1.5 dB at most",
                "were brought to",
            ),
        ),
        (Account({"target_dbov": -26.0, "ceiling_dbtp": -1.0}), ("active speech level of -26 dBov",)),
    ],
    "denoise": [
        (
            Account(
                {
                    "method": "spectral_gate",
                    "max_attenuation_db": 12.0,
                    "breath_loss_db": 2.0,
                    "floor_towards": {"condition": "b"},
                    "only": {"condition": "a"},
                },
                {"floor_db": -50.0, "clips": 4},
            ),
            ("The clips with condition a", "spectral gate", "12 dB", "-50.0 dB", "[@sainburg2020noisereduce]"),
        ),
        (
            Account({"method": "deepfilter", "max_attenuation_db": 18.0, "breath_loss_db": 2.0}),
            ("All clips", "DeepFilterNet 3 [@schroeter2023deepfilternet]"),
        ),
    ],
    "detap": [
        (Account({}, notes=[{"repairs": 2}, {"repairs": 0}]), ("2 places in 1 of 2 clips", "left as they were")),
        (Account({}, notes=[{"repairs": 0}]), ("none was detected in 1 clip",)),
    ],
    "dereverb": [
        (
            Account(
                {"then_denoise_db": 6.0},
                notes=[{"taps": 9, "t60_before_seconds": 0.5, "t60_after_seconds": 0.3}, {"taps": 0}],
            ),
            (
                "1 of 2 clips was changed, and 1 was passed through as it was.",
                "0.50 s before and 0.30 s after",
                "lowered by at most 6 dB by DeepFilterNet 3 [@schroeter2023deepfilternet] in 1 of 1 clip. ",
            ),
        ),
        (
            Account(
                {"then_denoise_db": 6.0},
                notes=[
                    {"taps": 9},
                    {"taps": 5, "warning": dereverb.NOT_DENOISED},
                    *({"taps": 0, "warning": f"passed through: {why}"} for why in PASSED_THROUGH),
                ],
            ),
            (
                "2 of 8 clips were changed, and 6 were passed through as they were: 2 because it is too short to tell ",
                "the room from the voice, 1 because it is silent, 1 because it rings no longer than dry speech, 1 ",
                "because the filter would have taken the voice with the room and 1 because what the filter would ",
                "take off is too little for a room.",
                "in 1 of 2 clips; in 1 it would have taken the voice with it and was left out.",
            ),
        ),
        (Account({"then_denoise_db": None}, notes=[{"taps": 9}]), ("1 of 1 clip was changed.",)),
    ],
    "edges": [
        (Account({"head_seconds": 0.2, "tail_seconds": 0.3, "breaths": "trim"}), ("0.200 s", "0.300 s", "taken out")),
        (
            Account({"breaths": "keep", "lengths_of": {"condition": "b"}}, {"head_seconds": 0.25, "tail_seconds": 0.5}),
            ("medians of the clips with condition b", "kept whole"),
        ),
    ],
    "encode": [
        (Account({"codec": "mp3", "rate": 44100, "channels": 1, "bitrate_kbps": 128}), ("MP3, 44.1 kHz", "lossy")),
        (Account({"codec": "copy"}), ("unaltered",)),
    ],
    "high_pass": [(Account({"cutoff_hz": 60.0}), ("All clips", "60 Hz"))],
    "masking_noise": [
        (
            Account(
                {"percentile": 90.0},
                {"level_db": -62.0, "reference": "full scale", "noisier_clips": 2},
                None,
                [{"added_dbfs": -64.0}],
            ),
            ("90th percentile", "-62.0 dBFS", "1 clip ", "noise of 2 clips"),
        ),
    ],
    "reference_eq": [
        (
            Account(
                {"files": ["a.wav", "b.wav"], "max_cut_db": 12.0, "max_boost_db": 6.0, "max_crest_change_db": 3.0},
                None,
                None,
                [
                    {"mean_correction_db": 2.0, "capped": True, "applied_percent": 100.0},
                    {"mean_correction_db": 4.0, "capped": False, "applied_percent": 64.0},
                ],
            ),
            (
                "mean of 2 reference recordings",
                "-12 to +6 dB",
                "3.0 dB",
                "1 of 2 clips",
                "[@matchering]",
                "In 1 clip the correction was scaled down, to 64 % in dB at the least",
                "by no more than 3 dB",
            ),
        ),
        (Account({"files": [], "profile": "p", "max_cut_db": 1.0, "max_boost_db": 1.0}), ("a stored profile",)),
    ],
    "screen": [
        (
            Account({"clipping": {}, "music": {}, "only": None}, notes=[{}, {"cut_seconds": 2.0}]),
            ("clipping and music [@yamnet", "1 clip lost a part of the start", "2.0 s"),
        ),
    ],
    "shared_gain": [
        (
            Account(
                {"ceiling_dbtp": -1.0},
                {"gain_db": -3.0, "achieved_lufs": -27.0, "lowered_by_db": 1.0, "target_lufs": -26.0},
            ),
            ("-3.00 dB", "-27.0 LUFS", "1.00 dB below the -26 LUFS", "left as they were"),
        ),
    ],
    "tilt_eq": [
        (
            Account(
                {"adjust": {"condition": "a"}, "towards": {"condition": ["b", "c"]}, "tilt_band_hz": [200.0, 7000.0]},
                {
                    "applied_db_per_octave": 3.0,
                    "shift_db_per_octave": 4.2,
                    "capped": True,
                    "max_db_per_octave": 3.0,
                    "method": "matched",
                    "matched_cells": 7,
                },
                {"applied_db_per_octave": 2.5},
            ),
            ("condition a", "+3.00 dB/octave", "condition b or c", "7 matched cells", "+2.50", "cap of 3", "+4.20"),
        ),
    ],
}


@pytest.mark.parametrize("name", sorted(stage_classes()))
def test_the_words_of_a_step_hold_its_figures(name: str) -> None:
    """Whom a step treated, with what, by how much and how often stands in its sentences, with its sources."""
    for account, expected in ACCOUNTS[name]:
        told = stage_classes()[name].methods(account)
        for part in expected:
            assert part in told, (part, told)
        assert told.endswith(".")
        assert set(cited(told)) <= KNOWN.keys()


def test_what_listeners_hear_is_said() -> None:
    """A one-sided correction is called so, with who was spared, and that other differences may remain."""
    text = methods_md(golden("demo"))

    for part in (
        "This step was one-sided: synthetic clips did not pass through it.",
        "addresses one difference between recording chains (tilt); others may remain",
        "Listeners hear adjusted recordings, and one side was adjusted otherwise than the other.",
        "Apart from these steps, the sound was not altered.",
    ):
        assert part in text


def test_exclusions_are_counted_by_condition_and_reason() -> None:
    """What a screen cost is told with its reason, its side and what stands in its place; or that nothing was lost."""
    lost = "Of 65 source clips, 1 was excluded (1 human; clipping: 1) and was replaced by another candidate."
    assert lost in methods_md(golden("detection"))
    assert "No clip was excluded." in methods_md(golden("shared_gain"))


def test_cutting_is_told() -> None:
    """Where clips were cut from long recordings, the methods say from how many, by what, and which lines have none."""
    take = {"cut_by": "words", "clips": 5, "lines": 6, "missing": [{"line": 2}], "lengths_of_clips": 0}
    record = golden("shared_gain") | {"takes": [take, {**take, "cut_by": "pauses", "missing": []}]}
    for place, clip in enumerate(record["clips"][:12]):  # the last line is missing, and another row is no line
        clip |= {"slot": f"slot {place}", "take": {"missing": "why"} if place == 11 else {"rank": 1}}
    record["clips"][12] |= {"slot": "slot 0", "take": {"rank": 2}}

    told = "10 clips for 12 lines of script were cut from 2 long recordings, 1 by recognised words "
    assert f"{told}[@radford2023whisper] and 1 by pauses; 1 line had no clip." in methods_md(record)
    record["takes"] = [{**take, "clips": 1, "lines": 1, "missing": []}]
    record["clips"] = record["clips"][:1]
    assert "1 clip for 1 line of script was cut from 1 long recording by recognised words [@" in methods_md(record)


def test_nothing_is_said_of_a_split_that_was_not_there() -> None:
    """Where nothing is held out, no classifier is told as trained on a fit split, and its figure as flattered."""
    record = golden("shared_gain") | {"split": None}
    record["audit"] = record["audit"] | {"before": None, "after": None}
    text = methods_md(record)

    assert "Nothing was held out or tested" in text
    assert "fit split" not in text
    assert "trained on the sources of these very clips, so that their AUC is flattered" in text


def test_targets_that_are_taken_from_one_condition_are_named() -> None:
    """Steps whose target is the figure of one condition's clips are named where a paper says what was fitted."""
    text = methods_md(golden("humanness"))

    assert (
        "No step was fitted to a difference between the conditions, but denoise, edges and clip loudness took their "
        "targets from the clips with condition synthetic; differences may remain"
    ) in text
    assert "took" not in methods_md(golden("shared_gain"))


def test_a_correction_without_a_test_is_still_a_correction() -> None:
    """A step that corrects a difference is called so, whether or not its effect could be foreseen over splits."""
    text = methods_md(golden("demo") | {"stability": {}})

    assert "addresses one difference between recording chains (tilt)" in text
    assert "No step was fitted" not in text


def test_the_widest_number_stands_beside_its_cue() -> None:
    """A cue of several numbers is told with the number that alone tells most, and verdict and p stay the cue's."""
    record = golden("demo")
    peak = record["audit"]["after"]["peak"] | {"numbers": {"true_peak_dbtp": 0.0, "crest_db": 0.6}}
    record["audit"]["after"]["peak"] = peak

    told = f"peak ({peak['auc']:.3f}, the widest of 2 numbers, true_peak_dbtp, alone 0.000)"
    assert told in methods_md(record)


def test_too_few_units_settle_nothing() -> None:
    """Where the smallest attainable p is above 0.05, the methods say that no difference could be settled."""
    record = copy.deepcopy(golden("shared_gain"))
    for item in record["audit"]["after"].values():
        if item["smallest_p"] is not None:
            item |= {"smallest_p": 0.1, "p": None, "p_familywise": None, "verdict": "not settled"}
    text = methods_md(record)

    assert "can give is 0.1, so that no difference could be settled here" in text
    assert "told apart*" not in text


def test_a_run_without_conditions_says_so() -> None:
    """Without two conditions nothing is known of cues, and no statistic is cited."""
    record = golden("as_produced") | {"audit": None, "one_sided": []}
    record["config"] = record["config"] | {"compare": None}

    assert "No two conditions were compared" in methods_md(record)
    assert "westfall1993resampling" not in references_bib(record)


def test_a_badly_covered_cue_does_not_unsettle_the_study() -> None:
    """The smallest p is that of the units of the study; a cue that fewer have a value of is named with its own."""
    record = copy.deepcopy(golden("shared_gain"))
    record["audit"]["after"]["hum"] |= {
        "smallest_p": 0.333,
        "units_a": 1,
        "units_b": 2,
        "p": None,
        "p_familywise": None,
    }
    text = methods_md(record)

    assert "whole speakers (4 human, 4 synthetic)" in text
    assert (
        "The smallest p that these speakers can give is 0.0286. It is larger for what fewer speakers have a value of: "
        "hum (0.333, so that no difference in it could be settled)."
    ) in text
    assert "settled here" not in text


def test_steps_that_learned_from_held_out_clips_are_named() -> None:
    """What was fitted on the fit split alone is what learned from labels; what learned from every clip is named."""
    both, of_all, nothing = (methods_md(golden(name)) for name in ("demo", "shared_gain", "vc_mos"))
    shared = "shared gain was fitted on the clips of both parts, held-out ones among them"

    assert f"for held-out clips tilt eq was fitted on the fit split alone; {shared}; held-out clips were" in both
    assert f"a held-out half; {shared}; held-out clips were measured as decoded" in of_all
    assert "on the fit split alone" not in of_all
    assert "no step learned from the clips; held-out clips were measured" in nothing
    take = {"cut_by": "words", "clips": 1, "lines": 1, "missing": [], "lengths_of_clips": 6}
    cut = methods_md(golden("vc_mos") | {"takes": [take]})
    assert "cutting took its heads and tails from the medians of 6 clips, held-out ones among them" in cut
    assert "no step learned" not in cut


def test_other_cues_are_told_where_one_was_corrected() -> None:
    """That no other cue told clips apart is said where a stage of the chain corrects one, tested over splits or not."""
    records = [copy.deepcopy(golden(name)) for name in ("demo", "shared_gain")]
    for record in records:
        record["stability"] = {}
        for item in record["audit"]["after"].values():
            item |= {"verdict": "not settled"}
    corrected, plain = (methods_md(record) for record in records)

    assert "On held-out clips, the AUC of tilt was" in corrected
    assert "After preparation, no other cue told held-out clips apart" in corrected
    assert "After preparation, no cue told held-out clips apart" in plain


def test_a_check_that_could_not_be_made_is_no_screening() -> None:
    """Clips are told as screened for what was looked for in some of them; in how many it could not be stands there."""
    record = copy.deepcopy(golden("detection"))
    assert {"clipping", "music"} <= next(step for step in record["config"]["chain"] if "screen" in step)[
        "screen"
    ].keys()
    for place, clip in enumerate(record["clips"]):
        found = clip["screen"]["findings"]
        found.append({"check": "clipping", "outcome": "not checked" if place < 3 else "passed", "on_fail": "replace"})
        found.append({"check": "music", "outcome": "not checked", "on_fail": "replace"})
    text = methods_md(record)
    screened = text[text.index("were screened for") :].split(".")[0]
    number = len(record["clips"])

    assert "clipping" in screened
    assert "music" not in screened
    assert f"Clipping could not be checked in 3 of {number} clips." in text
    assert f"Music could not be checked in {number} of {number} clips." in text


def test_a_line_that_nobody_read_is_no_excluded_clip() -> None:
    """Lines without a reading are told where cutting is, and neither as source clips nor as excluded."""
    record = copy.deepcopy(golden("detection"))
    before = methods_md(record)
    lost = {**record["clips"][-1], "status": "failed", "failure": {"step": "takes", "reason": "was not heard"}}
    record["clips"].append({**lost, "delivered": False, "stages": {}, "screen": None})

    assert methods_md(record) == before


def test_resampling_before_a_level_is_told_where_one_was_set() -> None:
    """That resampling was before the level is said of chains that set a level alone."""
    record = copy.deepcopy(golden("shared_gain"))
    assert "Once, before the level was set, 64 of 64 clips were resampled" in methods_md(record)
    record["chain"].remove("shared_gain")
    text = methods_md(record)

    assert "64 of 64 clips were resampled to the delivered rate." in text
    assert "level was set" not in text
