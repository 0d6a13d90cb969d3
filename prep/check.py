"""Check: everything that can be known to be wrong before any sound is decoded, and the plan.

What is wrong with the config or the table stops a run. A file that cannot be opened does not: it is
named here, and a run sets it aside by name.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from prep import audio
from prep.attempts import why_by_pauses
from prep.chain import Chain, order_notices
from prep.document import did_you_mean, read_document
from prep.errors import AudioError, ConfigError, Problem
from prep.folder import read_folder
from prep.models import ModelMissingError, check_models, is_folder
from prep.names import exists, is_too_long
from prep.prose import plural
from prep.recogniser import check_folder
from prep.rows import check_rows
from prep.scripts import NAMED_BY_SCRIPT, Take, is_take, with_lines
from prep.slots import slot_problems, slots_of
from prep.spectrum import highest_tilt_band_hz
from prep.split import Split, draw_split, read_split
from prep.stage import Encoder, Stage
from prep.study import Clips, LoadedStudy, load_study
from prep.table import Reading, Row, not_there, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prep.document import Place
    from prep.slots import Slot
    from prep.study import Compare, Heldout, Study


@dataclass(frozen=True)
class Plan:
    """A study that can be run, and what is already known to be wrong with some of its clips."""

    loaded: LoadedStudy
    rows: list[Row]
    chain: Chain
    split: Split | None
    split_by: str
    headers: dict[str, audio.Header] = field(repr=False)
    slots: list[Slot] = field(default_factory=list, repr=False)
    takes: list[Take] = field(default_factory=list, repr=False)
    cut: list[dict[str, Any]] = field(default_factory=list, repr=False)
    clip_problems: list[Problem] = field(default_factory=list)
    notices: list[Problem] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 where every file can be opened, else 1."""
        return 1 if self.clip_problems else 0

    def half_of(self, row: Row) -> Literal["fit", "held-out"] | None:
        """Return the half of the split that a row is in; None outside the comparison."""
        if self.split is None or not _compared(self.loaded, row):
            return None
        return self.split.halves[row.columns[self.split_by]]


def checked(path: Path) -> Plan:
    """Read a study's config, table and headers.

    Raises:
        ConfigError: every problem that stops a run, at once.
    """
    try:
        loaded = load_study(path)
    except ConfigError as error:
        raise ConfigError([*error.problems, *_table_problems(path)]) from None
    return plan_of(loaded, path.parent)


def plan_of(loaded: LoadedStudy, started_from: Path) -> Plan:
    """Return the plan of a study that can be run.

    Args:
        loaded: the study.
        started_from: the folder that messages name files from.

    Raises:
        ConfigError: every problem that stops a run, at once.
    """
    reading = read_rows(loaded)
    reading = check_rows(reading, _needed_columns(loaded))
    column = loaded.study.compare.column if loaded.study.compare else "condition"
    reading, takes = with_lines(reading, column, loaded.study.slots.by)
    labelled = [*reading.rows, *_takes_without_lines(takes)]
    if labelled:
        reading = reading.plus(
            (
                *_column_problems(loaded, labelled),
                *_place_problems(loaded, labelled),
                *_slot_problems(loaded, reading.rows),
                *_take_problems(loaded, labelled),
                *_model_problems(loaded),
            )
        )
    if reading.problems:
        raise ConfigError(reading.problems, reading.notices)
    rows = list(reading.rows)
    headers, clip_problems = _headers(rows)
    problems = [*_band_problems(loaded, headers), *_rate_problems(loaded)]
    if problems:
        raise ConfigError(problems)
    chain = Chain.of(loaded.study.chain)
    split, by, split_notices = _split(loaded, rows)
    # A notice goes into the record, which may not depend on where prep was started.
    way = "" if started_from == Path() else f"{started_from}/"
    notices = [
        replace(notice, where=notice.where.removeprefix(way))
        for notice in (
            *reading.notices,
            *_take_notices(loaded, takes),
            *_order_notices(loaded),
            *_notices(loaded, rows, headers),
            *split_notices,
        )
    ]
    slots = slots_of(rows, loaded.study.slots.by)
    return Plan(loaded, rows, chain, split, by, headers, slots, takes, clip_problems=clip_problems, notices=notices)


