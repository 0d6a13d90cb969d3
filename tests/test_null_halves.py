"""The scripts behind docs/separability.md, with fewer studies: the tool keeps a true null, its intervals, its cost."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[1]
PAGE = (PROJECT / "docs" / "separability.md").read_text(encoding="utf-8")
MARKS = ("null-simulated", "null-real", "null-wrong", "power", "cost")

NOMINAL = 0.05  # share of true nulls that an exact test at 0.05 rejects; the tool promises at most 0.07
COVERAGE = 0.90  # share of intervals that hold the truth, nominally
SIMULATION_SD = 3.0  # standard errors that a simulated rate may lie off; of 23 cues one in 16 tries does at 2.5


def simulation_error(rate: float, studies: int) -> float:
    """Return how far a simulated rate may lie from the true one."""
    return SIMULATION_SD * math.sqrt(rate * (1 - rate) / studies)


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """Return an importer of the scripts in bench/, which import each other by name."""
    sys.path.insert(0, str(PROJECT / "bench"))
    yield importlib.import_module
    sys.path.remove(str(PROJECT / "bench"))


@pytest.mark.simulation
def test_redrawn_halves_of_speakers_are_told_apart_in_five_per_cent(bench: Any) -> None:
    """Halves of 48 simulated speakers are told apart by each cue in about 5 %, and by any familywise in no more."""
    script, halves = bench("null_halves"), 60
    scores, speakers = script.simulated(np.random.default_rng(21))
    rates = script.redrawn(scores, speakers, halves=halves, draws=199)
    each = [rates.rate(name) for name in scores]
    assert len(set(speakers)) >= 40
    assert max(each) <= NOMINAL + simulation_error(NOMINAL, halves)
    # Cues that go together are far from so many independent halves; their mean is no worse than one cue alone.
    assert abs(np.mean(each) - NOMINAL) <= simulation_error(NOMINAL, halves)
    assert rates.family / halves <= NOMINAL + simulation_error(NOMINAL, halves)
    assert rates.smallest_p == pytest.approx(2 / 200)


@pytest.mark.simulation
def test_clips_as_units_reject_a_true_null(bench: Any) -> None:
    """The check can fail: halves of speakers that are tested as if each clip were a unit are told apart too often."""
    script, halves = bench("null_halves"), 40
    scores, speakers = script.simulated(np.random.default_rng(22))
    scores = dict(list(scores.items())[::6])
    clips = tuple(f"{number}" for number in range(len(speakers)))
    rates = script.redrawn(scores, clips, groups=speakers, halves=halves, draws=199)
    assert np.mean([rates.rate(name) for name in scores]) > NOMINAL + simulation_error(NOMINAL, halves)


def test_what_the_grid_allows_is_five_per_cent_without_ties_and_nothing_for_a_constant(bench: Any) -> None:
    """A continuous cue can be told apart in 5 % of null studies, a constant one never."""
    script = bench("null_halves")
    found = script.Rates()
    scores, speakers = script.simulated(np.random.default_rng(23))
    observations = script.Observations(script.labels(np.random.default_rng(24), speakers), speakers)
    found.add({"free": scores["cue 1"], "constant": np.ones(len(speakers))}, observations, 199, 0)
    assert found.attainable("free") == pytest.approx(NOMINAL, abs=2 / script.REARRANGED)
    assert found.attainable("constant") == 0.0


@pytest.mark.simulation
@pytest.mark.parametrize("design", ["nested", "paired"])
def test_intervals_hold_the_true_auc_and_a_plain_difference_is_found(bench: Any, design: str) -> None:
    """20 speakers, 200 clips, ICC 0.5: intervals hold the true AUC in about 90 %, and an AUC of 0.8 is found."""
    studies = 25
    tallies = bench("separability_power").tallies_of(design, 20, 5, studies)
    for tally in tallies:
        assert tally.given == studies
        assert tally.held / studies >= COVERAGE - simulation_error(COVERAGE, studies)
    null, _, plain = tallies
    assert null.told / studies <= NOMINAL + simulation_error(NOMINAL, studies)
    assert plain.told > 0.5 * studies
    assert plain.claimed == 0


def test_the_cost_is_that_of_every_cue_beside_the_least(bench: Any) -> None:
    """The cost script measures each clip both ways, counts every cue, and no cue is undefined on all of its clips."""
    script = bench("audit_cost")
    costs = script.Costs()
    for number, (speaker, rate, data) in enumerate(script.files(6, speakers=2)):
        costs.add(speaker, rate, data, counted=number > 0)
    assert len(costs.values) == 5
    assert costs.whole() > costs.least() > 0
    assert {cue.NAME for cue in costs.cues} == set(costs.values[0])
    undefined = [cue.NAME for cue in costs.cues if all("undefined" in values[cue.NAME] for values in costs.values)]
    assert undefined == []
    table = list(script.rows(costs, 1.0))
    assert {len(row) for row in table} == {3}


@pytest.mark.parametrize("mark", MARKS)
def test_the_page_has_the_table_of_each_script(mark: str) -> None:
    """Every table of the page stands between the marks that its script writes to, and has rows."""
    table = PAGE.split(f"<!-- {mark} -->\n")[1].split(f"<!-- /{mark} -->")[0]
    assert len(table.splitlines()) > 2
    assert {line.count("|") for line in table.splitlines()} == {table.splitlines()[0].count("|")}
