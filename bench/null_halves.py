"""How often two halves of the same kind of speaker are told apart: they should be in 5 %, at most 7.

    python bench/null_halves.py                      simulated speakers
    python bench/null_halves.py --table clips.csv    recordings: file_name (relative to the table) and speaker
        --where condition=human                      only these rows; --file-column and --group-column name others

Whole speakers are called a or b at random, 1,000 times, and the halves compared as conditions. Each run writes its
tables into docs/separability.md.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from page import write_table

from prep import audio
from prep.classifiers import cue_classes
from prep.contrast import Contrast
from prep.design import Design, Observations, canonical
from prep.permutation import p_values, smallest_p
from prep.score import Scorer, trained_scorer
from prep.split import FIT, draw_split
from prep.verdict import SIGNIFICANT, unmeasurable
from prep.visit import measure_cues, told_by_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from prep.cue import Cue
    from prep.visit import CueValues

    Floats = NDArray[np.float64]
    Scores = Mapping[str, Floats]

HALVES = 1000  # the simulation error of a rate of 5 % is 0.7
REARRANGED = 400  # label arrangements for what the grid allows
DRAWS = 999  # arrangements for each p; the tool draws 9,999, and 0.05 is on the grid of both
STUDIES = 3
SPEAKERS = 48
CLIPS = (2, 8)  # a speaker
ICC = 0.5
CUES = len([cue for cue in cue_classes().values() if cue.BATTERY and not cue.MODELS])
ALIKE, LIKENESS = 4, 0.7  # so many cues in turn correlate by so much, as loudness, active level and peak do
UNDEFINED = 0.05  # of the values
ROUGH = 1.0  # step of every other cue, in SD of speakers: real cues have ties


@dataclass
class Rates:
    """What was found over all halves."""

    halves: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # by cue, p at or below 0.05
    family: int = 0  # any cue with a familywise p at or below 0.05
    shares: dict[str, list[float]] = field(default_factory=dict)  # by cue and half, that an exact test could reject
    smallest_p: float = 0.0  # that any cue of any half could not go below, the largest such

    def add(self, scores: Scores, observations: Observations, draws: int, seed: int) -> None:
        """Test one pair of halves as `prep.separability.compare` does, without the intervals."""
        contrasts = {}
        for name, raw in scores.items():
            values, defined = canonical(raw, observations)
            contrasts[name] = Contrast(values, Design(defined))
        able = {name: contrast for name, contrast in contrasts.items() if not unmeasurable(contrast.design)}
        units = np.unique(np.asarray(observations.unit)).tolist()
        found = p_values(dict(sorted(able.items())), units, draws, seed)
        self.halves += 1
        self.family += any(p.familywise <= SIGNIFICANT for p in found.values())
        for name in scores:
            self.rejected[name] += name in found and found[name].alone <= SIGNIFICANT
            self.shares.setdefault(name, []).append(attainable(able[name], seed) if name in able else 0.0)
        self.smallest_p = max([self.smallest_p, *(smallest_p(contrast.design, draws) for contrast in able.values())])

    def rate(self, name: str) -> float:
        """Return the share of halves that a cue tells apart."""
        return self.rejected[name] / self.halves

    def attainable(self, name: str) -> float:
        """Return the share of halves that an exact test at 0.05 rejects, given the ties of the values."""
        return float(np.mean(self.shares[name]))


def attainable(contrast: Contrast, seed: int) -> float:
    """Return the share of rearranged labels with a p at or below 0.05: the most that the grid of AUCs allows."""
    rng = np.random.default_rng([seed, 8])
    signs = rng.permuted(np.tile(contrast.design.observed, (REARRANGED, 1)), axis=1)
    aucs = np.round(signs @ contrast.gain, 9)
    ordered = np.sort(aucs)
    at_most = np.searchsorted(ordered, aucs, "right")
    at_least = REARRANGED - np.searchsorted(ordered, aucs, "left")
    return float(np.mean(2 * np.minimum(at_most, at_least) <= SIGNIFICANT * REARRANGED))


def simulated(rng: np.random.Generator, speakers: int = SPEAKERS) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return scores by cue and the speaker of each clip: cues that go together, with ties and undefined values."""
    speaker = np.repeat(np.arange(speakers), rng.integers(CLIPS[0], CLIPS[1] + 1, speakers))
    noise_sd = np.sqrt(1.0 / ICC - 1.0)

    def effects() -> Floats:
        return rng.standard_normal(speakers)[speaker] + noise_sd * rng.standard_normal(speaker.size)

    scores: dict[str, Floats] = {}
    for number in range(CUES):
        if number % ALIKE == 0:
            common = effects()
        values = np.sqrt(LIKENESS) * common + np.sqrt(1.0 - LIKENESS) * effects()
        if number % 2:
            values = np.round(values / ROUGH) * ROUGH
        values[rng.random(speaker.size) < UNDEFINED] = np.nan
        scores[f"cue {number + 1}"] = values
    return scores, tuple(f"s{number:02d}" for number in speaker)


