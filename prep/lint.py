"""Lint: what tells the conditions apart without listening, in a folder of delivered clips.

Everything that a listener's browser could see is looked at: names, order, tags, encoder strings, format,
sizes, times, lengths, equal clips. `prep.leaks` has the rules.
"""

from __future__ import annotations

import io
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from prep import audio
from prep.classifiers.length_granularity import HOPS
from prep.errors import AudioError, ClipError, ConfigError, NothingUsableError, Problem
from prep.labels import Labels, known_from_key, known_from_table
from prep.leaks import (
    FEWEST_FOR_ALL,
    alternates,
    guessed_names,
    holds,
    is_opaque,
    ordered,
    own_values,
    parts_of,
    values_of_one,
)
from prep.mpeg import mp3_stream
from prep.names import SOUND_SUFFIXES, is_system_file
from prep.prose import counted
from prep.store import digest
from prep.tags import tag_names, without_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

FEWEST_LETTERS = 5  # of a word looked for in bytes: in a megabyte of sound, five letters meet 1 in 30,000 times
TEXT_BYTES = 1 << 20  # of a page or list beside the clips that is read
SOURCE_RATES = (16000, 22050, 24000, 32000, 44100, 48000)  # Hz, of synthesisers and corpora
LARGEST_SHARE = 0.5  # of another condition's clips that may share a hop for it to tell
SHOWN = 3  # clips named in one message
TEXT_SHOWN = 60  # characters of a tag


@dataclass(frozen=True, slots=True)
class Seen:
    """One clip as a browser sees it, under one label.

    Attributes:
        name: path below the folder.
        labels: what it must not tell.
        size_bytes: of the file.
        modified: time of the last change in whole seconds, as a server sends it.
        sha256: of the file.
        samples_sha256: of the decoded sound.
        facts: of the file.
        format: each value of which a set should have one, by what it is.
        spoken: which of its labels its bytes hold.
    """

    name: str
    labels: Labels
    size_bytes: int
    modified: int
    sha256: str
    samples_sha256: str
    facts: audio.AudioFacts
    format: Mapping[str, tuple[str, ...]]
    spoken: tuple[str, ...]

    @property
    def condition(self) -> str:
        """Its condition."""
        return self.labels.condition

    @property
    def stem(self) -> str:
        """Its name without folder and suffix."""
        return PurePosixPath(self.name).stem


