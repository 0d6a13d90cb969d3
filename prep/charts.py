"""Charts: the pictures of a report as SVG, in the colours of the page, every mark named for hovering.

Plain functions of numbers. A picture is some kilobytes and a millisecond, so that every run can have its own. All are
drawn narrow, so that their words can still be read on a phone; a wide page puts several side by side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WIDTH = 420
LEFT, RIGHT, TOP, BOTTOM = 132, 20, 12, 50
AXIS_LEFT = 46  # where the upright axis of a picture of lines stands
PLOT_HEIGHT = 220  # of a picture of lines
LEGEND_STEP = 18
NAME_LENGTH = 18  # letters of a name beside a row; a longer one is shortened and whole on hovering
LEGEND_LENGTH = 44
TICKS = 5  # about as many on an axis
LEGEND_LEFT, LEGEND_WIDTH = 24, 92  # of the kinds of marks under a forest
FOREST_MARKS = ("before", "sources", "delivered", "after")  # a later one lies on top
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


class Region(NamedTuple):
    """A band without a line, as where curves would lie by chance."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


class Interval(NamedTuple):
    """One row of a forest: its name, the figure of each kind of mark, the interval of `after`, and a verdict.

    `alone` is the number, with its figure, that shows most of what the row sums up.
    """

    name: str
    marks: Mapping[str, float]
    low: float | None
    high: float | None
    verdict: str
    alone: tuple[str, float] | None = None


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
    step = 28
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
                Markup('<circle class="s{}" cx="{:.1f}" cy="{:.1f}" r="2.5"><title>{}</title></circle>').format(
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


def curves(
    lines: Sequence[Curve],
    axes: tuple[str, str],
    label: str,
    *,
    logarithmic: bool = False,
    region: Region | None = None,
    span: tuple[float, float] | None = None,
) -> Markup:
    """Return lines with their bands, and a legend.

    Args:
        lines: with equal numbers of x and y.
        axes: what the axes hold, with their units.
        label: what a screen reader says of the picture.
        logarithmic: whether x is drawn by its logarithm.
        region: a band of its own behind the lines.
        span: the least and largest y that are drawn; by default all are. What lies beyond is cut at the edge.
    """
    lines = [line for line in lines if line.x]
    if not lines:
        return Markup()
    regions = [region] if region else []
    floor = PLOT_HEIGHT + TOP
    height = floor + BOTTOM + LEGEND_STEP * (len(lines) + len(regions))
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (*line.y, *line.low, *line.high)]
    across = _Scale(min(xs), max(xs), AXIS_LEFT, WIDTH - RIGHT, logarithmic)
    up = _Scale(*span, floor, TOP) if span else _scale(ys, floor, TOP)
    parts = [_x_axis(across, floor, axes[0]), _y_axis(up, AXIS_LEFT, axes[1])]
    parts += [
        _band(line.x, line.low, line.high, f"s{line.series % SERIES}", (across, up)) for line in lines if line.low
    ]
    parts += [_band(item.x, item.low, item.high, "region", (across, up)) for item in regions]
    for place, line in enumerate(lines):
        kind = f"s{line.series % SERIES}" + (" dashed" if line.dashed else "")
        points = _points([*zip(line.x, line.y, strict=True)], across, up)
        parts.append(
            Markup('<polyline class="line {}" points="{}"><title>{}</title></polyline>').format(kind, points, line.name)
        )
        low = floor + BOTTOM + LEGEND_STEP * place
        parts.append(
            Markup('<line class="line {0}" x1="{1}" x2="{2}" y1="{3}" y2="{3}"/>').format(
                kind, AXIS_LEFT, AXIS_LEFT + 30, low
            )
        )
        parts.append(_legend_name(line.name, low))
    for place, item in enumerate(regions, len(lines)):
        low = floor + BOTTOM + LEGEND_STEP * place
        parts.append(
            Markup('<rect class="band region" x="{}" y="{}" width="30" height="10"/>').format(AXIS_LEFT, low - 5)
        )
        parts.append(_legend_name(item.name, low))
    return _svg(parts, height, label)


def _band(
    x: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str, scales: tuple[_Scale, _Scale]
) -> Markup:
    outline = [*zip(x, high, strict=True), *reversed([*zip(x, low, strict=True)])]
    return Markup('<polygon class="band {}" points="{}"/>').format(kind, _points(outline, *scales))