def labels(rng: np.random.Generator, groups: Sequence[str]) -> NDArray[np.bool_]:
    """Return which clips are called b: those of a random half of the groups."""
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    return rng.permutation(np.arange(names.size) < names.size // 2)[group]


def redrawn(
    scores: Scores, speakers: Sequence[str], *, groups: Sequence[str] = (), halves: int = HALVES, draws: int = DRAWS
) -> Rates:
    """Return what is found over halves of whole groups (the speakers, if nothing is said), tested by speaker."""
    rng = np.random.default_rng(1)
    rates = Rates()
    for seed in range(halves):
        observations = Observations(labels(rng, groups or speakers), tuple(speakers))
        rates.add(scores, observations, draws, seed)
    return rates


def redrawn_battery(
    cues: Sequence[Cue], values: Sequence[CueValues], speakers: Sequence[str], halves: int = HALVES
) -> Rates:
    """Return the same as an audit does it: scores learn from a fit half of the speakers, the others are compared."""
    rng = np.random.default_rng(2)
    parts = {cue.NAME: (cue,) for cue in cues} | {"all": tuple(cue for cue in cues if cue.KIND == "nuisance")}
    rates = Rates()
    for seed in range(halves):
        is_b = labels(rng, speakers)
        split = draw_split(zip(speakers, np.where(is_b, "b", "a").tolist(), strict=True), seed=seed).halves
        learns = np.array([split[speaker] == FIT for speaker in speakers])
        observed = Observations(is_b, tuple(speakers))
        fit, judged = np.flatnonzero(learns), np.flatnonzero(~learns)
        learnt = [values[clip] for clip in fit]
        scorers = {name: trained_scorer(part, learnt, observed.take(fit)) for name, part in parts.items()}
        held = [values[clip] for clip in judged]
        scores = {name: scorer.scores(held) for name, scorer in scorers.items()}
        rates.add(scores, observed.take(judged), DRAWS, seed)
    return rates


def measured(options: argparse.Namespace) -> Iterator[tuple[CueValues, str, str]]:
    """Yield the cues, the speaker and the group of each recording of the table that can be read."""
    cues = cues_of_sound()
    column, _, wanted = options.where.partition("=")
    with options.table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, dialect="excel-tab" if options.table.suffix == ".tsv" else "excel"))
    for row in rows:
        if column and row[column] != wanted:
            continue
        path = options.table.parent / row[options.file_column]
        try:
            data = audio.read_bytes(path)
            clip, facts = audio.decode(data, path.name)
        except audio.AudioError as error:
            print(f"left out: {error}")
            continue
        told = told_by_file(cues, facts, len(data))
        group = row[options.group_column] if options.group_column else str(Path(row[options.file_column]).parent)
        yield measure_cues(clip, cues) | told, row["speaker"], group


def cues_of_sound() -> tuple[Cue, ...]:
    """Return every cue that needs no model."""
    return tuple(cue() for cue in cue_classes().values() if cue.BATTERY and not cue.MODELS)


