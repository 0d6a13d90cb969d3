"""Blindness lint: whatever tells the conditions apart without listening is named, and nothing else."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mutagen.flac
import mutagen.id3
import numpy as np
import pytest
import soundfile
import yaml

from prep.errors import ConfigError, NothingUsableError
from prep.lint import Lint, lint_folder
from prep.progress import Silent
from prep.run import run_study

RATE = 16000
CONDITIONS = ("human", "synthetic")
CLIPS = 16  # eight a side: enough for every rule
ONE_TIME = 946684800

MakeStudy = Any
Clips = Callable[..., Path]


def opaque(place: int) -> str:
    """Return a name that says nothing and in whose order the conditions are mixed."""
    return hashlib.sha256(f"a secret, {place}".encode()).hexdigest()


@pytest.fixture
def clips(tmp_path: Path) -> Clips:
    """Return a maker of folders with eight clips a condition, alike but for their sound, and a table beside."""

    def make(
        name: Callable[[int, str], str] = lambda place, _: opaque(place),
        suffix: str = ".flac",
        frames: Callable[[int, str], int] = lambda place, _: 4001 + 37 * place,
        **settings: Any,
    ) -> Path:
        folder = tmp_path / "clips"
        folder.mkdir()
        rows = []
        for place in range(CLIPS):
            condition = CONDITIONS[place * 2 // CLIPS]
            path = folder / (name(place, condition) + suffix)
            noise = 0.1 * np.random.default_rng(place).standard_normal(frames(place * 7 % CLIPS, condition))
            soundfile.write(path, noise, RATE, **settings)
            rows.append([f"clips/{path.name}", condition, f"speaker-{place}", f"p{place % 8}"])
        with (tmp_path / "clips.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["file_name", "condition", "speaker", "passage"], *rows])
        return folder

    return make


def found(folder: Path) -> Lint:
    """Return what lint finds in a folder with one time for all files, by the table beside it."""
    for path in folder.iterdir():
        os.utime(path, (ONE_TIME, ONE_TIME))
    return lint_folder(folder, folder.parent / "clips.csv")


def told(done: Lint, *words: str) -> bool:
    """Say whether one leak holds all the words."""
    return any(all(word in str(leak) for word in words) for leak in done.leaks)


def one_of(folder: Path, condition: str) -> Path:
    """Return the first clip of a condition."""
    rows = csv.DictReader((folder.parent / "clips.csv").read_text(encoding="utf-8").splitlines())
    return folder.parent / next(row["file_name"] for row in rows if row["condition"] == condition)


@pytest.mark.parametrize("suffix", [".flac", ".wav", ".mp3", ".ogg"])
def test_a_uniform_set_is_clean(clips: Clips, suffix: str) -> None:
    """Clips that differ in sound and length alone, under names of a secret, have no leak and exit code 0."""
    done = found(clips(suffix=suffix))

    assert done.leaks == []
    assert done.exit_code == 0
    assert done.conditions == {"human": 8, "synthetic": 8}


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("codec", ["flac", "mp3"])
def test_a_run_is_clean(make_study: MakeStudy, codec: str) -> None:
    """What a run delivers has no leak, by its own key, from the output folder and from its audio."""
    config = make_study(
        chain=[{"shared_gain": {"target_lufs": -30}}, {"encode": {"codec": codec}}], audit={"cues": ["duration"]}
    )
    run_study(config, Silent())
    output = config.parent / "out"

    assert lint_folder(output).leaks == []
    assert lint_folder(output / "audio").leaks == []
    assert "sha256" in str(lint_folder(output).notes[0])


def test_a_tag_on_one_condition(clips: Clips) -> None:
    """An ID3 tag on one clip of one condition is a leak."""
    folder = clips(suffix=".mp3")
    tags = mutagen.id3.ID3()
    tags.add(mutagen.id3.TIT2(encoding=3, text="a title"))
    tags.save(one_of(folder, "human"))

    assert told(found(folder), "tag", "TIT2", "never in 'synthetic'", one_of(folder, "human").name)


def test_a_tag_with_another_text(clips: Clips) -> None:
    """A tag that all clips have, with another text in one condition, is a leak."""
    folder = clips()
    for path in folder.iterdir():
        flac = mutagen.flac.FLAC(path)
        flac["album"] = "B" if path == one_of(folder, "human") else "A"
        flac.save()
    done = found(folder)

    assert told(done, "tag text", "album: ['B']", one_of(folder, "human").name)
    assert not told(done, "tag 'album'")


def test_a_condition_in_a_file_name(clips: Clips) -> None:
    """A condition in one file name is a leak, and the name is said."""
    folder = clips()
    path = one_of(folder, "synthetic")
    named = path.with_name("Take_Synthetic-07.flac")
    path.rename(named)
    table = folder.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace(path.name, named.name), encoding="utf-8")

    assert told(found(folder), named.name, "the name holds the condition: 'synthetic'")


def test_a_speaker_in_file_names(clips: Clips) -> None:
    """A speaker's name in file names is a leak, however it is joined."""
    folder = clips(name=lambda place, _: f"{opaque(place)[:4]}xSpeaker_{place}")

    assert told(found(folder), "the name holds the speaker", "'speaker-")