def _legend_name(name: str, y: float) -> Markup:
    left = AXIS_LEFT + 38
    fitted = _fitted(name, LEGEND_LENGTH, WIDTH - left)
    return Markup('<text x="{}" y="{}"{}>{}</text>').format(left, y + 4, fitted, shortened(name, LEGEND_LENGTH))


def forest(rows: Sequence[Interval], margin: float, label: str) -> Markup:
    """Return the cue battery: of each cue the AUC of every kind of FOREST_MARKS that it has, about chance.

    Args:
        rows: from top to bottom.
        margin: half the width of the band in which an AUC counts as chance.
        label: what a screen reader says of the picture.
    """
    if not rows:
        return Markup()
    step = 22
    floor = TOP + step * len(rows)
    height = floor + BOTTOM + 20
    across = _Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    parts = [
        Markup('<rect class="margin" x="{:.1f}" width="{:.1f}" y="{}" height="{}"/>').format(
            across(0.5 - margin), across(0.5 + margin) - across(0.5 - margin), TOP, floor - TOP
        ),
        Markup('<line class="chance" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(across(0.5), TOP, floor),
        _x_axis(across, floor, "AUC (0.5 is chance; grey: the margin)"),
    ]
    for place, row in enumerate(rows):
        y = TOP + step * (place + 0.5)
        parts.append(_row_name(row.name, y))
        if row.low is not None and row.high is not None:
            ends = (across(row.low), across(row.high), y)
            parts.append(
                Markup('<line class="interval" x1="{0:.1f}" x2="{1:.1f}" y1="{2:.1f}" y2="{2:.1f}"/>').format(*ends)
            )
        if row.alone is not None:
            number, value = row.alone
            parts.append(_forest_mark("alone", across(value), y, f"{row.name}, {number} alone: {value:.3f}"))
        parts += [
            _forest_mark(kind, across(row.marks[kind]), y, f"{row.name} {kind}: {row.marks[kind]:.3f}; {row.verdict}")
            for kind in FOREST_MARKS
            if kind in row.marks
        ]
    drawn = [kind for kind in FOREST_MARKS if any(kind in row.marks for row in rows)]
    drawn += ["alone"] if any(row.alone for row in rows) else []
    for place, kind in enumerate(drawn):
        x = LEGEND_LEFT + LEGEND_WIDTH * place
        name = "widest number" if kind == "alone" else kind
        parts.append(_forest_mark(kind, x, floor + BOTTOM + 6, name))
        parts.append(Markup('<text x="{}" y="{}">{}</text>').format(x + 12, floor + BOTTOM + 11, name))
    return _svg(parts, height, label)


def _forest_mark(kind: str, x: float, y: float, title: str) -> Markup:
    if kind in ("before", "sources", "after"):
        shape = "after" if kind == "after" else "before"
        return Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}</title></circle>').format(
            shape, x, y, title
        )
    if kind == "alone":
        return Markup('<path class="alone" d="M{:.1f} {:.1f}l8 8m0 -8l-8 8"><title>{}</title></path>').format(
            x - 4, y - 4, title
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
    return Markup('<text class="end" x="{}" y="{:.1f}"{}>{}<title>{}</title></text>').format(
        LEFT - 8, y + 4, _fitted(name, NAME_LENGTH, LEFT - 8), shortened(name, NAME_LENGTH), name
    )


def _fitted(name: str, most: int, width: float) -> Markup:
    """Return what keeps a shortened name in its place, however wide its letters are."""
    return Markup(' textLength="{:g}" lengthAdjust="spacingAndGlyphs"').format(width) if len(name) > most else Markup()


def shortened(name: str, most: int) -> str:
    """Return a name of at most so many letters; of a longer one the middle is left out, for ends tell names apart."""
    if len(name) <= most:
        return name
    kept = most - 1
    return f"{name[: kept // 2]}…{name[len(name) - (kept - kept // 2) :]}"


def _points(pairs: Iterable[tuple[float, float]], across: _Scale, up: _Scale) -> str:
    top, floor = sorted((up.start, up.end))
    return " ".join(f"{across(x):.1f},{min(max(up(y), top), floor):.1f}" for x, y in pairs)


def _svg(parts: Iterable[Markup], height: float, label: str) -> Markup:
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, round(height), label, Markup().join(parts)
    )
