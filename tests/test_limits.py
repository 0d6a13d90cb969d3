"""Limits on the audit: what fails a build, and that no silence passes for proof."""

from __future__ import annotations

from typing import Any

import pytest

from prep.errors import ConfigError
from prep.limits import judged, parse_limit

CUES = ("tilt", "loudness")
INSIDE = {"auc_low": 0.42, "auc_high": 0.6, "auc_tested_low": 0.41, "auc_tested_high": 0.61}
EQUAL = {"separation": 0.02, "p": 0.8, "spread": 1.2, "verdict": "cannot be told apart within ±0.15", **INSIDE}
OPEN = {
    "separation": 0.02,
    "p": 0.8,
    "spread": 1.2,
    "verdict": "not settled",
    "auc_low": 0.2,
    "auc_high": 0.8,
    "auc_tested_low": None,
    "auc_tested_high": None,
}


def one(text: str, audit: dict[str, Any] | None) -> dict[str, Any]:
    """Return the judgement of one limit."""
    return judged([parse_limit(text, CUES)], audit)[0]


def test_a_figure_beyond_its_limit_is_broken() -> None:
    """A separation over the limit is broken and named with its figure, whatever the verdict."""
    found = one("tilt.after.separation>0.15", {"after": {"tilt": EQUAL | {"separation": 0.2}}})

    assert found["broken"]
    assert found["why"] == "separation is 0.2"


def test_a_proven_limit_holds() -> None:
    """A limit holds where the figure is inside it and both intervals are."""
    assert not one("tilt.after.separation>0.15", {"after": {"tilt": EQUAL}})["broken"]
    assert not one("tilt.before.p<=0.05", {"before": {"tilt": EQUAL}})["broken"]


@pytest.mark.parametrize("text", ["tilt.after.separation>0.15", "tilt.after.p<=0.05"])
def test_not_settled_never_passes(text: str) -> None:
    """A small figure that the clips cannot vouch for is broken, and the verdict says why."""
    found = one(text, {"after": {"tilt": OPEN}})

    assert found["broken"]
    assert "not settled" in found["why"]


def test_an_interval_beyond_the_limit_is_broken() -> None:
    """A limit tighter than what the clips can show is broken though the figure is inside it."""
    assert one("tilt.after.separation>0.05", {"after": {"tilt": EQUAL}})["broken"]


@pytest.mark.parametrize("audit", [None, {"after": None}, {"after": {"tilt": {}}}])
def test_nothing_measured_is_broken(audit: dict[str, Any] | None) -> None:
    """Where nothing was held out or measured, a limit is broken and says so."""
    assert "no such figure" in one("tilt.after.separation>0.15", audit)["why"]


def test_descriptive_figures_are_compared_as_they_are() -> None:
    """Delivered clips and spreads have no test: the figure alone decides."""
    delivered = {"delivered": {"tilt": {"separation": 0.1, "spread": 3.0}}}

    assert not one("tilt.delivered.separation>0.15", delivered)["broken"]
    assert one("tilt.delivered.separation>=0.1", delivered)["broken"]
    assert one("tilt.delivered.spread>2.5", delivered)["broken"]
    assert not one("tilt.after.spread>2.5", {"after": {"tilt": OPEN}})["broken"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tilt after", "is not a limit"),
        ("tilt.after.separation", "is not a limit"),
        ("tlt.after.separation>0.1", "there is no tlt; did you mean tilt?"),
        ("tilt.afte.separation>0.1", "there is no afte; did you mean after?"),
        ("tilt.after.auc>0.1", "there is no auc"),
        ("tilt.after.separation<0.3", "forbids what is good"),
        ("tilt.after.p>0.05", "forbids what is good"),
        ("tilt.after.separation>0.1.2", "0.1.2 is not a number"),
    ],
)
def test_a_limit_is_checked_before_any_work(text: str, said: str) -> None:
    """A limit that is not well formed names what is wrong."""
    with pytest.raises(ConfigError, match=said):
        parse_limit(text, CUES)
