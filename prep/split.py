"""Split: which speakers a correction may learn from, and on which it is judged.

Whole groups (speakers, or passages where no speaker is known) go to one half, so that nothing about a
held-out speaker is known to the fit. The split is drawn from the table alone, before any sound is heard.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from prep.errors import ConfigError, Problem
from prep.prose import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Half = Literal["fit", "held-out"]
FIT: Half = "fit"
HELD_OUT: Half = "held-out"

CANDIDATES = 500  # random splits of which the best balanced is kept: near the optimum, yet different for each seed


class Split(BaseModel):
    """Which half each group belongs to.

    Attributes:
        halves: "fit" or "held-out" by group.
        clips: number of clips by condition and half.
        groups: number of groups by condition and half; a group of two conditions counts in both.
        seed: of the drawing; None where a column of the table decided.
        warnings: what a reader must know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    halves: dict[str, Half]
    clips: dict[str, dict[Half, int]]
    groups: dict[str, dict[Half, int]]
    seed: int | None = None
    warnings: tuple[str, ...] = Field(default=())

    def of(self, half: Half) -> list[str]:
        """Return the groups of one half, in order of name."""
        return sorted(group for group, place in self.halves.items() if place == half)


def draw_split(
    clips: Iterable[tuple[str, str]], *, share: float = 0.5, seed: int = 0, group_name: str = "speaker"
) -> Split:
    """Draw a split by whole groups that balances the conditions.

    Groups with the same conditions form a stratum, of which `share` goes to the fit; where that is no whole
    number of groups, chance decides which way it is rounded. Of many such draws the one is kept that leaves the fewest
    conditions out of a half, then balances groups best, then clips. Depends on the clips and the seed, not
    on the order of the clips.

    Args:
        clips: (group, condition) of each clip.
        share: of the groups that the fit may learn from, between 0 and 1.
        seed: of the drawing.
        group_name: what a group is called in sentences.

    Raises:
        ConfigError: the share is not between 0 and 1, or a clip has no group.
    """
    counted = Counter(clips)
    problems = []
    if not 0.0 < share < 1.0:
        problems.append(Problem("heldout.share", f"{share:g} leaves a half empty", "give a number between 0 and 1"))
    if any(group == "" for group, _ in counted):
        number = sum(count for (group, _), count in counted.items() if group == "")
        problems.append(
            Problem("heldout.by", f"{number} clips have no {group_name}", "fill the column, or split by another")
        )
    if problems:
        raise ConfigError(problems)
    groups = sorted({group for group, _ in counted})
    conditions = sorted({condition for _, condition in counted})
    sizes = np.array([[counted[group, condition] for condition in conditions] for group in groups], dtype=np.float64)
    sizes = sizes.reshape(len(groups), len(conditions))
    in_fit = _best_balanced(_candidates(sizes > 0, share, np.random.default_rng(seed)), sizes, share)
    halves = {group: FIT if fit else HELD_OUT for group, fit in zip(groups, in_fit.tolist(), strict=True)}
    return _split(halves, counted, seed, group_name)


def _candidates(present: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return (candidates, groups) random choices of the groups of the fit."""
    chosen = np.zeros((CANDIDATES, present.shape[0]), dtype=bool)
    for kind in np.unique(present, axis=0):
        members = np.flatnonzero((present == kind).all(axis=1))
        wanted = np.floor(share * members.size + rng.random(CANDIDATES))
        place = rng.random((CANDIDATES, members.size)).argsort(axis=1).argsort(axis=1)
        chosen[:, members] = place < wanted[:, None]
    return chosen


def _best_balanced(candidates: np.ndarray, sizes: np.ndarray, share: float) -> np.ndarray:
    """Return the candidate that misses the fewest conditions, then balances groups best, then clips."""
    present = (sizes > 0).astype(np.float64)
    groups = candidates @ present
    missing = ((groups == 0) | (groups == present.sum(axis=0))).sum(axis=1)
    of_groups = np.abs(groups - share * present.sum(axis=0)).sum(axis=1)
    of_clips = np.abs(candidates @ sizes / np.maximum(sizes.sum(axis=0), 1.0) - share).sum(axis=1)
    best = np.lexsort((of_clips.round(9), of_groups.round(9), missing))
    return np.asarray(candidates[best[0]], dtype=bool)


def read_split(rows: Sequence[tuple[str, str, str, str]], *, column: str, group_name: str = "speaker") -> Split:
    """Return the split that a column of the table declares.

    Args:
        rows: (where, group, condition, value) of each clip; `where` names the row in messages.
        column: the column's name, for messages.
        group_name: what a group is called in sentences.

    Raises:
        ConfigError: a value is not exactly "fit" or "held-out", or a group is in both halves; each row is listed.
    """
    halves: dict[str, Half] = {}
    first: dict[str, str] = {}
    problems = []
    for where, group, _, value in rows:
        half = _half(value)
        if half is None:
            problems.append(Problem(where, f"{column} is '{value}'", f"write '{FIT}' or '{HELD_OUT}'"))
            continue
        first.setdefault(group, where)
        if halves.setdefault(group, half) != half:
            what = f"{group_name} '{group}' is in {half} here and in {halves[group]} at {first[group]}"
            problems.append(Problem(where, what, f"keep each {group_name} in one half"))
    if problems:
        raise ConfigError(problems)
    return _split(halves, Counter((group, condition) for _, group, condition, _ in rows), None, group_name)


def _half(value: str) -> Half | None:
    return FIT if value == FIT else HELD_OUT if value == HELD_OUT else None


def _split(halves: dict[str, Half], counted: Mapping[tuple[str, str], int], seed: int | None, one: str) -> Split:
    """Return the split with its counts and warnings."""
    conditions = sorted({condition for _, condition in counted})
    clips: dict[str, dict[Half, int]] = {condition: {FIT: 0, HELD_OUT: 0} for condition in conditions}
    groups: dict[str, dict[Half, int]] = {condition: {FIT: 0, HELD_OUT: 0} for condition in conditions}
    for (group, condition), count in counted.items():
        clips[condition][halves[group]] += count
        groups[condition][halves[group]] += 1
    warnings = []
    for condition, half in itertools.product(conditions, (FIT, HELD_OUT)):
        if not groups[condition][half]:
            number = sum(groups[condition].values())
            of = f"its only {one}" if number == 1 else f"all its {number} {plural(one)}"
            other = HELD_OUT if half == FIT else FIT
            warnings.append(f"the {half} half has no clip of {condition}: {of} went to the {other} half")
    return Split(halves=dict(sorted(halves.items())), clips=clips, groups=groups, seed=seed, warnings=tuple(warnings))
