"""Attempts: one take, cut into a clip for every time that a line of its script was read. What a worker does.

What was heard in a take is kept in the store by itself: another script, margin or padding costs no recogniser.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from prep import audio
from prep.classifiers import cue_classes
from prep.classifiers.words import spoken, word_errors
from prep.cutting import CLOSURE_MARGIN_SECONDS, Piece, Span, gaps_at, pieces, sound_of
from prep.encoding import encode_wav
from prep.errors import ClipError
from prep.lines import MOST_ERROR, Match, matches
from prep.models import ModelMissingError, digests_of, model_path
from prep.pacing import paced
from prep.pauses import LONGEST_CLOSURE_SECONDS
from prep.prose import joined
from prep.recogniser import MODEL, Recogniser, Word, check_understood, languages, listed, words
from prep.store import Store, digest, key_of, write_whole
from prep.visit import sound_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prep.clip import Clip
    from prep.cutting import TakeSound
    from prep.units import Seconds

VERSION = 3  # raised when the same take is cut or heard otherwise, by `pauses` or `recogniser` too
CHECKS = ("clipping", "snr", "truncation")  # what ranks attempts, beside their words
CutBy = Literal["words", "pauses"]
Known = dict[str, Any]

WORD_ERROR_STEP = 5.0  # percent; one word of twenty, as `words` has it
SNR_STEP_DB = 3.0


@dataclass(frozen=True, slots=True)
class Task:
    """One take by its place among the takes: its file, the lines (number, text), how it is cut, and where clips go.

    Attributes:
        index: place among the takes.
        path: of the take.
        name: that messages call it.
        lines: number and text of each.
        why_by_pauses: why nobody listens; empty where the recogniser does.
        recogniser: who listens.
        margin_seconds: least distance between a cut and a word.
        head_seconds: wanted before the first word of a clip.
        tail_seconds: wanted after the last.
        store: of what is known already.
        folder: where clips are written, named by their hash.
    """

    index: int
    path: str
    name: str
    lines: tuple[tuple[int, str], ...]
    why_by_pauses: str
    recogniser: Recogniser
    margin_seconds: Seconds
    head_seconds: Seconds
    tail_seconds: Seconds
    store: Store
    folder: Path


class _Read(NamedTuple):
    """One reading of a line, by its place in the script: its span, and the words [first, last) of the take in it."""

    line: int
    span: Span
    first: int = 0
    last: int = 0


def why_by_pauses(recogniser: Recogniser | None) -> str:
    """Return why takes are cut by their pauses alone; empty where a recogniser can hear their words.

    Raises:
        ModelMissingError: the config's own folder holds no model.
    """
    if recogniser is None:
        return "the config says recogniser: off"
    try:
        model_path(recogniser.model)
    except ModelMissingError:
        if recogniser.folder:
            raise
        return f"the model {MODEL} is not here; type: prep models fetch {MODEL}"
    known = languages(recogniser)
    return "" if recogniser.code in known else f"the recogniser knows {listed(known)} and not {recogniser.language!r}"


def cut_take(task: Task) -> Known:
    """Return what a take holds, JSON-able, and write a clip for each reading of a line.

    Returns:
        `sha256`, `rate`, `frames`; `attempts`, in the order of time, each with `line`, `attempt`, its positions in
        samples of the take, `heard`, `figures` and the `clip_sha256` that names its file; `missing`, lines that were
        not found and why; `left_over`, what was said besides.

    Raises:
        ClipError: the take cannot be read, or has no speech.
    """
    data = audio.read_bytes(Path(task.path))
    sha256 = digest(data)
    asked = asdict(task) | {"index": 0, "path": "", "name": "", "store": "", "folder": ""}
    cues = [cue_classes()[name]().identity() for name in CHECKS]
    models = {} if task.why_by_pauses else digests_of([task.recogniser.model])
    key = key_of("takes", VERSION, sha256, sound_versions(), asked, cues, models)
    known: Known | None = task.store.get_json(key)
    if known is not None and all(_whole(task.folder, attempt["clip_sha256"]) for attempt in known["attempts"]):
        return known
    clip, facts = audio.decode(data, task.name)
    sound = sound_of(clip, task.margin_seconds, closures=bool(task.why_by_pauses))
    if task.why_by_pauses:
        heard: tuple[Word, ...] = ()
        read, missing, left_over = _by_pauses(task, sound)
    else:
        heard = _words(task, clip, sha256)
        read, missing, left_over = _by_words(task, clip, sound, heard)
    cuts = pieces(sound, [item.span for item in read], task.head_seconds, task.tail_seconds)
    attempts = []
    for number, item, cut in zip(_counted(read), read, cuts, strict=True):
        piece = clip.with_samples(clip.samples[cut.start : cut.end])
        written = encode_wav(piece, _bit_depth(piece, facts.bit_depth))
        said = heard[item.first : item.last]
        name = digest(written)
        write_whole(clip_path(task.folder, name), written)
        attempts.append(
            {
                "line": task.lines[item.line][0],
                "attempt": number,
                **_positions(cut),
                "heard": None if task.why_by_pauses else " ".join(word.text for word in said),
                "figures": _figures(piece, task.lines[item.line][1], said, by_words=not task.why_by_pauses),
                "clip_sha256": name,
            }
        )
    answer = {
        "sha256": sha256,
        "rate": clip.rate,
        "frames": clip.frames,
        "attempts": attempts,
        "missing": missing,
        "left_over": left_over,
    }
    task.store.put_json(key, answer)
    return answer


def clip_path(folder: Path, sha256: str) -> Path:
    """Return where a clip is, by its hash."""
    return folder / f"{sha256}.wav"


def rank_key(attempt: Known, take: int = 0) -> tuple[int, int, int, int, int]:
    """Return what attempts at a line are ranked by, the best first.

    Failed checks count first, then wrong words in steps of 5 %, then the signal-to-noise ratio in steps of 3 dB; of
    equals the later is the better, for a reader goes on once a line is well read.

    Args:
        attempt: what is known of it.
        take: place of its take in the table: attempts are numbered within each.
    """
    figures = attempt["figures"]
    errors = figures.get("word_error_percent") or 0.0
    return (
        len(figures["failed"]),
        round(errors / WORD_ERROR_STEP),
        -round(figures.get("snr_db", 0.0) / SNR_STEP_DB),
        -take,
        -attempt["attempt"],
    )


def _bit_depth(piece: Clip, depth: int | None) -> int:
    """Return the bits in which a clip is written without a change: those of the take where that is possible."""
    if depth in (16, 24):
        steps = piece.samples * np.float32(2.0 ** (depth - 1))
        if np.array_equal(steps, np.rint(steps)) and steps.max(initial=0.0) < 2.0 ** (depth - 1):
            return depth
    return 32


def _whole(folder: Path, sha256: str) -> bool:
    """Say whether a clip is there as it was written."""
    try:
        return digest(clip_path(folder, sha256).read_bytes()) == sha256
    except OSError:
        return False


def _words(task: Task, clip: Clip, sha256: str) -> tuple[Word, ...]:
    """Return the words of the take, from the store where they are known.

    Raises:
        ClipError: too little was understood.
    """
    key = key_of(
        "words of a take", VERSION, sha256, sound_versions(), digests_of([task.recogniser.model]), task.recogniser.code
    )
    known = task.store.get_json(key)
    heard = words(clip, task.recogniser) if known is None else tuple(Word(*word) for word in known)
    if known is None:
        task.store.put_json(key, heard)
    check_understood(heard, task.recogniser)
    return heard


def _by_words(
    task: Task, clip: Clip, sound: TakeSound, heard: Sequence[Word]
) -> tuple[list[_Read], list[Known], list[Known]]:
    """Return the readings that can be cut out, the lines without one, and what else was said."""
    located = _located(task, sound, heard)
    read = located.readings(sound)
    with_less: set[int] = set()
    if task.margin_seconds > CLOSURE_MARGIN_SECONDS:
        looser = sound_of(clip, CLOSURE_MARGIN_SECONDS, closures=False)
        with_less = {item.line for item in _located(task, looser, heard).readings(looser)}
    missing = [
        {"line": number, "text": text, "why": _why_missing(task, heard, located, place, less=place in with_less)}
        for place, (number, text) in enumerate(task.lines)
        if place not in {item.line for item in read}
    ]
    return read, missing, list(_left_over(sound, heard, read))


class _Located(NamedTuple):
    """Where lines were heard in a take.

    Attributes:
        found: readings, in the order of time; short ones stand between gaps.
        likely: the same, with short ones in the middle of other speech.
        nearest: what comes nearest to each line.
        after: as `gaps_at` returns it.
        before: likewise.
    """

    found: list[Match]
    likely: list[Match]
    nearest: list[Match]
    after: list[int | None]
    before: list[int | None]

    def readings(self, sound: TakeSound) -> list[_Read]:
        """Return the readings that gaps part from all else."""
        read: list[_Read] = []
        for match in self.found:
            begin, end = self.before[match.first], self.after[match.last]
            if begin is None or end is None or begin >= end or (read and begin < read[-1].span.after):
                continue
            read.append(_Read(match.line, sound.span(begin, end), match.first, match.last))
        return read

    def breath(self, line: int) -> tuple[list[Match], bool]:
        """Return the readings that run on into the last one of a line, and whether gaps part them from all else."""
        likely = self.likely
        places = [place for place, match in enumerate(likely) if match.line == line]
        if not places:
            return [self.nearest[line]], False
        first = last = places[-1]
        while first and not self._parted(likely[first - 1], likely[first]):
            first -= 1
        while last + 1 < len(likely) and not self._parted(likely[last], likely[last + 1]):
            last += 1
        whole = self.before[likely[first].first] is not None and self.after[likely[last].last] is not None
        return likely[first : last + 1], whole

    def _parted(self, one: Match, other: Match) -> bool:
        return any(gap is not None for gap in self.after[one.last : other.first + 1])


def _located(task: Task, sound: TakeSound, heard: Sequence[Word]) -> _Located:
    """Return where the lines of a script were heard, and which gaps part them."""
    times = np.array([(word.start_seconds, word.end_seconds) for word in heard])
    said = ["".join(spoken(word.text)) for word in heard]
    counts, lines = [len(word) for word in said], ["".join(spoken(text)) for _, text in task.lines]
    # Where lines may begin and end says which word a pause stands before; pauses say which short lines were read.
    likely, _ = matches(lines, said, [True] * (len(said) + 1))
    after, _ = gaps_at(sound, times, counts, _edges(likely))
    found, nearest = matches(lines, said, [gap is not None for gap in after])
    return _Located(found, likely, nearest, *gaps_at(sound, times, counts, _edges(found)))


def _edges(found: Iterable[Match]) -> set[int]:
    return {place for match in found for place in (match.first, match.last)}


def _why_missing(task: Task, heard: Sequence[Word], located: _Located, line: int, *, less: bool) -> str:
    """Return why a line has no clip: it runs on into its neighbours, or was not heard.

    Args:
        task: the take.
        heard: its words.
        located: where its lines were heard.
        line: by its place in the script.
        less: whether a smaller margin would part it from its neighbours.
    """
    nearest = located.nearest[line]
    if nearest.error <= MOST_ERROR:
        return _why_run_on(task, heard, *located.breath(line), less=less)
    if nearest.last == nearest.first:
        return "it was not heard; record it"
    words_of = heard[nearest.first : nearest.last]
    return (
        f"it was not heard; the nearest is {' '.join(word.text for word in words_of)!r} at "
        f"{words_of[0].start_seconds:.1f} s, with {100 * nearest.error:.0f} % of its sounds wrong; record it, or "
        "correct the script"
    )


def _why_run_on(task: Task, heard: Sequence[Word], run: Sequence[Match], whole: bool, *, less: bool) -> str:
    """Return why lines that are read in one breath have no clip, and what would give them one.

    Args:
        task: the take.
        heard: its words.
        run: the readings that run on into each other.
        whole: whether gaps part them from all else, so that one line of them would have a clip.
        less: as `_why_missing` takes it.
    """
    at = heard[run[0].first].start_seconds
    pause = (
        f"without a pause longer than a stop ({LONGEST_CLOSURE_SECONDS:g} s) that leaves {task.margin_seconds:g} s to "
        "either side"
    )
    smaller = f"set margin_seconds to {CLOSURE_MARGIN_SECONDS:g}, or " if less else ""
    if len(run) == 1:
        return f"it is read at {at:.1f} s and runs on into what is read beside it, {pause}; {smaller}record it again"
    lines = joined([str(task.lines[match.line][0]) for match in run])
    in_order = all(other.line == one.line + 1 for one, other in pairwise(run))
    one_line = "make one line of them in the script, or " if whole and in_order else ""
    return (
        f"lines {lines} are read in one breath from {at:.1f} s on, {pause}; {smaller}{one_line}record them again with "
        "pauses between"
    )


def _left_over(sound: TakeSound, heard: Sequence[Word], read: Sequence[_Read]) -> Iterator[Known]:
    """Yield the runs of words that are no part of a clip, with their times in samples."""
    firsts = [0, *(item.last for item in read)]
    for first, last in zip(firsts, [*(item.first for item in read), len(heard)], strict=True):
        if first < last:
            yield _run(sound, heard[first:last])


def _run(sound: TakeSound, run: Sequence[Word]) -> Known:
    frames = int(sound.bounds[-1])
    start, end = (min(round(time * sound.rate), frames) for time in (run[0].start_seconds, run[-1].end_seconds))
    return {"start_sample": start, "end_sample": end, "heard": " ".join(word.text for word in run)}


def _by_pauses(task: Task, sound: TakeSound) -> tuple[list[_Read], list[Known], list[Known]]:
    """Return a reading a line, or none at all with the reason for each line."""
    stretches = sound.bounds[sound.speech] / sound.rate
    counts = [len("".join(spoken(text))) or len(text) for _, text in task.lines]
    try:
        dealt = paced(stretches, counts)
    except ClipError as error:
        why = f"cut by its pauses alone: {error}; see that the take and its script agree, or let its words be heard"
        return [], [{"line": number, "text": text, "why": why} for number, text in task.lines], []
    return [_Read(line, sound.span(first, last)) for line, (first, last) in enumerate(dealt)], [], []


def _counted(read: Iterable[_Read]) -> Iterator[int]:
    """Yield which reading of its line each is, from 1."""
    counts: dict[int, int] = {}
    for item in read:
        counts[item.line] = counts.get(item.line, 0) + 1
        yield counts[item.line]


def _positions(cut: Piece) -> dict[str, int]:
    return {
        "start_sample": cut.start,
        "onset_sample": cut.onset,
        "offset_sample": cut.offset,
        "end_sample": cut.end,
    }


def _figures(piece: Clip, text: str, heard: Sequence[Word], *, by_words: bool) -> Known:
    """Return what an attempt is ranked by: wrong words, the figures of the checks, and which of these fail."""
    figures: Known = {}
    failed, unknown = [], {}
    if by_words:
        wanted = spoken(text)
        errors = word_errors(wanted, spoken(" ".join(word.text for word in heard)))
        figures["word_error_percent"] = round(100.0 * errors / max(len(wanted), 1), 4)
    for name in CHECKS:
        cue = cue_classes()[name]()
        try:
            values = cue.measure(piece)
        except ClipError as error:
            unknown[name] = str(error)
            values = {}
        figures |= {feature: round(value, 4) for feature, value in values.items()}
        limits = cue.LIMITS.items()
        if name in unknown or any(_breaks(values[limit[4:]], limit[:3], most) for limit, most in limits):
            failed.append(name)
    return figures | {"failed": failed, "not_checked": unknown}


def _breaks(value: float, end: str, limit: float) -> bool:
    return value > limit if end == "max" else value < limit