@dataclass(frozen=True)
class Lint:
    """What was found in a folder. Notes are differences that follow from the sound, or that no rule judges."""

    folder: Path
    clips: int
    conditions: dict[str, int]
    leaks: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 where nothing tells the conditions apart, else 1."""
        return 1 if self.leaks else 0


def lint_folder(folder: Path, table: Path | None = None, column: str | None = None) -> Lint:
    """Look for whatever tells the conditions of delivered clips apart without listening.

    Args:
        folder: of the clips, or the output folder of a run.
        table: the clip table that names the files and their conditions, or the config of a study that names the
            table and its columns; without it the run's key does.
        column: that holds the condition; by default the one that the config or the run compares.

    Raises:
        ConfigError: the conditions are not known, or there is only one.
        NothingUsableError: no clip with a condition is in the folder.
    """
    labels, known, column, named_by_prep = known_from_table(table, column) if table else known_from_key(folder, column)
    folder = folder / "audio" if (folder / "key.csv").is_file() and (folder / "audio").is_dir() else folder
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not is_system_file(path.name))
    notes: list[Problem] = []
    leaks: list[Problem] = []
    seen: list[Seen] = []
    unknown: list[str] = []
    for path in paths:
        rows = labels.get(path.resolve(), [])
        name = path.relative_to(folder).as_posix()
        if rows:
            try:
                seen += _looked_at(path, name, rows)
            except (OSError, ClipError) as error:
                leaks.append(Problem(name, f"cannot be read: {error}", "replace it: a listener cannot play it either"))
        elif path.suffix.lower() in SOUND_SUFFIXES:
            unknown.append(name)
        else:
            leaks += _beside(path, name, [row for several in labels.values() for row in several])
    conditions = [clip.condition for clip in seen]
    counts = {name: conditions.count(name) for name in sorted(set(conditions))}
    if not seen:
        raise NothingUsableError(f"{folder}: holds no readable clip that {known} knows; name the folder of its clips")
    if len(counts) < 2:
        todo = "name a column with two conditions by --column, or the table by --table"
        raise ConfigError([Problem(known, f"the clips in {folder} have one {column} only, {conditions[0]!r}", todo)])
    for rule in _RULES:
        leaks += rule(seen)
    if unknown:
        notes.append(Problem(_some(unknown), f"no stimulus with a {column} in {known}", "not judged"))
    notes += _sizes(seen, leaks) + _content_names(seen, own=named_by_prep) + _lengths(seen)
    return Lint(folder, len({clip.name for clip in seen}), counts, leaks, notes)


# Looking ------------------------------------------------------------------------------------------


def _looked_at(path: Path, name: str, rows: Sequence[Labels]) -> list[Seen]:
    """Return one clip under each of its labels.

    Raises:
        AudioError: it cannot be decoded.
    """
    data = audio.read_bytes(path)
    clip, facts = audio.decode(data, name)
    samples = digest(clip.samples.tobytes() + f"{clip.samples.shape}{clip.rate}".encode())
    modified, sha256, about = int(path.stat().st_mtime), digest(data), _format(data, name, facts)
    lowered = data.lower()
    return [
        Seen(name, row, len(data), modified, sha256, samples, facts, about, tuple(_spoken(lowered, row)))
        for row in rows
    ]


def _spoken(lowered: bytes, labels: Labels) -> Iterator[str]:
    """Yield which of its labels the bytes of a file, in lower case, hold in UTF-8 or UTF-16."""
    for what, word in labels.words.items():
        forms = (word.lower().encode(code) for code in ("utf-8", "utf-16-le"))
        if len(word) >= FEWEST_LETTERS and any(form in lowered for form in forms):
            yield what


def _format(data: bytes, name: str, facts: audio.AudioFacts) -> dict[str, tuple[str, ...]]:
    """Return each property of a file of which a uniform set has one value, by what it is."""
    stream = mp3_stream(data) if facts.container == "MP3" else None
    encoder, texts = _texts(data)
    about = {
        "folder": (PurePosixPath(name).parent.as_posix(),),
        "suffix": (PurePosixPath(name).suffix,),
        "container": (facts.container,),
        "codec": (facts.codec,),
        "sampling rate": (f"{facts.rate} Hz",),
        "number of channels": (str(facts.channels),),
        "bit depth": (str(facts.bit_depth or "none"),),
        "tag": tuple(dict.fromkeys((*facts.tags, *tag_names(data)))) or ("none",),
        "encoder string": encoder,
        "tag text": texts,
        "amount of bytes beside the sound": (_beside_sound(data, facts, name),),
    }
    if stream:
        about["bitrate"] = (f"{stream.kbps[0]} kb/s" if len(stream.kbps) == 1 else "variable",)
        about["MP3 channel mode"] = (("stereo", "joint stereo", "two channels", "mono")[data[stream.start + 3] >> 6],)
        about["encoder low-pass"] = (f"{stream.tag.lowpass_hz} Hz",)
        about["encoder delay"] = (f"{stream.tag.delay} samples",)
    return about


def _texts(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the encoder calls itself in the file, and each tag with its text."""
    import mutagen

    try:
        found = mutagen.File(io.BytesIO(data))
    except Exception:  # noqa: BLE001 - mutagen stumbles in many ways over tags; the sound is decoded already
        return ("unreadable",), ("unreadable",)
    tags, info = getattr(found, "tags", None), getattr(found, "info", None)
    encoders = (getattr(tags, "vendor", ""), getattr(info, "encoder_info", ""))
    texts = {f"{name}: {str(text)[:TEXT_SHOWN]}" for name, text in dict(tags or {}).items()}
    return tuple(str(text) for text in encoders if text) or ("none",), tuple(sorted(texts)) or ("none",)


def _beside_sound(data: bytes, facts: audio.AudioFacts, name: str) -> str:
    """Return how many bytes of the file a player does not need, in words."""
    try:
        return str(len(data) - len(without_tags(data, facts.container, name)))
    except AudioError:
        return "unknown"


def _beside(path: Path, name: str, labels: Sequence[Labels]) -> Iterator[Problem]:
    """Yield what a page, list or other file among the clips says of the conditions."""
    data = path.read_bytes()[:TEXT_BYTES].lower() if path.stat().st_size <= TEXT_BYTES else b""
    told = sorted({f"{what} {row.words[what]!r}" for row in labels for what in _spoken(data, row)})
    if told:
        yield Problem(name, f"lies among the clips and holds the {_some(told)}", "take it out of the folder")


# Rules --------------------------------------------------------------------------------------------


