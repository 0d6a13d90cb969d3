"""Permutation: how often exchanged labels would tell the conditions apart as well as the real ones do.

Sources: Pitman 1937 (permutation); Westfall & Young 1993 (maxT).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from prep.contrast import Contrast
    from prep.design import Block, Design

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

TIE = 1e-9  # two statistics closer than this are the same number up to rounding
CHUNK_ROWS = 2000  # arrangements held in memory at a time


class PValues(NamedTuple):
    """The p of one cue: by itself, and over all cues compared together."""

    alone: float
    familywise: float


def smallest_p(design: Design, draws: int) -> float:
    """Return the smallest p that can be reached: each tail holds at least the observed arrangement."""
    count = design.arrangements
    return min(1.0, 2.0 / (count if count <= draws else 1 + draws))


def p_values(contrasts: Mapping[str, Contrast], units: Sequence[str], draws: int, seed: int) -> dict[str, PValues]:
    """Return the two-sided p of each cue; the cues are permuted together.

    Args:
        contrasts: by cue.
        units: names of the units of all cues, in alphabetical order. They share one stream of random numbers, so
            that designs that differ in a few undefined clips are still permuted together.
        draws: random arrangements where there are too many to visit all.
        seed: of the arrangements.
    """
    groups: dict[object, dict[str, Contrast]] = {}
    for name, contrast in contrasts.items():
        groups.setdefault(contrast.design.signature, {})[name] = contrast
    alone: dict[str, float] = {}
    for group in groups.values():
        design = next(iter(group.values())).design
        gains = np.stack([contrast.gain for contrast in group.values()], axis=1)
        tested = np.concatenate([signs @ gains for signs in arrangements(design, units, draws, seed)])
        alone |= zip(group, _two_sided(tested, design.observed @ gains).tolist(), strict=True)
    if len(contrasts) < 2:
        return {name: PValues(p, p) for name, p in alone.items()}
    # Where undefined clips make the designs differ, only drawn arrangements are common to all cues.
    arranged = arrangements if len(groups) == 1 else _drawn_arrangements
    effects: dict[str, Floats] = {}
    for group in groups.values():
        design = next(iter(group.values())).design
        effects |= _effects(group, arranged(design, units, draws, seed))
    observed = np.array([contrast.effect(contrast.design.observed[None, :])[0] for contrast in contrasts.values()])
    together = _familywise(np.stack([effects[name] for name in contrasts], axis=1), observed)
    return {name: PValues(alone[name], max(alone[name], float(p))) for name, p in zip(contrasts, together, strict=True)}


def _effects(group: Mapping[str, Contrast], arranged: Iterable[Floats]) -> dict[str, Floats]:
    """Return by cue (arrangements,) Cohen's d."""
    chunks = [[contrast.effect(signs) for contrast in group.values()] for signs in arranged]
    return {name: np.concatenate(effects) for name, effects in zip(group, zip(*chunks, strict=True), strict=True)}


def _two_sided(statistics: Floats, observed: Floats) -> Floats:
    """Return p of each column: twice the smaller tail, the observed arrangement counted among them."""
    above = (statistics >= observed - TIE).mean(axis=0)
    below = (statistics <= observed + TIE).mean(axis=0)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(above, below)), dtype=np.float64)


def _familywise(effects: Floats, observed: Floats) -> Floats:
    """Return the familywise p of each cue from the largest statistic over cues of each arrangement (maxT).

    With few units the AUC is useless here: 5 + 5 speakers separate fully by chance in one of 126 arrangements,
    so among 20 cues one does in 15 % of all, and nothing could ever reach 0.05. Cohen's d knows how far apart
    the sides are. The statistic is abs(d) / sqrt(rms of d over the arrangements). It lies halfway between d
    itself, under which cues that hardly vary inside units would drown the others, and d in units of its own null
    distribution, which a real effect inflates. It is a function of the arrangements alone, so the test stays exact.

    Args:
        effects: (arrangements, cues) Cohen's d.
        observed: (cues,) Cohen's d as observed.
    """
    rms = np.sqrt((effects**2).mean(axis=0))
    scale = np.sqrt(np.where(rms > 0.0, rms, 1.0))
    largest = np.abs(effects / scale).max(axis=1)
    reached = np.abs(observed / scale) * (1.0 - TIE)
    return np.asarray((largest[:, None] >= reached[None, :]).mean(axis=0), dtype=np.float64)


# --------------------------------------------------------------------------- arrangements


def arrangements(design: Design, units: Sequence[str], draws: int, seed: int) -> Iterator[Floats]:
    """Yield the arrangements in chunks (rows, units of the design), the observed one among them.

    A sign is +1 where a nested unit is called b and where a crossed unit keeps its labels. All
    arrangements where there are at most `draws`; else the observed one and `draws` random ones.
    """
    if design.arrangements <= draws:
        yield _every_arrangement(design)
    else:
        yield from _drawn_arrangements(design, units, draws, seed)


def _drawn_arrangements(design: Design, units: Sequence[str], draws: int, seed: int) -> Iterator[Floats]:
    """Yield the observed arrangement, then `draws` random ones in chunks."""
    yield design.observed[None, :]
    rng = np.random.default_rng([seed, 0])
    columns = np.searchsorted(np.asarray(units, dtype=str), np.asarray(design.units, dtype=str))
    for start in range(0, draws, CHUNK_ROWS):
        key = rng.random((min(CHUNK_ROWS, draws - start), len(units)))[:, columns]
        signs = np.ones(key.shape) * design.observed
        signs[:, design.crossed] = np.where(key[:, design.crossed] < 0.5, -1.0, 1.0)
        for block in design.blocks:
            few, sign = _first_side(design, block)
            chosen = np.argpartition(key[:, block.units], few - 1, axis=1)[:, :few]
            inside = np.full((key.shape[0], block.units.size), -sign)
            np.put_along_axis(inside, chosen, sign, axis=1)
            signs[:, block.units] = inside
        yield signs


def _every_arrangement(design: Design) -> Floats:
    choices: list[list[tuple[Ints, Floats]]] = [
        [(np.array([unit]), np.array([sign])) for sign in (1.0, -1.0)] for unit in design.crossed.tolist()
    ]
    for block in design.blocks:
        few, sign = _first_side(design, block)
        arranged = []
        for chosen in itertools.combinations(range(block.units.size), few):
            inside = np.full(block.units.size, -sign)
            inside[list(chosen)] = sign
            arranged.append((block.units, inside))
        choices.append(arranged)
    signs = np.tile(design.observed, (design.arrangements, 1))
    for row, choice in zip(signs, itertools.product(*choices), strict=True):
        for units, inside in choice:
            row[units] = inside
    return signs


def _first_side(design: Design, block: Block) -> tuple[int, float]:
    """Return size and sign of the side that is drawn first: a choice blind to which side is called b."""
    first = float(design.observed[block.units[0]])
    sign = first if block.n_a == block.n_b else (1.0 if block.n_b < block.n_a else -1.0)
    return (block.n_b if sign > 0 else block.n_a), sign