def plan_summary(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON-able values: clips a condition, speakers a half, rates, the chain."""
    study, compare = plan.loaded.study, plan.loaded.study.compare
    column = compare.column if compare else "condition"
    stimuli = [row for row in plan.rows if row.role == "stimulus"]
    return {
        "study": study.study,
        "clips": len(plan.rows),
        "clips_by_condition": dict(sorted(Counter(row.columns.get(column, "") for row in stimuli).items())),
        "slots": len(plan.slots),
        "clips_by_role": dict(sorted(Counter(row.role for row in plan.rows).items())),
        "rates_by_condition": {
            condition: dict(sorted(Counter(plan.headers[row.file_name].rate for row in held).items()))
            for condition, held in _by_condition(plan.rows, column, plan.headers).items()
        },
        "split": split_record(plan),
        "chain": [
            {step.NAME: step.model_dump(mode="json", exclude_none=True)}
            for step in (*plan.chain.stages, plan.chain.encoder)
        ],
        "notices": [str(notice) for notice in plan.notices],
        "clip_problems": [str(problem) for problem in plan.clip_problems],
    }


def split_record(plan: Plan) -> dict[str, Any] | None:
    """Return the split as the record tells it: the column kept whole, each group's half, counts and warnings."""
    return {"by": plan.split_by, **plan.split.model_dump(mode="json")} if plan.split else None


def _table_problems(path: Path) -> Sequence[Problem]:
    """Return what is wrong with the table of a config that is wrong itself, where it says enough to find the table."""
    try:
        document = read_document(path)
        clips = Clips.model_validate(document.values.get("clips"))
        if clips.table is None:
            return []
        return with_lines(check_rows(read_table(path.parent / clips.table, clips.columns)))[0].problems
    except (ConfigError, ValidationError, OSError):
        return []


def _takes_without_lines(takes: Sequence[Take]) -> list[Row]:
    """Return the rows of takes whose scripts cannot be read: what they are labelled is known all the same."""
    filled = dict.fromkeys(NAMED_BY_SCRIPT, "")
    return [replace(take.row, columns=filled | take.row.columns) for take in takes if not take.lines]


def read_rows(loaded: LoadedStudy) -> Reading:
    """Return the rows of a study's table or folder as they stand there."""
    clips = loaded.study.clips
    place = loaded.path(clips.table or clips.folder or "")
    if not exists(place):
        where = loaded.document.where(("clips", "folder" if clips.table is None else "table"))
        return Reading(loaded.folder, str(place), problems=(not_there(place, where),))
    try:
        if clips.table is not None:
            return read_table(place, clips.columns)
        written = [loaded.path(loaded.study.output), loaded.path(loaded.study.cache)]
        return read_folder(place, clips.pattern, clips.regex, leave_out=written)
    except OSError as error:
        problem = Problem(
            loaded.document.where(("clips",)), error.strerror or str(error), "name a file or folder that is there"
        )
        return Reading(loaded.folder, str(place), problems=(problem,))


def _needed_columns(loaded: LoadedStudy) -> list[str]:
    """Return the columns that every stimulus must fill in."""
    compare = loaded.study.compare
    return [compare.column] if compare else []


def _compared(loaded: LoadedStudy, row: Row) -> bool:
    compare = loaded.study.compare
    return compare is not None and row.role == "stimulus" and row.columns.get(compare.column) in compare.sides


def _column_problems(loaded: LoadedStudy, rows: Sequence[Row]) -> Iterator[Problem]:
    """Yield each column and value that the config names and the table does not have."""
    study, document = loaded.study, loaded.document
    columns = list(dict.fromkeys(name for row in rows for name in row.columns))
    if study.compare is not None:
        compare = study.compare
        places: list[Place] = (
            [("compare", "conditions", index) for index in range(len(compare.conditions))]
            if compare.conditions
            else [("compare", "a"), ("compare", "b")]
        )
        named = compare.conditions or compare.sides
        selections: list[tuple[Place, dict[str, str | list[str]]]] = [
            (place, {compare.column: name}) for place, name in zip(places, named, strict=True)
        ]
        for name in compare.match:
            if name not in columns:
                yield _no_column(document.where(("compare", "match")), name, columns)
        if compare.unit not in columns and "unit" in compare.model_fields_set:
            yield _no_column(document.where(("compare", "unit")), compare.unit, columns)
    else:
        selections = []
    for index, step in enumerate(study.chain):
        if isinstance(step, Stage):
            selections += [(("chain", index, step.NAME, name), chosen) for name, chosen in step.selections()]
    for place, chosen in selections:
        yield from _selection_problems(document.where(place), chosen, rows, columns)
    for name in ("by", "column"):
        column = getattr(study.heldout, name)
        if column is not None and column not in columns and name in study.heldout.model_fields_set:
            yield _no_column(document.where(("heldout", name)), column, columns)


def _selection_problems(
    where: str, chosen: dict[str, str | list[str]], rows: Sequence[Row], columns: Sequence[str]
) -> Iterator[Problem]:
    for column, wanted in chosen.items():
        if column not in columns:
            yield _no_column(where, column, columns)
            continue
        if not wanted:
            yield Problem(where, f"names no value of {column}", "name one")
        values = {row.columns.get(column, "") for row in rows}
        for value in [wanted] if isinstance(wanted, str) else wanted:
            if value not in values:
                yield Problem(where, f"no clip has {column} = {value}", did_you_mean(value, values - {""}))


def _no_column(where: str, name: str, columns: Sequence[str]) -> Problem:
    return Problem(where, f"the clip table has no column {name}", did_you_mean(name, columns))


def _place_problems(loaded: LoadedStudy, rows: Sequence[Row]) -> Iterator[Problem]:
    """Yield what would make a run write over its own sources."""
    # Not Path.resolve, which links that loop make fail.
    output = Path(os.path.realpath(loaded.path(loaded.study.output)))
    cache = Path(os.path.realpath(loaded.path(loaded.study.cache)))
    inside = [row for row in rows if output in Path(os.path.realpath(row.path)).parents]
    if inside:
        what = f"{len(inside)} of the clips lie in the output folder, as {inside[0].file_name}"
        yield Problem(loaded.document.where(("output",)), what, "name a folder that holds no sources")
    for name, folder in (("output", output), ("cache", cache)):
        nearest = next(path for path in (folder, *folder.parents) if exists(path))
        if is_too_long(folder):
            yield Problem(loaded.document.where((name,)), "is longer than a name can be on this disk", "shorten it")
        elif not nearest.is_dir():
            yield Problem(loaded.document.where((name,)), f"{nearest} is a file", "name a folder")
        elif not os.access(nearest, os.W_OK):
            yield Problem(loaded.document.where((name,)), f"{nearest} cannot be written", "name a folder of your own")
    if cache == output or output in cache.parents:
        what = "the cache lies in the output folder"
        yield Problem(loaded.document.where(("cache",)), what, "name a folder beside it: the cache is not for others")


def _slot_problems(loaded: LoadedStudy, rows: Sequence[Row]) -> Iterator[Problem]:
    """Yield what is wrong with the slots: columns that are not there, and candidates of several conditions."""
    columns = list(dict.fromkeys(name for row in rows for name in row.columns))
    by, where = loaded.study.slots.by, loaded.document.where(("slots", "by"))
    missing = [name for name in by if name not in columns]
    if missing:
        yield from (_no_column(where, name, columns) for name in missing)
        return
    compare = loaded.study.compare
    yield from slot_problems(rows, slots_of(rows, by), compare.column if compare else None, where)


def _take_problems(loaded: LoadedStudy, rows: Sequence[Row]) -> Iterator[Problem]:
    """Yield that the rows whose heads and tails the takes are to have are not there."""
    chosen = loaded.study.takes.lengths_of
    if chosen is None:
        return
    where = loaded.document.where(("takes", "lengths_of"))
    columns = list(dict.fromkeys(name for row in rows for name in row.columns))
    wrong = list(_selection_problems(where, chosen, rows, columns))
    yield from wrong
    if not wrong and all(is_take(row) for row in rows if row.selected_by(chosen)):
        yield Problem(where, "its rows are takes, which have no heads and tails", "name rows of clips")


def _take_notices(loaded: LoadedStudy, takes: Sequence[Take]) -> Iterator[Problem]:
    """Yield how takes will be cut, where that is not as one would think."""
    settings = loaded.study.takes
    where = loaded.document.where(("takes",))
    why = why_by_pauses(settings.listener()) if takes else ""
    if why:
        what = f"takes are cut by their pauses and the length of their lines alone: {why}"
        yield Problem(where, what, "nobody will check their words; listen to the clips")
    if not takes and "takes" in loaded.study.model_fields_set:
        yield Problem(where, "no row of the table has a script, so nothing is cut", "give takes a script column")


def _model_problems(loaded: LoadedStudy) -> Iterator[Problem]:
    """Yield each model that the study needs and that is not here, at the step that needs it."""
    steps = enumerate(loaded.study.chain)
    needed: list[tuple[Place, Sequence[str]]] = [(("chain", index, step.NAME), step.models()) for index, step in steps]
    told: set[str] = set()
    for place, names in [*needed, ((), loaded.study.models())]:
        for name in sorted(set(names) - told):
            told.add(name)
            try:
                check_models([name])
                if is_folder(name):
                    check_folder(name)
            except ModelMissingError as error:
                yield Problem(loaded.document.where(place), str(error))


def _headers(rows: Sequence[Row]) -> tuple[dict[str, audio.Header], list[Problem]]:
    """Return the header of each file by its name, and the files that have none."""

    def look(row: Row) -> audio.Header | Problem:
        try:
            return audio.probe(row.path)
        except AudioError as error:
            named = "" if row.where == row.file_name else f"{row.file_name}: "
            what = named + str(error).removeprefix(f"{row.path}: ")
            return Problem(row.where or row.file_name, what, "replace the file, or take the row out")

    with ThreadPoolExecutor() as pool:
        looked = list(zip(rows, pool.map(look, rows), strict=True))
    headers = {row.file_name: seen for row, seen in looked if isinstance(seen, audio.Header)}
    # The lines of a take are of one file.
    return headers, list(dict.fromkeys(seen for _, seen in looked if isinstance(seen, Problem)))


def _band_problems(loaded: LoadedStudy, headers: dict[str, audio.Header]) -> Iterator[Problem]:
    """Yield that the set is too narrow for the band its tilt is measured in."""
    study = loaded.study
    low, high = study.tilt_band_hz
    narrow = {name: header.rate for name, header in headers.items() if highest_tilt_band_hz(header.rate) < high}
    if narrow and _tilt_is_measured(study):
        name, rate = min(narrow.items(), key=lambda item: item[1])
        what = f"{low:g} to {high:g} Hz is wider than {len(narrow)} of the clips; the narrowest is {name} at {rate} Hz"
        todo = f"set tilt_band_hz: [{low:g}, {highest_tilt_band_hz(rate):.0f}] for the whole study, or leave them out"
        yield Problem(loaded.document.where(("tilt_band_hz",)), what, todo)


def _rate_problems(loaded: LoadedStudy) -> Iterator[Problem]:
    """Yield that the delivered rate cannot hold the band in which tilt is measured again after decoding."""
    study, encoder = loaded.study, loaded.study.chain[-1]
    rate = encoder.target()[0] if isinstance(encoder, Encoder) else None
    high = study.tilt_band_hz[1]
    if rate is not None and highest_tilt_band_hz(rate) < high and _tilt_is_measured(study):
        what = (
            f"{rate} Hz cannot hold the tilt band up to {high:g} Hz, so tilt could not be proven on what is delivered"
        )
        todo = (
            f"deliver at a higher rate, or set tilt_band_hz up to {highest_tilt_band_hz(rate):.0f} for the whole study"
        )
        place = ("chain", len(study.chain) - 1, encoder.NAME, "rate")
        yield Problem(loaded.document.where(place), what, todo)


def _order_notices(loaded: LoadedStudy) -> Iterator[Problem]:
    """Yield which step a later one spoils."""
    for index, what, todo in order_notices(loaded.study.chain):
        yield Problem(loaded.document.where(("chain", index)), what, todo)


def _notices(loaded: LoadedStudy, rows: Sequence[Row], headers: dict[str, audio.Header]) -> Iterator[Problem]:
    """Yield what a researcher should know before the work: it stops nothing."""
    compare, document = loaded.study.compare, loaded.document
    if compare is None:
        return
    sides = _by_condition(rows, compare.column, headers)
    for condition, held in sides.items():
        if condition not in compare.sides:
            what = f"{len(held)} clips with {compare.column} {condition or '(empty)'} are delivered but not compared"
            yield Problem(document.where(("compare",)), what)
    compared = {name: sides.get(name, []) for name in compare.sides}
    cells = {name: {_cell(row, compare.match) for row in held} for name, held in compared.items()}
    for condition, held in compared.items():
        others = set().union(*(found for name, found in cells.items() if name != condition))
        alone = [row for row in held if _cell(row, compare.match) not in others]
        if compare.match and alone:
            what = f"{len(alone)} of {len(held)} clips of {condition} have no match, as {alone[0].file_name}"
            yield Problem(
                document.where(("compare", "match")), what, "a correction is then fitted on all clips, unmatched"
            )
    rates = {name: sorted(headers[row.file_name].rate for row in held) for name, held in compared.items() if held}
    for one, other in itertools.combinations(rates, 2):
        if rates[one][-1] < rates[other][0] or rates[other][-1] < rates[one][0]:
            told = " and ".join(f"{name} {rates[name][0]} to {rates[name][-1]} Hz" for name in (one, other))
            what = (
                f"the sources' rates tell the conditions apart ({told}); conversion to one rate does not undo the "
                "bandwidth"
            )
            yield Problem(document.where(("clips",)), what, "bring sources of one rate, or say so in the paper")
    yield from _copied_format_notices(loaded, sides, headers)


def _cell(row: Row, match: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.columns.get(name, "") for name in match)


def _copied_format_notices(
    loaded: LoadedStudy, sides: dict[str, list[Row]], headers: dict[str, audio.Header]
) -> Iterator[Problem]:
    """Yield that copied files differ in format by condition, which their names then tell."""
    if loaded.study.chain[-1].model_dump().get("codec") != "copy":
        return
    formats = {name: sorted({headers[row.file_name].container for row in held}) for name, held in sides.items() if held}
    if len({tuple(kinds) for kinds in formats.values()}) > 1:
        told = "; ".join(f"{name}: {', '.join(kinds)}" for name, kinds in formats.items())
        what = f"copied files keep their formats, and these differ by condition ({told}): names and sizes tell it"
        yield Problem(loaded.document.where(("chain",)), what, "encode to one format")


def _by_condition(rows: Sequence[Row], column: str, headers: dict[str, audio.Header]) -> dict[str, list[Row]]:
    """Return the stimuli that have a header by condition, in alphabetical order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.role == "stimulus" and row.file_name in headers:
            found.setdefault(row.columns.get(column, ""), []).append(row)
    return dict(sorted(found.items()))


def _tilt_is_measured(study: Study) -> bool:
    """Say whether a stage or an audited cue has a tilt band."""
    return any("tilt_band_hz" in type(item).model_fields for item in (*study.chain, *study.cues()))


def _split(loaded: LoadedStudy, rows: Sequence[Row]) -> tuple[Split | None, str, list[Problem]]:
    """Return the split of the compared clips, the column it keeps whole, and what to know of it.

    There is none where no column is filled, or where a half that corrections learn from lacks a condition.

    Raises:
        ConfigError: the column that should say the halves does not.
    """
    heldout, compare = loaded.study.heldout, loaded.study.compare
    compared = [row for row in rows if _compared(loaded, row)]
    if compare is None or not compared:
        return None, "", []
    notices = []
    where = loaded.document.where(("heldout",))
    by = next((name for name in (heldout.by, "passage") if _filled(compared, name)), "")
    for column in dict.fromkeys((heldout.by, compare.unit)):
        empty = [row for row in compared if not row.columns.get(column)]
        if empty:
            what = f"{len(empty)} of {len(compared)} compared clips have no {column}, as {empty[0].file_name}"
            notices.append(Problem(where, what, _without(column, compare, by, compared)))
    if not by:
        return None, "", notices
    if heldout.column is not None:
        told = [
            (row.where, row.columns[by], row.columns[compare.column], row.columns.get(heldout.column, ""))
            for row in compared
        ]
        split = read_split(told, column=heldout.column, group_name=by)
    else:
        clips = [(row.columns[by], row.columns[compare.column]) for row in compared]
        # `draw_split` speaks of the share that the fit may learn from.
        split = draw_split(clips, share=1 - heldout.share, seed=heldout.seed, group_name=by)
    todo = _other_split(heldout, compare, compared, by) if split.warnings else ""
    notices += [Problem(where, warning, todo) for warning in split.warnings]
    learns = any(isinstance(step, Stage) and step.fits_on() == "labels" for step in loaded.study.chain)
    if learns and not all(halves["fit"] for halves in split.groups.values()):
        what = "a correction cannot be fitted on a half without one of the conditions"
        notices.append(Problem(where, what, "nothing is held out, and the audit is descriptive"))
        return None, "", notices
    return split, by, notices


def _filled(rows: Sequence[Row], column: str) -> bool:
    """Say whether every row has a value in a column."""
    return all(row.columns.get(column) for row in rows)


def _without(column: str, compare: Compare, by: str, compared: Sequence[Row]) -> str:
    """Return what follows where compared clips have no value in the column of the unit or of the split."""
    split = f"the split keeps {plural(by)} whole" if by else "nothing is held out"
    tested = column != compare.unit
    if by and tested:
        return split
    settings = " and ".join([*([] if tested else ["compare.unit"]), *([] if by else ["heldout.by"])])
    known = ", as passage" if _filled(compared, "passage") else ""
    todo = f"give every clip a {column}, or set {settings} to a column that all have{known}"
    return f"{split}{'' if tested else ', and nothing can be tested'}: {todo}"


def _other_split(heldout: Heldout, compare: Compare, compared: Sequence[Row], by: str) -> str:
    """Return what gives both halves every condition: another column to split by where that does, else more clips."""
    if heldout.column is not None:
        return f"give each condition clips of both halves in {heldout.column}"
    for other in ("passage", "speaker"):
        if other != by and _filled(compared, other):
            clips = [(row.columns[other], row.columns[compare.column]) for row in compared]
            if not draw_split(clips, share=1 - heldout.share, seed=heldout.seed, group_name=other).warnings:
                return f"set heldout: {{by: {other}}}"
    return f"give each condition clips of two {plural(by)} or more"
