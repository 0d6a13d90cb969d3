"""Charts: the pictures of a report as SVG, in the colours of the page, every mark named for hovering.

Plain functions of numbers. A picture is some kilobytes and a millisecond, so that every run can have its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 680
LEFT, RIGHT, TOP, BOTTOM = 170, 24, 12, 46
TICKS = 5  # about as many on an axis
SERIES = 4  # colours of the page; more series use them again


class Dot(NamedTuple):
    """One mark: its value and what it is called."""

    value: float
    title: str


class Strip(NamedTuple):
    """One row of dots: its name, which series it belongs to, and the dots."""

    name: str
    series: int
    dots: Sequence[Dot]


class Curve(NamedTuple):
    """One line with a band around it; `low` and `high` may be empty."""

    name: str
    series: int
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dashed: bool = False


class Interval(NamedTuple):
    """One row of a forest: its name, figures by column, and the interval of the last one."""

    name: str
    before: float | None
    after: float | None
    delivered: float | None
    low: float | None
    high: float | None
    verdict: str


class _Scale(NamedTuple):
    """From values to places on the paper."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, here = (math.log10(item) if self.logarithmic else item for item in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / ((high - low) or 1.0)


def strips(rows: Sequence[Strip], axis: str, label: str) -> Markup:
    """Return rows of dots over one axis, the median of each row marked.

    Args:
        rows: from top to bottom; one without dots keeps its place.
        axis: what the axis holds, with its unit.
        label: what a screen reader says of the picture.
    """
    values = [dot.value for row in rows for dot in row.dots]
    if not values:
        return Markup()
    step = 30
    height = TOP + step * len(rows) + BOTTOM
    across = _scale(values, LEFT, WIDTH - RIGHT)
    parts = [_x_axis(across, height - BOTTOM, axis)]
    for place, row in enumerate(rows):
        middle = TOP + step * (place + 0.5)
        parts.append(_row_name(row.name, middle))
        for index, dot in enumerate(row.dots):
            # A fixed scatter: the same clip lies at the same height in every picture.
            down = middle + 9 * (((index * 0.618034) % 1) - 0.5) * 1.6
            title = escape(f"{dot.title}: {dot.value:.2f}")
            parts.append(
                Markup('<circle class="s{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}</title></circle>').format(
                    row.series % SERIES, across(dot.value), down, title
                )
            )
        if row.dots:
            at = across(sorted(dot.value for dot in row.dots)[len(row.dots) // 2])
            parts.append(
                Markup('<line class="median" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
                    at, middle - 11, middle + 11
                )
            )
    return _svg(parts, height, label)


def curves(lines: Sequence[Curve], axes: tuple[str, str], label: str, *, logarithmic: bool = False) -> Markup:
    """Return lines with their bands, and a legend.

    Args:
        lines: with equal numbers of x and y.
        axes: what the axes hold, with their units.
        label: what a screen reader says of the picture.
        logarithmic: whether x is drawn by its logarithm.
    """
    lines = [line for line in lines if line.x]
    if not lines:
        return Markup()
    height = 300 + TOP + BOTTOM + 20 * len(lines)
    floor = 300 + TOP
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (*line.y, *line.low, *line.high)]
    across = _Scale(min(xs), max(xs), LEFT - 100, WIDTH - RIGHT, logarithmic)
    up = _scale(ys, floor, TOP)
    parts = [_x_axis(across, floor, axes[0]), _y_axis(up, LEFT - 100, axes[1])]
    for line in lines:
        if line.low:
            band = [*zip(line.x, line.high, strict=True), *reversed([*zip(line.x, line.low, strict=True)])]
            parts.append(
                Markup('<polygon class="band s{}" points="{}"/>').format(
                    line.series % SERIES, _points(band, across, up)
                )
            )
    for place, line in enumerate(lines):
        kind = f"s{line.series % SERIES}" + (" dashed" if line.dashed else "")
        points = _points([*zip(line.x, line.y, strict=True)], across, up)
        parts.append(
            Markup('<polyline class="line {}" points="{}"><title>{}</title></polyline>').format(kind, points, line.name)
        )
        low = floor + BOTTOM + 20 * place
        parts.append(
            Markup(
                '<line class="line {0}" x1="{1}" x2="{2}" y1="{3}" y2="{3}"/><text x="{4}" y="{5}">{6}</text>'
            ).format(kind, LEFT - 100, LEFT - 60, low, LEFT - 50, low + 5, line.name)
        )
    return _svg(parts, height, label)


def forest(rows: Sequence[Interval], margin: float, label: str) -> Markup:
    """Return the cue battery: of each cue the AUC before, after with its interval, and delivered, about chance.

    Args:
        rows: from top to bottom.
        margin: half the width of the band in which an AUC counts as chance.
        label: what a screen reader says of the picture.
    """
    if not rows:
        return Markup()
    step = 24
    floor = TOP + step * len(rows)
    height = floor + BOTTOM + 20
    across = _Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    parts = [
        Markup('<rect class="margin" x="{:.1f}" width="{:.1f}" y="{}" height="{}"/>').format(
            across(0.5 - margin), across(0.5 + margin) - across(0.5 - margin), TOP, floor - TOP
        ),
        Markup('<line class="chance" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(across(0.5), TOP, floor),
        _x_axis(across, floor, "AUC (0.5 is chance; the band is the margin)"),
    ]
    for place, row in enumerate(rows):
        y = TOP + step * (place + 0.5)
        parts.append(_row_name(row.name, y))
        if row.low is not None and row.high is not None:
            ends = (across(row.low), across(row.high), y)
            parts.append(
                Markup('<line class="interval" x1="{0:.1f}" x2="{1:.1f}" y1="{2:.1f}" y2="{2:.1f}"/>').format(*ends)
            )
        for kind, value in (("before", row.before), ("delivered", row.delivered), ("after", row.after)):
            if value is not None:
                parts.append(_forest_mark(kind, across(value), y, f"{row.name} {kind}: {value:.3f}; {row.verdict}"))
    for place, kind in enumerate(("before", "after", "delivered")):
        x = LEFT + 130 * place
        parts.append(_forest_mark(kind, x, floor + BOTTOM + 6, kind))
        parts.append(Markup('<text x="{}" y="{}">{}</text>').format(x + 12, floor + BOTTOM + 11, kind))
    return _svg(parts, height, label)


def _forest_mark(kind: str, x: float, y: float, title: str) -> Markup:
    if kind == "after":
        return Markup('<circle class="after" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}</title></circle>').format(
            x, y, title
        )
    if kind == "before":
        return Markup('<circle class="before" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}</title></circle>').format(
            x, y, title
        )
    return Markup('<path class="delivered" d="M{:.1f} {:.1f}l5 5l-5 5l-5 -5z"><title>{}</title></path>').format(
        x, y - 5, title
    )


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    """Return a scale that holds all values with a little room."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 1.0
    return _Scale(low - room, high + room, start, end)


def _ticks(scale: _Scale) -> list[float]:
    """Return round values inside a scale."""
    if scale.logarithmic:
        decades = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
        found = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    else:
        raw = (scale.high - scale.low) / TICKS
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(size * unit for size in (1, 2, 5, 10) if size * unit >= raw)
        found = [step * number for number in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)]
    return [value for value in found if scale.low <= value <= scale.high]


def _x_axis(scale: _Scale, floor: float, name: str) -> Markup:
    marks = Markup().join(
        Markup(
            '<line class="tick" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>'
            '<text class="number" x="{0:.1f}" y="{3}">{4:g}</text>'
        ).format(scale(value), TOP, floor, floor + 16, round(value, 6))
        for value in _ticks(scale)
    )
    middle = (scale.start + scale.end) / 2
    return marks + Markup('<text class="number" x="{:.1f}" y="{}">{}</text>').format(middle, floor + 34, name)


def _y_axis(scale: _Scale, left: float, name: str) -> Markup:
    marks = Markup().join(
        Markup(
            '<line class="tick" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>'
            '<text class="end" x="{3}" y="{4:.1f}">{5:g}</text>'
        ).format(left, WIDTH - RIGHT, scale(value), left - 6, scale(value) + 4, round(value, 6))
        for value in _ticks(scale)
    )
    middle = (scale.start + scale.end) / 2
    return marks + Markup('<text class="number" transform="translate(14 {:.1f}) rotate(-90)">{}</text>').format(
        middle, name
    )


def _row_name(name: str, y: float) -> Markup:
    return Markup('<text class="end" x="{}" y="{:.1f}">{}</text>').format(LEFT - 10, y + 4, name)


def _points(pairs: Iterable[tuple[float, float]], across: _Scale, up: _Scale) -> str:
    return " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in pairs)


def _svg(parts: Iterable[Markup], height: float, label: str) -> Markup:
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, round(height), label, Markup().join(parts)
    )
