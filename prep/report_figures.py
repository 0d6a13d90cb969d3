"""Figures of a report: what run.json holds, as pictures. Nothing else is read, and nothing is drawn by chance."""

from __future__ import annotations

import math
import re
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from prep.charts import Curve, Dot, Interval, Region, Strip, curves, forest, shortened, strips
from prep.design import Design, Observations, canonical
from prep.matching import BIN_HZ
from prep.prose import joined, sentence
from prep.recorded import by_condition, corrected_cues, last_column, measures_of, widest_first, widest_number
from prep.roc import Band, Roc, matched_band, matched_roc, pooled_band, pooled_roc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

Record = dict[str, Any]
Item = TypeVar("Item")

LEVELS = (("integrated_lufs", "integrated loudness, LUFS"), ("true_peak_dbtp", "true peak, dBTP"))
CORRECTIONS = (
    ("mean correction, dB", ("mean_correction_db",)),
    ("largest correction, dB", ("largest_boost_db", "largest_cut_db")),
)
BANDS = re.compile(r"spectrum_(\d+)hz_db")
LEVEL_BAND_HZ = (200.0, 3150.0)  # over whose mean a spectrum is drawn (prep.spectrum.shape_db)
TILT_CLAMP_HZ = (50.0, 16000.0)  # beyond which the line of tilt_eq runs flat
DEEPEST_DB = -45.0  # of a drawn spectrum; below lies what a rate or a codec left empty, which is not drawn
MOST_DOTS = 1000  # of a condition in one row; of more, every n-th clip is drawn
AXIS_LENGTH = 24  # letters of a condition's name along an axis
CAPTION_LENGTH = 60
MOST_ROCS = 4  # cues whose curve is drawn for one pair of conditions
AUC_COLUMNS = ("sources", "before", "after", "delivered")


class Figure(NamedTuple):
    """A picture and what is said under it."""

    picture: Markup
    caption: str


def level_figures(record: Record) -> list[Figure]:
    """Return level measures of every clip, by condition, before and after; a dot's title is the clip's id."""
    return [figure for name, axis in LEVELS if (figure := _levels(record, name, axis)).picture]


def _levels(record: Record, name: str, axis: str) -> Figure:
    rows = []
    for series, (condition, clips) in enumerate(by_condition(record).items()):
        for part, when in (("source", "before"), ("delivered", "after")):
            values = [(clip, measures_of(clip[part]["cues"]).get(name)) for clip in thinned(clips)]
            dots = [Dot(value, str(clip["id"])) for clip, value in values if value is not None]
            rows.append(Strip(f"{condition or 'clips'}, {when}", series, dots))
    picture = strips(rows, axis, f"{axis} of every clip by condition, before and after")
    return Figure(picture, f"{sentence(axis)}: a dot a clip, the bar at the median.{_thinned(record)}")


