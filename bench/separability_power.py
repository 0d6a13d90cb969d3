"""Simulated studies of known truth: how often `prep.separability` is right.

Run `python bench/separability_power.py` (an hour), or with the names of parts: null, family, power, interval, clips.
Rates are given in per cent; with 1000 studies their simulation error is about 0.7 at 5 %. The part `clips`
writes the table of docs/separability.md, over 500 studies: 1.0 at 5 %, 1.3 at 90 % and 2.2 at 50 %.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from page import write_table

from prep.design import Observations
from prep.separability import compare
from prep.verdict import TOLD_APART

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from prep.separability import Separation

    Study = tuple[dict[str, NDArray[np.float64]], Observations]
    Make = Callable[[np.random.Generator], Study]

STUDIES = 1000
MANY_CUE_STUDIES = 400  # studies of 20 cues
DRAWS = 499  # enough for a rate at 0.05; the tool draws 9,999
CLIPS_ICC = 0.5
CLIPS_STUDIES = 500
# Of a cue whose tested AUC is known: none, on the margin of the equivalence claim, and plain.
TRUTHS = (0.5, 0.65, 0.8)
# Clips of a whole study, with the speakers a side (nested) or of both sides (paired).
SIZES = ((20, (5, 10)), (40, (5, 10)), (100, (5, 10, 25)), (200, (5, 10, 20, 50)))


def _observations(is_b: NDArray[np.bool_], unit: NDArray[np.int_], **columns: tuple[str, ...]) -> Observations:
    return Observations(is_b, tuple(f"s{number:03d}" for number in unit), **columns)


def _scores(rng: np.random.Generator, unit: NDArray[np.int_], icc: float, cues: int = 1) -> list[NDArray[np.float64]]:
    """Return scores whose units have variance 1 and whose clips inside a unit correlate by `icc`."""
    noise = np.sqrt(1.0 / icc - 1.0)
    return [rng.standard_normal(unit.max() + 1)[unit] + noise * rng.standard_normal(unit.size) for _ in range(cues)]


def nested(
    rng: np.random.Generator, units: tuple[int, int], clips: tuple[int, int], icc: float, cues: int = 1
) -> Study:
    """Speakers of one condition each; `clips` is the range of clips a speaker."""
    counts = rng.integers(clips[0], clips[1] + 1, sum(units))
    unit = np.repeat(np.arange(sum(units)), counts)
    scores = _scores(rng, unit, icc, cues)
    return {f"cue{i}": values for i, values in enumerate(scores)}, _observations(unit >= units[0], unit)


def lopsided(rng: np.random.Generator, units: tuple[int, int], clips: tuple[int, int], icc: float) -> Study:
    """Speakers of one condition each; `clips` are the clips a speaker of each side."""
    unit = np.repeat(np.arange(sum(units)), [clips[0]] * units[0] + [clips[1]] * units[1])
    return {"cue": _scores(rng, unit, icc)[0]}, _observations(unit >= units[0], unit)


def paired(
    rng: np.random.Generator,
    units: int,
    cells: int,
    sides: tuple[int, int],
    *,
    icc: float = 0.6,
    extra: tuple[int, int] = (0, 0),
) -> Study:
    """Speakers of both conditions, `sides` clips a cell, each speaker-condition with an effect of its own.

    `extra` speakers of one condition each make the design mixed.
    """
    rows = [
        (speaker, cell, side)
        for speaker in range(units)
        for cell in range(cells)
        for side in (0, 1)
        for _ in range(sides[side])
    ]
    rows += [
        (units + number, cell, int(number >= extra[0]))
        for number in range(sum(extra))
        for cell in range(cells)
        for _ in range(rng.integers(1, 4))
    ]
    unit, cell, is_b = (np.array(column) for column in zip(*rows, strict=True))
    session = _scores(rng, 2 * unit + is_b, icc)[0]
    text = rng.standard_normal(cells)[cell]
    values = rng.standard_normal(unit.max() + 1)[unit] + text + session
    names = tuple(f"p{number}" for number in cell)
    return {"cue": values}, _observations(is_b == 1, unit, cell=names, passage=names)


def reading(rng: np.random.Generator, readers: str) -> Study:
    """Speakers of one condition each who share texts: `all` read all, `pairs` read alike, `voices` read everything."""
    if readers == "all":
        rows = [(speaker, text) for speaker in range(10) for text in range(6)]
    elif readers == "pairs":
        rows = [(speaker, 3 * (speaker % 7) + text) for speaker in range(14) for text in range(3)]
    else:
        rows = [(speaker, 4 * speaker + text) for speaker in range(5) for text in range(4)]
        rows += [(speaker, text) for speaker in range(5, 9) for text in range(20)]
    unit, text = (np.array(column) for column in zip(*rows, strict=True))
    sides = {"all": 5, "pairs": 7, "voices": 5}[readers]
    values = _scores(rng, unit, 0.7)[0] + 2.0 * rng.standard_normal(text.max() + 1)[text]
    return {"cue": values}, _observations(unit >= sides, unit, passage=tuple(f"p{number}" for number in text))


def _rate(make: Make, studies: int = STUDIES) -> tuple[float, float]:
    """Return the per cent of studies with p at or below 0.05, and the smallest p they allow."""
    rng = np.random.default_rng(1)
    found = [next(iter(compare(*make(rng), draws=DRAWS, seed=i).values())) for i in range(studies)]
    return 100.0 * float(np.mean([result.verdict == TOLD_APART for result in found])), found[0].smallest_p or 1.0


def _null_cases() -> Iterator[tuple[str, Make]]:
    """Yield studies without a difference, by name."""
    balanced = [(n, n) for n in (2, 3, 4, 5, 6, 10, 20, 40)]
    for sides, clips, icc in product([*balanced, (3, 6), (4, 12), (2, 20)], ((4, 4), (1, 12)), (0.5, 0.9)):
        yield f"nested {sides}, {clips} clips, ICC {icc}", partial(nested, units=sides, clips=clips, icc=icc)
    unlike = (((5, 5), (20, 2)), ((3, 10), (20, 1)), ((4, 8), (1, 20)), ((8, 4), (1, 20)), ((6, 6), (8, 1)))
    for (sides, clips), icc in product(unlike, (0.5, 0.9)):
        yield f"lopsided {sides}, {clips} clips, ICC {icc}", partial(lopsided, units=sides, clips=clips, icc=icc)
    for units, sides, cells in product((2, 5, 6, 8, 12, 20, 40), ((1, 1), (1, 3)), (1, 5)):
        yield f"paired {units}, {cells} cells of {sides}", partial(paired, units=units, cells=cells, sides=sides)
    for units, extra in (
        (2, (2, 2)),
        (3, (3, 3)),
        (5, (2, 8)),
        (10, (5, 5)),
        (20, (10, 10)),
        (1, (6, 6)),
        (10, (3, 0)),
    ):
        yield f"mixed {units} + {extra}", partial(paired, units=units, cells=4, sides=(1, 1), extra=extra)
    for readers in ("all", "pairs", "voices"):
        yield f"shared texts: {readers}", partial(reading, readers=readers)


def null() -> Iterator[str]:
    """Rejections of a true null at p <= 0.05."""
    yield "null: per cent rejected at p <= 0.05 (at most 7), and the smallest p"
    for name, make in _null_cases():
        rejected, smallest = _rate(make)
        yield f"  {name:45} {rejected:5.1f}   {smallest:.3g}"


def family() -> Iterator[str]:
    """Familywise rejections of a true null over 20 cues."""
    yield "family: per cent of null studies with any of 20 cues at p_familywise <= 0.05 (at most 7)"
    for units, clips, icc in (
        ((4, 4), 4, 0.6),
        ((5, 5), 1, 0.6),
        ((5, 5), 8, 0.6),
        ((4, 9), 4, 0.9),
        ((10, 10), 4, 0.6),
    ):
        for missing in (0.0, 0.1):
            rng = np.random.default_rng(2)
            rejected = []
            for seed in range(MANY_CUE_STUDIES):
                scores, observations = nested(rng, units, (clips, clips), icc, cues=20)
                for values in scores.values():
                    values[rng.random(values.size) < missing] = np.nan
                found = compare(scores, observations, draws=DRAWS, seed=seed)
                rejected.append(any((r.p_familywise or 1.0) <= 0.05 for r in found.values()))
            rate = 100 * np.mean(rejected)
            yield f"  nested {units}, {clips} clips, ICC {icc}, {missing:.0%} undefined   {rate:5.1f}"


def power() -> Iterator[str]:
    """A planted cue among 20, 5 + 5 speakers, 2.5 between-speaker SD."""
    yield "power: per cent of studies of 5 + 5 speakers that find 2.5 speaker SD in one of 20 cues (45 wanted)"
    for clips in (1, 4, 8):
        for low, high in ((0.5, 0.5), (0.8, 0.8), (0.999, 0.999), (0.3, 0.99)):
            rng = np.random.default_rng(3)
            found, holm = 0, 0
            for seed in range(MANY_CUE_STUDIES):
                scores, observations = nested(rng, (5, 5), (clips, clips), 1.0, cues=20)
                for name, of_speaker in scores.items():
                    noise = np.sqrt(1.0 / rng.uniform(low, high) - 1.0)
                    scores[name] = of_speaker + noise * rng.standard_normal(of_speaker.size)
                scores["cue0"] = scores["cue0"] + 2.5 * observations.is_b
                result = compare(scores, observations, draws=DRAWS, seed=seed)["cue0"]
                found += (result.p_familywise or 1.0) <= 0.05
                holm += 20 * (result.p or 1.0) <= 0.05
            rates = f"{100 * found / MANY_CUE_STUDIES:5.1f}   (Holm {100 * holm / MANY_CUE_STUDIES:.1f})"
            yield f"  {clips} clips, ICC {low}-{high}   {rates}"


def interval() -> Iterator[str]:
    """Coverage of the 90 % interval and the equivalence claim."""
    yield "interval: per cent of 90 % intervals that hold the true AUC; per cent of studies that claim ±0.15"
    rng = np.random.default_rng(4)
    for units in (5, 8, 12, 20, 45):
        for truth in (0.5, 0.65, 0.8):
            for clips, icc in ((1, 1.0), (4, 0.6)):
                total = np.sqrt(1.0 / icc)
                shift = np.sqrt(2.0) * total * NormalDist().inv_cdf(truth)
                held, claimed = 0, 0
                for seed in range(STUDIES // 2):
                    scores, observations = nested(rng, (units, units), (clips, clips), icc)
                    result = compare(
                        {"cue": scores["cue0"] + shift * observations.is_b}, observations, draws=199, seed=seed
                    )["cue"]
                    held += (result.auc_low or 0.0) <= truth <= (result.auc_high or 0.0)
                    claimed += result.verdict.startswith("cannot")
                rates = f"{200 * held / STUDIES:5.1f}   {200 * claimed / STUDIES:5.1f}   planned {result.units_needed}"
                yield f"  {units} a side, AUC {truth}, {clips} clips, ICC {icc}   {rates}"


@dataclass
class Tally:
    """Counts over studies of one design, size and true AUC."""

    truth: float
    pooled_truth: float
    told: int = 0
    claimed: int = 0
    given: int = 0  # studies with an interval
    held: int = 0  # of those, the tested AUC inside
    held_pooled: int = 0

    def add(self, result: Separation) -> None:
        """Count one study."""
        self.told += result.verdict == TOLD_APART
        self.claimed += result.verdict.startswith("cannot")
        if result.auc_tested_low is None or result.auc_tested_high is None:
            return
        if result.auc_low is None or result.auc_high is None:
            return
        self.given += 1
        self.held += result.auc_tested_low <= self.truth <= result.auc_tested_high
        self.held_pooled += result.auc_low <= self.pooled_truth <= result.auc_high


def tallies_of(design: str, speakers: int, clips_each: int, studies: int) -> list[Tally]:
    """Return the tally of each true AUC: so many speakers (a side, or of both), so many clips each (a side).

    What two clips under comparison do not share has variance 2 in either design: a speaker (nested) or a
    speaker's session (paired) and a clip, each 1; so clips of one of them correlate by 0.5. The true AUCs of one
    study are three cues of it, moved by more and more.
    """
    tallies = {f"AUC {truth}": Tally(truth, pooled_truth(design, truth)) for truth in TRUTHS}
    for seed in range(studies):
        rng = np.random.default_rng([5, seed])
        if design == "nested":
            scores, observations = nested(rng, (speakers, speakers), (clips_each, clips_each), CLIPS_ICC)
        else:
            scores, observations = paired(rng, speakers, clips_each, (1, 1), icc=CLIPS_ICC)
        (values,) = scores.values()
        moved = {
            name: values + 2.0 * NormalDist().inv_cdf(tally.truth) * observations.is_b
            for name, tally in tallies.items()
        }
        for name, result in compare(moved, observations, draws=DRAWS, seed=seed).items():
            tallies[name].add(result)
    return list(tallies.values())


def pooled_truth(design: str, truth: float) -> float:
    """Return the AUC over clips of any two speakers: paired, they differ by speaker and text as well."""
    return NormalDist().cdf((1.0 if design == "nested" else 0.5**0.5) * NormalDist().inv_cdf(truth))


def clips() -> Iterator[list[str]]:
    """Coverage and power by the number of clips."""
    head = ["clips", "design", "speakers", "told apart, AUC 0.5", "0.65", "0.8"]
    head += ["interval holds, 0.5", "0.65", "0.8", "pooled one, 0.5", "0.65", "0.8"]
    yield [*head, "claims ±0.15, 0.5", "0.65"]
    for number, sides in SIZES:
        for design, speakers in product(("nested", "paired"), sides):
            tallies = tallies_of(design, speakers, number // speakers // 2, CLIPS_STUDIES)
            row = [str(number), design, f"{speakers} a side" if design == "nested" else f"{speakers} of both"]
            row += [_percent(tally.told, CLIPS_STUDIES) for tally in tallies]
            row += [_percent(tally.held, tally.given) for tally in tallies]
            row += [_percent(tally.held_pooled, tally.given) for tally in tallies]
            row += [_percent(tally.claimed, CLIPS_STUDIES) for tally in tallies[:2]]
            print(row, file=sys.stderr)
            yield row


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f}" if of else "none"


def main(parts: list[str]) -> None:
    """Print the parts asked for, or all."""
    every = {"null": null, "family": family, "power": power, "interval": interval}
    for part in parts or [*every, "clips"]:
        if part == "clips":
            write_table("power", list(clips()))
            continue
        for line in every[part]():
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
