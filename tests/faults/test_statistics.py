"""Faults of statistics: undefined taken for a number, a guessed direction, speakers on both sides, empty folds, ties.

Where a fault is about scores, clips get lengths in the order of the scores, so that the audited cue `duration` ranks
them as the scores do. Features of several numbers become the peak and the crest factor of clips.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from prep.logistic import crossvalidated_scores, fold_aucs

if TYPE_CHECKING:
    from pathlib import Path

Case = Any
Prep = Any
Row = dict[str, str]

FAULTS = ("H40", "H41", "H42", "H43", "H44")
RATE = 8000  # Hz
CHAIN = ({"encode": {"codec": "flac", "rate": RATE}},)
ROUNDED = 5e-5  # the AUCs of the cases are rounded to 4 decimals or more
NOT_BRILLIANT = 0.6  # AUC; features that name the speaker alone must not tell the conditions of other speakers apart

pytestmark = pytest.mark.usefixtures("inline")


def rows_of(path: Path) -> list[Row]:
    """Return the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def study_of_scores(faulty: Case, rows: list[Row], score: str, a: str, b: str, **settings: Any) -> Path:
    """Return a study whose clips are the longer, the higher the score of their row; every clip has other samples."""
    order = sorted({float(row[score]) for row in rows})
    table = []
    for row in rows:
        name = f"{row['clip']}.wav"
        frames = round(RATE * (0.1 + 0.02 * order.index(float(row[score]))))
        noise = 0.1 * np.random.default_rng(abs(hash_of(row["clip"]))).standard_normal(frames)
        soundfile.write(faulty.folder / name, np.clip(noise, -0.9, 0.9), RATE)
        table.append({"file_name": name, **{key: value for key, value in row.items() if key not in ("clip", score)}})
    faulty.table(table)
    compare = {"a": a, "b": b}
    return faulty.study(
        *CHAIN, clips={"table": "clips.csv"}, compare=compare, **{"audit": {"cues": ["duration"]}, **settings}
    )


def hash_of(text: str) -> int:
    """Return a seed for a name."""
    return int.from_bytes(text.encode(), "big")