def test_a_letter_for_the_condition(clips: Clips) -> None:
    """A letter that stands in the names of one condition is a leak."""
    assert told(
        found(clips(name=lambda place, condition: f"{place:02d}{condition[0]}")), "only names of 'human'", "'h'"
    )


def test_sorted_order(clips: Clips) -> None:
    """Numbers that run through one condition first are a leak, as is strict alternation."""
    assert told(found(clips(name=lambda place, _: f"{place:03d}")), "sorted by name, 'human' comes before 'synthetic'")


def test_alternating_order(clips: Clips) -> None:
    """Conditions that alternate in sorted order are a leak."""
    done = found(clips(name=lambda place, _: f"{place * 2 % CLIPS + place * 2 // CLIPS:03d}"))

    assert told(done, "the clips go human, synthetic all along")


def test_one_clip_at_another_bitrate(clips: Clips) -> None:
    """One clip at another bitrate is a leak."""
    settings = {"suffix": ".mp3", "bitrate_mode": "CONSTANT"}
    folder = clips(compression_level=0.8, **settings)
    path = one_of(folder, "synthetic")
    noise, rate = soundfile.read(path)
    soundfile.write(path, noise, rate, compression_level=0.2, bitrate_mode="CONSTANT")

    assert told(found(folder), "the bitrate", "kb/s", "never in 'human'", path.name)


@pytest.mark.parametrize(
    ("what", "settings"),
    [
        ("sampling rate", {"rate": 22050}),
        ("number of channels", {"channels": 2}),
        ("bit depth", {"subtype": "PCM_24"}),
    ],
)
def test_one_clip_in_another_format(clips: Clips, what: str, settings: dict[str, Any]) -> None:
    """One clip of another rate, number of channels or bit depth is a leak."""
    folder = clips()
    path = one_of(folder, "human")
    noise, rate = soundfile.read(path, always_2d=True)
    noise = np.repeat(noise, settings.get("channels", 1), axis=1)
    soundfile.write(path, noise, settings.get("rate", rate), subtype=settings.get("subtype", "PCM_16"))

    assert told(found(folder), what, "met in 'human' and never in 'synthetic'", path.name)


def test_another_encoder(clips: Clips) -> None:
    """An encoder that calls itself otherwise in one condition, and padding in the file, are leaks."""
    folder = clips()
    path = one_of(folder, "human")
    flac = mutagen.flac.FLAC(path)
    flac.tags.vendor = "another encoder"
    flac.save(padding=lambda _: 3000)
    done = found(folder)

    assert told(done, "encoder string", "another encoder")
    assert told(done, "amount of bytes beside the sound")


def test_the_same_audio_under_two_conditions(clips: Clips) -> None:
    """Equal bytes under two conditions are a leak, and so is equal sound in other bytes."""
    folder = clips()
    human, synthetic = one_of(folder, "human"), one_of(folder, "synthetic")
    synthetic.write_bytes(human.read_bytes())
    assert told(found(folder), "the same bytes stand for 'human', 'synthetic'", human.name, synthetic.name)

    flac = mutagen.flac.FLAC(synthetic)
    flac["comment"] = "x"
    flac.save()
    assert told(found(folder), "the same samples stand for")


def test_times_by_condition(clips: Clips) -> None:
    """Files of one condition that were written after those of the other are a leak."""
    folder = clips()
    found(folder)
    rows = list(csv.DictReader((folder.parent / "clips.csv").read_text(encoding="utf-8").splitlines()))
    for place, row in enumerate(rows):
        os.utime(folder.parent / row["file_name"], (ONE_TIME + place, ONE_TIME + place))
    assert told(lint_folder(folder, folder.parent / "clips.csv"), "modified after those of 'human'")

    for row in rows:
        time = ONE_TIME + 3600 * (row["condition"] == "human")
        os.utime(folder.parent / row["file_name"], (time, time))
    assert told(lint_folder(folder, folder.parent / "clips.csv"), "only its files have the modification time")


@pytest.mark.parametrize("resampled", [1.0, 44100 / 24000])
def test_whole_hops(clips: Clips, resampled: float) -> None:
    """Lengths of whole hops in one condition are a leak, after resampling too."""
    hops = 256 * resampled * RATE / (44100 if resampled > 1 else RATE)

    def frames(place: int, condition: str) -> int:
        return round((40 + place) * hops) if condition == "synthetic" else 10001 + 371 * place

    assert told(found(clips(frames=frames)), "every length of 'synthetic' is a multiple of 256 samples")


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("{condition}_p{passage}", "condition and passage"),
        ("{number}", "row number"),
        ("{number}-{condition}", "row number and condition"),
        ("speaker-{place}", "speaker"),
    ],
)
@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256"])
def test_hashes_of_guessable_ids(clips: Clips, text: str, recipe: str, algorithm: str) -> None:
    """Names that are hashes of row numbers, labels and their combinations are a leak, cut short too."""

    def name(place: int, condition: str) -> str:
        guess = text.format(condition=condition, passage=place % 8, number=place + 1, place=place)
        return hashlib.new(algorithm, guess.encode()).hexdigest()[:20]

    assert told(found(clips(name=name)), f"the {algorithm} of its {recipe}, which can be tried out")