def _words(seen: Sequence[Seen]) -> Iterator[Problem]:
    """Words of the condition, system, speaker or source in names and in bytes."""
    named: dict[str, dict[str, str]] = defaultdict(dict)
    spoken: dict[str, dict[str, str]] = defaultdict(dict)
    for clip in seen:
        name = PurePosixPath(clip.name)
        readable = str(name.parent) if is_opaque(clip.stem) else str(name.with_suffix(""))
        for what, word in clip.labels.words.items():
            if holds(readable, word):
                named[what][clip.name] = word
            if what in clip.spoken:
                spoken[what][clip.name] = word
    for what, words in named.items():
        text = f"the name holds the {what}: {_some([repr(word) for word in words.values()])}"
        yield Problem(_some(list(words)), text, "name the clips by a keyed hash, as prep run does")
    for what, words in spoken.items():
        text = f"the bytes hold the {what}: {_some([repr(word) for word in words.values()])}"
        yield Problem(_some(list(words)), text, "take tags and text out: run prep, which writes none")


def _name_parts(seen: Sequence[Seen]) -> Iterator[Problem]:
    """Parts, beginnings and lengths of names that only clips of one condition have."""
    clips = [clip for clip in seen if not is_opaque(clip.stem)]
    marks = [_marks(clip.stem) for clip in clips]
    for condition, values in values_of_one(marks, [clip.condition for clip in clips]).items():
        names = [clip.name for clip, own in zip(clips, marks, strict=True) if {*own} & {*values}]
        what = f"only names of {condition!r} have {_some(values)}"
        yield Problem(_some(names), what, "name the clips by a keyed hash, as prep run does")


def _marks(stem: str) -> list[str]:
    """Return what catches the eye in a name."""
    parts = [f"the part {part!r}" for part in parts_of(stem)]
    return [*parts, f"the beginning {stem[:1]!r}", f"{len(stem)} characters"]


def _order(seen: Sequence[Seen]) -> Iterator[Problem]:
    """The sorted order of the names."""
    clips = sorted(seen, key=lambda clip: clip.name)
    conditions = [clip.condition for clip in clips]
    todo = "name the clips by a keyed hash, or shuffle them with a seed"
    for first, last, figure in ordered(range(len(clips)), conditions):
        what = f"sorted by name, {first!r} comes before {last!r} (AUC {figure:.2f})"
        yield Problem(_some([clip.name for clip in clips]), what, todo)
    if alternates(conditions):
        turn = ", ".join(conditions[: len(set(conditions))])
        yield Problem(_some([clip.name for clip in clips]), f"sorted by name, the clips go {turn} all along", todo)


def _formats(seen: Sequence[Seen]) -> Iterator[Problem]:
    """Properties of files: each value must be met in every condition."""
    for what in dict.fromkeys(what for clip in seen for what in clip.format):
        held = [(value, clip) for clip in seen for value in clip.format.get(what, ("none",))]
        own = own_values([value for value, _ in held], [clip.condition for _, clip in held])
        for value, (having, lacking) in own.items():
            names = [clip.name for each, clip in held if each == value]
            text = f"the {what} {value!r} is met in {_quoted(having)} and never in {_quoted(lacking)}"
            yield Problem(_some(names), text, "deliver every clip through one encode")


def _times(seen: Sequence[Seen]) -> Iterator[Problem]:
    """Times of the last change."""
    conditions = [clip.condition for clip in seen]
    todo = "give all files one time, as prep run does: touch -d 2000-01-01 *"
    for condition, values in values_of_one([[clip.modified] for clip in seen], conditions).items():
        yield Problem(condition, f"only its files have the modification time {_some(values)}", todo)
    for first, last, figure in ordered([clip.modified for clip in seen], conditions):
        yield Problem(last, f"its files were modified after those of {first!r} (AUC {figure:.2f})", todo)


def _granularity(seen: Sequence[Seen]) -> Iterator[Problem]:
    """Lengths that are whole hops in one condition, at the clips' rate or at the one they were resampled from."""
    by_condition: dict[str, list[Seen]] = defaultdict(list)
    for clip in seen:
        by_condition[clip.condition].append(clip)
    for condition, clips in by_condition.items():
        others = [other for name, other in by_condition.items() if name != condition]
        if min(map(len, (clips, *others))) < FEWEST_FOR_ALL:
            continue
        for rate in (None, *SOURCE_RATES):
            hop = next((hop for hop in HOPS if _share(clips, hop, rate) == 1), None)
            if hop and min(_share(other, hop, rate) for other in others) <= LARGEST_SHARE:
                at = f" at {rate} Hz" if rate else ""
                what = f"every length of {condition!r} is a multiple of {hop} samples{at}"
                todo = "trim or pad the ends of all clips alike, by lengths of no common grid"
                yield Problem(_some([clip.name for clip in clips]), what, todo)
                break