def study_of_features(faulty: Case, rows: list[Row], names: tuple[str, str], **settings: Any) -> Path:
    """Return a study whose clips have two features of their rows as true peak (dBTP) and crest factor (dB)."""
    table = []
    hum = np.sin(2 * np.pi * 100 * np.arange(RATE // 10) / RATE)
    for row in rows:
        peak_db, crest_db = -12 + float(row[names[0]]), 16 + 0.5 * float(row[names[1]])
        peak, power = 10 ** (peak_db / 20), 10 ** ((peak_db - crest_db) / 10)
        samples = hum * np.sqrt(2 * (power - peak**2 / len(hum)))
        samples[len(hum) // 2] = peak
        soundfile.write(faulty.folder / f"{row['clip']}.wav", samples, RATE, subtype="FLOAT")
        table.append({"file_name": f"{row['clip']}.wav", "speaker": row["speaker"], "condition": row["condition"]})
    faulty.table(table)
    settings = {"compare": {"a": "human", "b": "synthetic"}, "audit": {"cues": ["peak"]}, **settings}
    return faulty.study(*CHAIN, clips={"table": "clips.csv"}, **settings)


def test_h40_a_fold_of_one_condition_has_no_auc(case: Case) -> None:
    """H40: a fold with humans only is undefined and left out of the mean, which says that it covers 2 of 3 folds.

    The command line never makes such a fold, so the function is asked.
    """
    faulty = case("H40")
    rows = rows_of(faulty.folder / "scores.csv")
    judged = fold_aucs(
        [float(row["score"]) for row in rows],
        [row["condition"] == "synthetic" for row in rows],
        [int(row["fold"]) for row in rows],
    )

    assert judged.aucs[2] is None
    expected = faulty.values["auc_by_fold"]
    assert judged.aucs[:2] == pytest.approx((expected["1"], expected["2"]), abs=ROUNDED)
    assert judged.mean == pytest.approx(faulty.values["mean_of_defined"], abs=ROUNDED)
    assert judged.coverage.startswith("2 of 3 folds")


def test_h40_a_half_of_one_condition_is_not_measurable(case: Case, prep: Prep) -> None:
    """H40: where the held-out half has humans only, the AUC is null with the reason, and never 0.0 or 0.5."""
    faulty = case("H40")
    rows = rows_of(faulty.folder / "scores.csv")
    for row in rows:
        row["half"] = "held-out" if row.pop("fold") == "3" else "fit"
        row["speaker"] = f"{row['condition']}-{row['half']}"
    heldout = {"by": "speaker", "column": "half"}
    ran = prep("audit", study_of_scores(faulty, rows, "score", "human", "synthetic", heldout=heldout), "--json")
    judged = ran.json["audit"]["after"]["duration"]

    assert ran.json["split"]["clips"]["synthetic"]["held-out"] == 0
    assert judged["auc"] is judged["separation"] is judged["auc_tested"] is judged["p"] is None
    assert judged["verdict"] == "not measurable"
    assert "no clip of synthetic has a value" in judged["verdict_text"]
    assert ran.json["audit"]["sources"]["duration"]["auc"] is not None
    assert "the held-out half has no clip of synthetic" in ran.stderr


def test_h41_the_direction_is_declared(case: Case, prep: Prep) -> None:
    """H41: the AUC is that of b above a, named so; other label names and row orders leave it, and swapping turns it."""
    faulty = case("H41")
    expected = {
        ("scores.csv", "human", "synthetic"): faulty.values["auc_positive_synthetic"],
        ("scores_renamed.csv", "z_real", "a_tts"): faulty.values["auc_positive_synthetic"],
        ("scores.csv", "synthetic", "human"): faulty.values["auc_positive_human_same_score"],
    }
    for (table, a, b), value in expected.items():
        config = study_of_scores(faulty, rows_of(faulty.folder / table), "score", a, b)
        audit = prep("audit", config, "--json").json["audit"]
        for column in ("sources", "delivered"):
            assert audit[column]["duration"]["auc"] == pytest.approx(value, abs=ROUNDED)
        assert (audit["positive"], audit["a"], audit["b"]) == (b, a, b)
        assert f"AUC of each cue, {b} above {a}" in prep("audit", config).stdout


def test_h42_what_names_the_speaker_settles_nothing(case: Case, prep: Prep) -> None:
    """H42: speakers stay whole in the split, which is named; features that name them settle nothing."""
    faulty = case("H42")
    rows = rows_of(faulty.folder / "features.csv")
    ran = prep("audit", study_of_features(faulty, rows, ("f0", "f1")), "--json")
    audit, split = ran.json["audit"], ran.json["split"]

    assert (split["by"], audit["unit"]) == ("speaker", "speaker")
    assert set(split["halves"]) == {row["speaker"] for row in rows}
    assert sum(split["clips"]["human"].values()) == sum(split["clips"]["synthetic"].values()) == 40
    for column in ("before", "after"):
        judged = audit[column]["peak"]
        assert {judged["units_a"], judged["units_b"]} <= {2, 3}
        assert judged["verdict"] == "not settled"
        assert judged["p"] is None
        assert judged["smallest_p"] >= 0.1
    assert "verdict" not in audit["sources"]["peak"]


def test_h42_folds_keep_speakers_whole(case: Case) -> None:
    """H42: retrained and judged by folds, such features tell no conditions apart, and no speaker is in two folds."""
    faulty = case("H42")
    rows = rows_of(faulty.folder / "features.csv")
    features = [[float(row[f"f{number}"]) for number in range(6)] for row in rows]
    is_b = [row["condition"] == "synthetic" for row in rows]
    speakers = [row["speaker"] for row in rows]

    assert faulty.values["auc_5nn_leave_one_clip_out"] == 1.0
    for seed in range(5):
        judged = crossvalidated_scores(features, is_b, speakers, seed=seed)
        folds = defaultdict(set)
        for speaker, fold in zip(speakers, judged.fold.tolist(), strict=True):
            folds[speaker].add(fold)
        assert all(len(found) == 1 for found in folds.values())
        assert judged.folds.mean is not None
        assert judged.folds.mean < NOT_BRILLIANT


def test_h42_without_speakers_nothing_is_called_held_out(case: Case, prep: Prep) -> None:
    """H42: a table without speakers has no held-out column at all, and the audit says that nothing is tested."""
    faulty = case("H42")
    config = study_of_features(faulty, rows_of(faulty.folder / "features.csv"), ("f0", "f1"))
    table = faulty.folder / "clips.csv"
    table.write_text(table.read_text().replace("speaker", "voice", 1), encoding="utf-8")
    ran, shown = prep("audit", config, "--json"), prep("audit", config).stdout

    assert ran.json["split"] is None
    assert ran.json["audit"]["before"] is ran.json["audit"]["after"] is None
    assert "nothing is tested: no clip is held out" in shown


def test_h43_folds_are_never_empty_nor_one_sided(case: Case, prep: Prep) -> None:
    """H43: of 3 human and 2 synthetic speakers 2 folds are made instead of 5, said so, each with both conditions."""
    faulty = case("H43")
    rows = rows_of(faulty.folder / "features.csv")
    is_b = np.array([row["condition"] == "synthetic" for row in rows])
    speakers = [row["speaker"] for row in rows]
    tilts = [[float(row["tilt"])] for row in rows]
    judged = crossvalidated_scores(tilts, is_b, speakers, folds=faulty.values["folds_asked"])

    assert set(judged.fold.tolist()) == set(range(faulty.values["largest_valid_folds"]))
    for fold in range(faulty.values["largest_valid_folds"]):
        inside = judged.fold == fold
        assert 0 < is_b[inside].sum() < inside.sum()
    assert len(set(zip(speakers, judged.fold.tolist(), strict=True))) == len(set(speakers))
    assert judged.warnings[0].startswith("2 folds instead of 5")

    for row in rows:
        row["clip"], row["half"], row["level"] = row["clip"], "held-out", row["tilt"]
    config = study_of_features(faulty, rows, ("tilt", "level"))
    table = faulty.folder / "clips.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([f"{lines[0]},half", *(f"{line},held-out" for line in lines[1:])]), encoding="utf-8")
    config.write_text(config.read_text() + "heldout: {column: half}\n", encoding="utf-8")
    retrained = prep("audit", config, "--json").json["audit"]["after_retrained"]["peak"]
    assert retrained["coverage"] == "2 of 2 folds"
    assert retrained["warnings"][0].startswith("2 folds instead of 5")


def test_h43_a_half_that_can_hold_no_folds_is_not_measurable(case: Case, prep: Prep) -> None:
    """H43: with fewer than two speakers of a condition in the held-out half, nothing is retrained and null is said."""
    faulty = case("H43")
    rows = rows_of(faulty.folder / "features.csv")
    for row in rows:
        row["level"] = row["tilt"]
    ran = prep("audit", study_of_features(faulty, rows, ("tilt", "level")), "--json")
    retrained = ran.json["audit"]["after_retrained"]["peak"]

    assert retrained["auc"] is None
    assert retrained["coverage"] == "no folds"
    assert "not measurable" in retrained["warnings"][0]
    assert ran.json["audit"]["after"]["peak"]["verdict"] == "not settled"


@pytest.mark.parametrize("table", ["ties.csv", "ties_reversed.csv"])
def test_h44_ties_count_one_half(case: Case, prep: Prep, table: str) -> None:
    """H44: equal scores give 0.5 exactly, tied ones the Mann-Whitney value, whatever the order of the rows."""
    faulty = case("H44")
    rows = rows_of(faulty.folder / table)
    for score in ("constant", "coarse"):
        kept = [{"clip": row["clip"], "condition": row["condition"], score: row[score]} for row in rows]
        audit = prep("audit", study_of_scores(faulty, kept, score, "human", "synthetic"), "--json").json["audit"]
        if score == "constant":
            assert audit["sources"]["duration"]["auc"] == faulty.values["auc_constant"] == 0.5
        else:
            assert audit["sources"]["duration"]["auc"] == pytest.approx(faulty.values["auc_coarse"], abs=1e-6)