def thinned(clips: Sequence[Item]) -> Sequence[Item]:
    """Return clips, or values of them, of which not too many are drawn: every n-th."""
    return clips[:: max(1, -(-len(clips) // MOST_DOTS))]


def _thinned(record: Record) -> str:
    most = max((len(clips) for clips in by_condition(record).values()), default=0)
    return f" Every {-(-most // MOST_DOTS)}th clip is drawn." if most > MOST_DOTS else ""


# Spectra ------------------------------------------------------------------------------------------


def spectrum_figures(record: Record) -> list[Figure]:
    """Return the long-term spectra: one picture a condition, before and after with the middle half of its clips.

    Each shows the straight line of tilt_eq where its clips got it, and the reference of reference_eq; a last one lays
    the conditions over each other.
    """
    spectra = {
        condition: {part: quartiles_of(clips, part) for part in ("source", "delivered")}
        for condition, clips in by_condition(record).items()
    }
    spectra = {condition: parts for condition, parts in spectra.items() if parts["delivered"].hertz}
    if not spectra:
        return []
    curves_of = {condition: _condition_curves(record, condition, parts) for condition, parts in spectra.items()}
    together = [
        Curve(f"{condition or 'clips'}, {when}", series, *filled(parts[part]), dashed=part == "source")
        for series, (condition, parts) in enumerate(spectra.items())
        for part, when in (("source", "before"), ("delivered", "after"))
    ]
    span = _span([line for lines in (*curves_of.values(), together) for line in lines])
    axes = ("frequency, Hz", "level over the clip's mean, dB")
    figures = []
    for condition, lines in curves_of.items():
        name = shortened(condition or "clips", CAPTION_LENGTH)
        label = f"median third-octave spectrum of {name}, before and after"
        caption = f"{name}: medians, with the middle half of the clips around them."
        figures.append(Figure(curves(lines, axes, label, logarithmic=True, span=span), caption))
    if len(spectra) > 1:
        label = "median third-octave spectra of the conditions over each other, before and after"
        figures.append(
            Figure(curves(together, axes, label, logarithmic=True, span=span), "Medians of the conditions together.")
        )
    return figures


class Quartiles(NamedTuple):
    """Bands with the middle half of the clips in them."""

    hertz: list[float]
    low: list[float]
    middle: list[float]
    high: list[float]


def quartiles_of(clips: Sequence[Record], part: str) -> Quartiles:
    """Return the quartiles of the third-octave levels of clips, in their source or as delivered."""
    found = [clip[part]["cues"].get("spectrum", {}) for clip in clips]
    names = sorted({name for item in found for name in item if BANDS.fullmatch(name)}, key=_hertz)
    columns = [[item[name] for item in found if name in item] for name in names]
    quartiles = [_quartiles(column) for column in columns]
    low, middle, high = ([values[place] for values in quartiles] for place in range(3))
    return Quartiles([_hertz(name) for name in names], low, middle, high)


def _hertz(name: str) -> float:
    found = BANDS.fullmatch(name)
    return float(found[1]) if found else 0.0


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _condition_curves(record: Record, condition: str, parts: Mapping[str, Quartiles]) -> list[Curve]:
    source, delivered = parts["source"], parts["delivered"]
    lines = [
        Curve("before", 3, *filled(source), *filled_band(source), dashed=True),
        Curve("after", 0, *filled(delivered), *filled_band(delivered)),
    ]
    clips = by_condition(record)[condition]
    tilt = record["fits"]["release"].get("tilt_eq")
    if tilt and any("tilt_eq" in clip["stages"] for clip in clips):
        slope = tilt["applied_db_per_octave"]
        hertz, _ = filled(delivered)
        line = [slope * math.log2(min(max(hz, TILT_CLAMP_HZ[0]), TILT_CLAMP_HZ[1]) / 1000) for hz in hertz]
        lines.append(Curve(f"fitted line, {slope:+.2f} dB/octave", 1, hertz, _levelled(hertz, line)))
    reference = reference_of(record)
    if reference and any("reference_eq" in clip["stages"] for clip in clips):
        hertz, levels = _reference_bands(reference, filled(delivered)[0])
        lines.append(Curve("reference of reference_eq", 2, hertz, levels))
    return lines


def filled(bands: Quartiles) -> tuple[list[float], list[float]]:
    """Return the bands that more than half of the clips fill, with their medians."""
    held = [(hz, level) for hz, level in zip(bands.hertz, bands.middle, strict=True) if level > DEEPEST_DB]
    return [hz for hz, _ in held], [level for _, level in held]


def filled_band(bands: Quartiles) -> tuple[list[float], list[float]]:
    """Return the quartiles of the bands of `filled`."""
    held = zip(bands.low, bands.middle, bands.high, strict=True)
    ends = [(low, high) for low, middle, high in held if middle > DEEPEST_DB]
    return [low for low, _ in ends], [high for _, high in ends]


def reference_of(record: Record) -> Mapping[str, Any] | None:
    """Return the profile that reference_eq matched to; None where it did not run."""
    found: Mapping[str, Any] | None = record["fits"]["release"].get("reference_eq")
    return found or record.get("references", {}).get("reference_eq")


def _reference_bands(profile: Mapping[str, Any], centres: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return a profile in the third octaves that it fills, its level taken out as that of a clip."""
    power = 10 ** (np.asarray(profile["levels_db"]) / 10)
    bins = np.arange(power.size) * BIN_HZ
    hertz, levels = [], []
    for centre in centres:
        inside = (bins >= centre * 2 ** (-1 / 6)) & (bins < centre * 2 ** (1 / 6))
        if inside.any() and profile["from_hz"] <= centre <= profile["to_hz"]:
            hertz.append(centre)
            levels.append(10 * math.log10(max(float(power[inside].mean()), 1e-20)))
    return hertz, _levelled(hertz, levels)


def _levelled(hertz: Sequence[float], levels: Sequence[float]) -> list[float]:
    inside = [level for hz, level in zip(hertz, levels, strict=True) if LEVEL_BAND_HZ[0] <= hz <= LEVEL_BAND_HZ[1]]
    mean = statistics.fmean(inside) if inside else 0.0
    return [level - mean for level in levels]


def _span(lines: Sequence[Curve]) -> tuple[float, float]:
    """Return the least and largest level that is drawn."""
    values = [level for line in lines for level in (*line.y, *line.low, *line.high)]
    return max(min(values), DEEPEST_DB) - 1, max(values) + 1


def correction_figures(record: Record) -> list[Figure]:
    """Return the corrections of reference_eq, a dot a clip by condition: their mean, and the largest of each clip."""
    figures = []
    for axis, names in CORRECTIONS:
        rows = []
        for series, (condition, clips) in enumerate(by_condition(record).items()):
            notes = [(clip, clip["stages"].get("reference_eq", {})) for clip in thinned(clips)]
            dots = [
                Dot(max(note[name] for name in names), str(clip["id"]))
                for clip, note in notes
                if all(note.get(name) is not None for name in names)
            ]
            rows.append(Strip(condition or "clips", series, dots))
        label = f"{axis} by reference_eq of every clip, by condition"
        if picture := strips(rows, axis, label):
            figures.append(Figure(picture, f"{sentence(axis)}: a dot a clip, the bar at the median.{_thinned(record)}"))
    return figures


# The audit ----------------------------------------------------------------------------------------


def battery(audit: Mapping[str, Any], margin: float) -> Figure:
    """Return every cue about chance, the widest first; where nothing is tested, in the sources and as delivered.

    Args:
        audit: of two conditions.
        margin: of the claim that a cue cannot tell them apart, AUC.
    """
    first = "before" if audit["before"] else "sources"
    rows = []
    for name in widest_first(audit):
        columns = {column: (audit[column] or {}).get(name) or {} for column in AUC_COLUMNS}
        tested = columns["after"]
        marks = {kind: columns[kind].get("auc") for kind in (first, "delivered", "after")}
        rows.append(
            Interval(
                name,
                {kind: auc for kind, auc in marks.items() if auc is not None},
                tested.get("auc_low"),
                tested.get("auc_high"),
                tested.get("verdict", "descriptive only"),
                widest_number(columns[last_column(audit)]),
            )
        )
    drawn = [kind for kind in (first, "after", "delivered") if any(kind in row.marks for row in rows)]
    bounded = any(row.low is not None and row.high is not None for row in rows)
    told = [f"{kind} (with its 90 % interval)" if kind == "after" and bounded else kind for kind in drawn]
    alone = " A cross: the widest single number of a cue of several." if any(row.alone for row in rows) else ""
    tested_text = "" if audit["after"] else " Nothing is tested."
    label = f"AUC of every cue {joined(drawn)}, {audit['b']} above {audit['a']}"
    caption = f"AUC of every cue: {joined(told)}; the widest on top, as in the table.{alone}{tested_text}"
    return Figure(forest(rows, margin, label), caption)


def roc_figures(record: Record, audit: Mapping[str, Any]) -> list[Figure]:
    """Return the ROC of corrected cues, then of the widest cues of one number, on held-out clips: pooled and matched.

    A picture shows before and after, and the band in which nine in ten curves lie when units' labels are exchanged.
    """
    if not audit["after"]:
        return []
    single = {name: item["features"][0] for name, item in audit["cues"].items() if len(item["features"]) == 1}
    corrected = corrected_cues(record)
    apart = {name: audit["after"].get(name, {}).get("separation") for name in single}
    drawn = [name for name, value in apart.items() if value is not None and (value or name in corrected)]
    names = sorted(drawn, key=lambda name: (name not in corrected, -apart[name]))
    return [figure for name in names[:MOST_ROCS] for figure in _rocs(record, audit, name, single[name])]


def _rocs(record: Record, audit: Mapping[str, Any], cue: str, feature: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the pooled and, where there are matched cells, the matched picture of one cue."""
    before = _held_out(record, audit, cue, feature, "source")
    after = _held_out(record, audit, cue, feature, "evidence")
    if before is None or after is None:
        return
    seed = record["config"]["audit"]["seed"]
    a, b = (shortened(audit[side], AXIS_LENGTH) for side in ("a", "b"))
    axes = (f"share of {a} above the threshold", f"share of {b}")
    drawn = [pooled_roc(values, design.observations.is_b) for values, design in (before, after)]
    if all(drawn):
        yield _roc(f"{cue}, pooled", cue, drawn, pooled_band(*after, seed), axes)
    drawn = [matched_roc(*found) for found in (before, after)]
    if all(drawn):
        yield _roc(f"{cue}, inside matched cells", cue, drawn, matched_band(*after, seed), axes)


def _roc(title: str, cue: str, drawn: Sequence[Roc | None], band: Band | None, axes: tuple[str, str]) -> Figure:
    lines = [
        Curve(f"{when}, area {item.area:.3f}", series, item.x.tolist(), item.y.tolist())
        for item, when, series in zip(drawn, ("before", "after"), (3, 0), strict=True)
        if item is not None
    ]
    lines.append(Curve("chance", 3, [0.0, 1.0], [0.0, 1.0], dashed=True))
    region = (
        Region("90 % of exchanged labels", band.x.tolist(), band.low.tolist(), band.high.tolist()) if band else None
    )
    label = f"ROC of {cue} on held-out clips, {title.removeprefix(f'{cue}, ')}, before and after"
    return Figure(curves(lines, axes, label, region=region, span=(-0.02, 1.02)), f"{title}, held-out clips.")


def _held_out(
    record: Record, audit: Mapping[str, Any], cue: str, feature: Mapping[str, Any], part: str
) -> tuple[Any, Design] | None:
    """Return the values of a cue on held-out clips, as the audit compared them, with their design."""
    sides = (audit["a"], audit["b"])
    compare = record["config"]["compare"]
    clips = [
        clip
        for clip in record["clips"]
        if clip["delivered"]
        and clip["role"] == "stimulus"
        and clip["half"] == "held-out"
        and clip["columns"].get(audit["column"]) in sides
    ]
    cues = [(clip["source"] if part == "source" else clip["evidence"] or clip["delivered"])["cues"] for clip in clips]
    values = np.array([item.get(cue, {}).get(feature["name"], math.nan) for item in cues], dtype=np.float64)
    if feature.get("resolution"):  # as they were compared
        values = np.round(values / feature["resolution"]) * feature["resolution"]
    match = compare["match"]
    cells = [[clip["columns"].get(name, "") for name in match] for clip in clips]
    passages = tuple(clip["columns"].get("passage", "") for clip in clips)
    observations = Observations(
        is_b=np.array([clip["columns"][audit["column"]] == sides[1] for clip in clips], dtype=bool),
        unit=tuple(clip["columns"].get(audit["unit"]) or f"(clip {clip['file_name']})" for clip in clips),
        cell=tuple("|".join(cell) if all(cell) else None for cell in cells) if match else None,
        passage=passages if all(passages) else None,
    )
    held, defined = canonical(values, observations)
    return (held, Design(defined)) if held.size else None