def _share(clips: Sequence[Seen], hop: int, rate: int | None) -> float:
    """Return the share of clips whose length is a whole number of hops at a rate, to half a frame of their own."""
    lengths = [(clip.facts.frames, hop if rate is None else hop * clip.facts.rate / rate) for clip in clips]
    return sum(abs(frames - round(frames / step) * step) <= 0.5 for frames, step in lengths) / len(clips)


def _equal(seen: Sequence[Seen]) -> Iterator[Problem]:
    """The same bytes, or the same sound, under two conditions."""
    told = set()
    for same, key in (("bytes", "sha256"), ("samples", "samples_sha256")):
        groups: dict[str, list[Seen]] = defaultdict(list)
        for clip in seen:
            groups[getattr(clip, key)].append(clip)
        for clips in groups.values():
            names = tuple(dict.fromkeys(clip.name for clip in clips))
            conditions = sorted({clip.condition for clip in clips})
            if len(conditions) > 1 and names not in told:
                told.add(names)
                what = f"the same {same} stand for {_quoted(conditions)}"
                yield Problem(_some(names), what, "correct the labels, or take all but one out")


def _guessed(seen: Sequence[Seen]) -> Iterator[Problem]:
    """Names that are hashes of what can be guessed."""
    found = guessed_names({clip.stem for clip in seen}, [clip.labels.guesses for clip in seen])
    by_recipe: dict[str, list[str]] = defaultdict(list)
    for clip in seen:
        if clip.stem in found and clip.name not in by_recipe[found[clip.stem]]:
            by_recipe[found[clip.stem]].append(clip.name)
    for recipe, names in by_recipe.items():
        todo = "key the hash with a secret, as prep run does its ids"
        yield Problem(_some(names), f"the name is {recipe}, which can be tried out", todo)


_RULES: tuple[Callable[[Sequence[Seen]], Iterator[Problem]], ...] = (
    _words,
    _name_parts,
    _order,
    _formats,
    _times,
    _granularity,
    _equal,
    _guessed,
)


# Notes --------------------------------------------------------------------------------------------


def _sizes(seen: Sequence[Seen], leaks: list[Problem]) -> list[Problem]:
    """Judge size a second: a note where all clips have one format and nothing beside the sound, else a leak.

    In one format the size follows from the sound alone: a noisy clip packs worse. Where formats differ, so may
    the size because of them, and it is added to the leaks.
    """
    uniform = all(clip.format == seen[0].format for clip in seen)
    todo = "it follows from the sound: see the audit" if uniform else "deliver every clip through one encode"
    found = [
        Problem(high, f"its files are larger a second than those of {low!r} (AUC {figure:.2f})", todo)
        for low, high, figure in ordered([_bytes_per_second(clip) for clip in seen], [clip.condition for clip in seen])
    ]
    if uniform:
        return found
    leaks += found
    return []


def _bytes_per_second(clip: Seen) -> float:
    return clip.size_bytes * clip.facts.rate / max(clip.facts.frames, 1)


def _content_names(seen: Sequence[Seen], *, own: bool) -> list[Problem]:
    """Note names that are hashes of the file itself: the sound is known to who owns it, not the condition."""
    count = len({clip.name for clip in seen if clip.stem.casefold() == clip.sha256})
    how = ", as prep run names what it delivers" if own else ""
    what = f"the name is the sha256 of the file{how}: no condition shows, but who has a clip recognises it"
    todo = "publish copies under the ids of manifest.csv" if own else "publish under other names"
    return [Problem(counted(count, "clip"), what, todo)] if count else []


def _lengths(seen: Sequence[Seen]) -> list[Problem]:
    """Note lengths that tell the conditions apart: they are heard too."""
    seconds = [clip.facts.frames / clip.facts.rate for clip in seen]
    return [
        Problem(
            high, f"its clips are longer than those of {low!r} (AUC {figure:.2f})", "it can be heard: see the audit"
        )
        for low, high, figure in ordered(seconds, [clip.condition for clip in seen])
    ]


def _some(texts: Sequence[Any]) -> str:
    """Return the first texts of a list, and how many more there are."""
    different = list(dict.fromkeys(map(str, texts)))
    more = len(different) - SHOWN
    return ", ".join(different[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
