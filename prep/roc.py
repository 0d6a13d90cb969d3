"""ROC: the curve behind an AUC, pooled and inside matched cells, and where exchanged labels would draw it.

The area under `pooled_roc` is the pooled AUC and that under `matched_roc` is the matched one, to the last digit
that counts. The band is pointwise: at each place nine in ten of the curves that exchanged labels give lie in it.

Source: Fawcett 2006 (ties as diagonals, vertical averaging).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prep.design import Cell
from prep.permutation import arrangements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prep.design import Design

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

BAND_PERCENTILES = (5.0, 95.0)
BAND_DRAWS = 500  # arrangements behind a band; all where there are fewer
STEPS = 50  # places at which a band is known
_BESIDE = 1e-9  # how far beside a jump a curve is read


class Roc(NamedTuple):
    """A curve: the share of a above each threshold, and the share of b."""

    x: Floats
    y: Floats

    @property
    def area(self) -> float:
        """Area under the curve."""
        return float(np.trapezoid(self.y, self.x))


class Band(NamedTuple):
    """Where the curves of exchanged labels lie: places, and the ends there."""

    x: Floats
    low: Floats
    high: Floats


def pooled_roc(values: Floats, is_b: Bools) -> Roc | None:
    """Return the curve over all clips; None where a side is empty.

    Args:
        values: (n,) finite.
        is_b: (n,) True for clips of condition b.
    """
    if is_b.all() or not is_b.any():
        return None
    return Roc(*_curves(values, is_b[None, :])[:, 0])


def pooled_band(values: Floats, design: Design, seed: int) -> Band | None:
    """Return where the pooled curve would lie were the labels exchanged as the test exchanges them.

    Args:
        values: (n,) finite, a clip of the design each.
        design: says what may be exchanged. None where it allows nothing.
        seed: of the arrangements.
    """
    if design.arrangements < 2:
        return None
    signs = _signs(design, seed)
    is_b = design.observations.is_b
    crossed = np.zeros(len(design.units), dtype=bool)
    crossed[design.crossed] = True
    labels = np.where(crossed[design.unit], is_b ^ (signs[:, design.unit] < 0), signs[:, design.unit] > 0)
    labels = labels[labels.any(axis=1) & ~labels.all(axis=1)]
    if not len(labels):
        return None
    places = _places()
    x, y = _curves(values, labels)
    return _band([np.interp(places, *curve) for curve in zip(x, y, strict=True)], places)


def matched_roc(values: Floats, design: Design) -> Roc | None:
    """Return the mean over units of the mean curve inside their matched cells; None where there is no such cell."""
    cells = design.matched_cells
    if not cells:
        return None
    curves = [_cell_curve(values, cell) for cell in cells]
    jumps = np.unique(np.concatenate([curve.x for curve in curves]).round(12))
    ends = np.ravel(np.column_stack([jumps[:-1] + _BESIDE, jumps[1:] - _BESIDE]))
    mean = _mean_of_units([np.interp(ends, *curve) for curve in curves], cells).mean(axis=0)
    x = np.ravel(np.column_stack([jumps[:-1], jumps[1:]]))
    return Roc(np.concatenate([[0.0], x, [1.0]]), np.concatenate([[0.0], mean, [1.0]]))


def matched_band(values: Floats, design: Design, seed: int) -> Band | None:
    """Return where the matched curve would lie were the labels of whole units exchanged; None without matched cells."""
    cells = design.matched_cells
    if not cells:
        return None
    places = _places()
    kept = [np.interp(places, *_cell_curve(values, cell)) for cell in cells]
    swapped = [np.interp(places, *_cell_curve(values, Cell(cell.unit, cell.b, cell.a))) for cell in cells]
    units = np.unique([cell.unit for cell in cells])
    signs = _signs(design, seed)[:, units]
    by_unit = np.where(signs[:, :, None] > 0, _mean_of_units(kept, cells)[None], _mean_of_units(swapped, cells)[None])
    return _band(by_unit.mean(axis=1), places)


def _places() -> Floats:
    return (np.arange(STEPS) + 0.5) / STEPS


def _signs(design: Design, seed: int) -> Floats:
    """Return (arrangements, units) signs: all, or as many as are drawn."""
    return np.concatenate([*arrangements(design, design.units, BAND_DRAWS, seed)])


def _curves(values: Floats, labels: Bools) -> Floats:
    """Return (2, labellings, points) the shares of a and of b above each threshold.

    Args:
        values: (n,) finite.
        labels: (labellings, n) True for clips of b; no side is empty.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    of_b = labels[:, order]
    shares = []
    for side in (~of_b, of_b):
        passed = np.cumsum(side, axis=1)[:, ends] / side.sum(axis=1, keepdims=True)
        shares.append(np.concatenate([np.zeros((len(labels), 1)), passed], axis=1))
    return np.stack(shares)


def _cell_curve(values: Floats, cell: Cell) -> Roc:
    held = np.concatenate([values[cell.a], values[cell.b]])
    of_b = np.arange(held.size) >= cell.a.size
    return Roc(*_curves(held, of_b[None, :])[:, 0])


def _mean_of_units(curves: Sequence[Floats], cells: Sequence[Cell]) -> Floats:
    """Return (units, places) the mean curve of each unit, the units in rising order."""
    unit = np.array([cell.unit for cell in cells])
    held = np.stack(curves)
    return np.stack([held[unit == one].mean(axis=0) for one in np.unique(unit)])


def _band(curves: Sequence[Floats] | Floats, places: Floats) -> Band:
    low, high = np.percentile(np.asarray(curves), BAND_PERCENTILES, axis=0)
    return Band(places, low, high)