def test_labels_in_bytes_and_beside(clips: Clips) -> None:
    """A label in the bytes of a clip, and a list of labels among the clips, are leaks."""
    folder = clips(suffix=".wav")
    path = one_of(folder, "synthetic")
    path.write_bytes(path.read_bytes() + b"note\x0a\0\0\0Synthetic\0")
    (folder / "list.html").write_text("<li>human</li>", encoding="utf-8")
    done = found(folder)

    assert told(done, path.name, "the bytes hold the condition")
    assert told(done, "list.html", "condition 'human'")


def test_size_is_a_note_where_it_follows_from_the_sound(clips: Clips) -> None:
    """In one format larger files a second are a note, since the sound makes them; so are longer clips."""
    folder = clips(frames=lambda place, condition: 4001 + 37 * place + 9000 * (condition == "human"))
    for path in folder.iterdir():
        noise, rate = soundfile.read(path)
        soundfile.write(path, noise * (0.01 if len(noise) > 9000 else 1), rate)
    done = found(folder)

    assert done.leaks == []
    assert any("larger a second than those of 'human'" in str(note) for note in done.notes)
    assert any("longer than those of 'synthetic'" in str(note) for note in done.notes)


def test_what_cannot_be_judged_is_said(clips: Clips) -> None:
    """A clip that no row names is a note; one that cannot be played is a leak; no clip at all is an error."""
    folder = clips()
    (folder / f"{opaque(99)}.flac").write_bytes(one_of(folder, "human").read_bytes())
    one_of(folder, "human").write_bytes(b"nothing")
    done = found(folder)
    assert told(done, "cannot be read")
    assert any(opaque(99) in str(note) for note in done.notes)

    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(NothingUsableError, match="no readable clip"):
        lint_folder(empty, folder.parent / "clips.csv")


def test_the_conditions_must_be_known(clips: Clips) -> None:
    """Without a key or a table, without the column, or with one condition, nothing is called clean."""
    folder = clips()
    with pytest.raises(ConfigError, match=r"no key\.csv"):
        lint_folder(folder)
    table = folder.parent / "clips.csv"
    with pytest.raises(ConfigError, match="no clip has a system"):
        lint_folder(folder, table, "system")
    table.write_text(table.read_text(encoding="utf-8").replace("synthetic", "human"), encoding="utf-8")
    with pytest.raises(ConfigError, match="one condition only"):
        lint_folder(folder, table)


def test_a_config_stands_for_a_table_with_its_own_headers(clips: Clips) -> None:
    """A study's config names the table, its columns and the condition's, so that lint needs no option for them."""
    folder = clips(name=lambda place, condition: f"{condition}-{place}")
    table = folder.parent / "clips.csv"
    text = table.read_text(encoding="utf-8").replace("file_name,condition", "wav,system")
    table.write_text(text, encoding="utf-8")
    config = folder.parent / "study.yaml"
    with pytest.raises(ConfigError, match=r"headers of your own go under `clips: \{columns: "):
        lint_folder(folder, table)

    settings = {
        "study": "s",
        "clips": {"table": "clips.csv", "columns": {"file_name": "wav"}},
        "compare": {"column": "system", "a": "human", "b": "synthetic"},
        "chain": ["encode"],
    }
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    done = lint_folder(folder, config)
    assert done.conditions == {"human": 8, "synthetic": 8}
    assert told(done, "the name holds the system")


@pytest.mark.usefixtures("inline")
def test_a_run_says_which_column_it_compares(make_study: MakeStudy) -> None:
    """The output of a study that compares another column is judged by that one, and its names are said to be prep's."""
    config = make_study(
        compare={"column": "system", "a": "human", "b": "synthetic"}, chain=["encode"], audit={"cues": ["duration"]}
    )
    table = config.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("condition", "system"), encoding="utf-8")
    run_study(config, Silent())

    done = lint_folder(config.parent / "out")
    assert done.conditions == {"human": 8, "synthetic": 8}
    assert str(done.notes[0]).startswith(
        "16 clips: the name is the sha256 of the file, as prep run names what it delivers"
    )
    assert "under the ids of manifest.csv" in str(done.notes[0])


def test_content_hashes_of_others_are_a_note(clips: Clips) -> None:
    """In a folder that prep did not make, names that are hashes of the files are told without a word of prep."""
    folder = clips()
    table = folder.parent / "clips.csv"
    for path in sorted(folder.iterdir()):
        named = hashlib.sha256(path.read_bytes()).hexdigest()
        table.write_text(table.read_text(encoding="utf-8").replace(path.stem, named), encoding="utf-8")
        path.rename(path.with_stem(named))
    (note,) = (str(note) for note in found(folder).notes if "sha256" in str(note))

    assert note == (
        "16 clips: the name is the sha256 of the file: no condition shows, but who has a clip recognises it; "
        "publish under other names"
    )