def percent(share: float) -> str:
    """Return a share as per cent."""
    return f"{100 * share:.1f}"


def simulated_rows(halves: int) -> Iterator[list[str]]:
    """Yield the table of simulated speakers."""
    yield [
        "study",
        "speakers",
        "clips",
        "cues",
        "told apart at 0.05, least to most, %",
        "any familywise, %",
        "smallest p",
    ]
    for number in range(STUDIES):
        scores, speakers = simulated(np.random.default_rng([3, number]))
        rates = redrawn(scores, speakers, halves=halves)
        each = [rates.rate(name) for name in scores]
        yield [
            str(number + 1),
            str(SPEAKERS),
            str(len(speakers)),
            str(len(scores)),
            f"{percent(min(each))} to {percent(max(each))}",
            percent(rates.family / rates.halves),
            f"{rates.smallest_p:.3g}",
        ]


def real_rows(options: argparse.Namespace) -> Iterator[list[list[str]]]:
    """Yield the table of recordings, and that of the same recordings tested wrongly."""
    values, speakers, groups = (list(column) for column in zip(*measured(options), strict=True))
    cues = cues_of_sound()
    scores = {cue.NAME: Scorer((cue,)).scores(values) for cue in cues if len(cue.FEATURES) == 1}
    # A cue that every clip has alike tells nothing, and a clip's own limiter reduction is always 0.
    scores = {name: column for name, column in scores.items() if np.unique(column[~np.isnan(column)]).size > 1}
    whole = redrawn(scores, speakers, halves=options.halves)
    battery = redrawn_battery(cues, values, speakers, options.halves)
    size = f"{len(set(speakers))} speakers, {len(values)} clips"
    rows = [["cue", f"all ({size}), %", "attainable, %", "held-out half, scores learnt, %", "attainable, %"]]
    for name in battery.shares:
        alone = [percent(whole.rate(name)), percent(whole.attainable(name))] if name in scores else ["", ""]
        rows.append([f"`{name}`", *alone, percent(battery.rate(name)), percent(battery.attainable(name))])
    family = [percent(rates.family / rates.halves) for rates in (whole, battery)]
    rows.append(["any, familywise", family[0], "", family[1], ""])
    rows.append(["smallest p", f"{whole.smallest_p:.3g}", "", f"{battery.smallest_p:.3g}", ""])
    yield rows
    yield [
        ["the same recordings", "told apart at 0.05, median cue, %", "worst cue, %", "any familywise, %"],
        wrong_row("halves of speakers, unit: speaker", whole),
        wrong_row(
            "halves of speakers, unit: clip",
            redrawn(scores, [f"{number}" for number in range(len(values))], groups=speakers, halves=options.halves),
        ),
        wrong_row(
            f"halves of {len(set(groups))} corpora, unit: speaker",
            redrawn(scores, speakers, groups=groups, halves=options.halves),
        ),
        wrong_row(
            f"halves of {len(set(groups))} corpora, unit: corpus", redrawn(scores, groups, halves=options.halves)
        ),
    ]


def wrong_row(name: str, rates: Rates) -> list[str]:
    """Return the row of one way to test."""
    each = [rates.rate(cue) for cue in rates.shares]
    return [name, percent(float(np.median(each))), percent(max(each)), percent(rates.family / rates.halves)]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, help="CSV or TSV of recordings")
    parser.add_argument("--where", default="", help="column=value of the rows to take")
    parser.add_argument("--file-column", default="file_name")
    parser.add_argument("--group-column", default="", help="the corpus; if not given, the folder of the file")
    parser.add_argument("--halves", type=int, default=HALVES)
    options = parser.parse_args()
    if options.table is None:
        write_table("null-simulated", list(simulated_rows(options.halves)))
    else:
        for mark, rows in zip(("null-real", "null-wrong"), real_rows(options), strict=True):
            write_table(mark, rows)


if __name__ == "__main__":
    main()
