"""Faults of hashes and caches: damage believed, settings not in the key, paths in the key, copies unnoticed."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import soundfile

from prep.stages.clip_loudness import ClipLoudness
from prep.stages.encode import Encode

if TYPE_CHECKING:
    from pathlib import Path

Case = Any
Prep = Any

FAULTS = ("H33", "H34", "H35", "H36")
SAME = ("bytes", "samples")  # in which copies are equal, as messages say it
FLAC = {"encode": {"codec": "flac", "rate": 24000}}
LOUDNESS_LU = 0.1  # LU; what a delivered clip may miss its target by

pytestmark = pytest.mark.usefixtures("inline")


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the clips that are encoded from here on."""
    names: list[str] = []
    encode = Encode.encode

    def counted(self: Encode, clip: Any, source: bytes) -> Any:
        names.append(clip.id)
        return encode(self, clip, source)

    monkeypatch.setattr(Encode, "encode", counted)
    return names


def flip_a_bit(path: Path) -> None:
    """Change one bit in the middle of a file, in its place."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_h33_a_changed_file_is_named_and_written_anew(case: Case, prep: Prep) -> None:
    """H33: `verify` names a published file with one flipped bit and exits with 1, and a further run writes it anew."""
    faulty = case("H33")
    clips = {"folder": ".", "pattern": "{take}.wav"}
    (faulty.folder / "good_bitflip.wav").unlink()
    ran = faulty.run(FLAC, clips=clips)
    path, whole = ran.file("good.wav"), ran.file("good.wav").read_bytes()
    flip_a_bit(path)
    verified = prep("verify", ran.out, "--json")

    assert ran.clips["good.wav"]["source"]["sha256"] == faulty.values["sha256"]["good.wav"]
    assert path.stat().st_nlink == 1
    assert verified.exit_code == 1
    assert [problem["where"] for problem in verified.json["problems"]] == [f"audio/{path.name}"]
    faulty.run(FLAC, clips=clips)
    assert path.read_bytes() == whole
    assert prep("verify", ran.out).exit_code == 0


def test_h33_a_damaged_cache_is_never_served(case: Case) -> None:
    """H33: with one bit of every cache entry flipped, a run leaves the bytes that it left before."""
    faulty = case("H33")
    clips = {"folder": ".", "pattern": "{take}.wav"}
    ran = faulty.run(FLAC, clips=clips)
    whole = {path.name: path.read_bytes() for path in (ran.out / "audio").iterdir()}
    entries = [path for path in (faulty.folder / ".prep-cache").rglob("*") if path.is_file()]
    for path in entries:
        flip_a_bit(path)
    shutil.rmtree(ran.out / "audio")
    again = faulty.run(FLAC, clips=clips)

    assert len(entries) >= 4
    assert again.exit_code == 0
    assert {path.name: path.read_bytes() for path in (ran.out / "audio").iterdir()} == whole


def test_h33_a_changed_source_is_another_clip(case: Case, encoded: list[str]) -> None:
    """H33: a source with one flipped bit is read as the file it now is, whatever the cache holds of it."""
    faulty = case("H33")
    clips = {"folder": ".", "pattern": "{take}.wav"}
    flipped = (faulty.folder / "good_bitflip.wav").read_bytes()
    (faulty.folder / "good_bitflip.wav").unlink()
    first = faulty.run(FLAC, clips=clips)
    (faulty.folder / "good.wav").write_bytes(flipped)
    second = faulty.run(FLAC, clips=clips)

    assert encoded == ["good.wav", "good.wav"]
    assert second.clips["good.wav"]["source"]["sha256"] == faulty.values["sha256"]["good_bitflip.wav"]
    assert first.file("good.wav").name != second.file("good.wav").name


def test_h34_the_key_is_what_is_computed(
    case: Case, prep: Prep, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """H34: another number recomputes; another order or a comment does not; another version does."""
    faulty = case("H34")
    head = "study: s\nclips: {folder: ., pattern: '{take}.wav'}\naudit: {cues: [loudness]}\nchain:\n"
    texts = {
        "a": head + "- clip_loudness: {target_lufs: -26, ceiling_dbtp: -1}\n- encode: {codec: flac, rate: 24000}\n",
        "b": head + "- clip_loudness: {target_lufs: -33, ceiling_dbtp: -1}\n- encode: {codec: flac, rate: 24000}\n",
        "a_reordered": "# the same\n"
        + head
        + "- clip_loudness:\n    ceiling_dbtp: -1.0  # dBTP\n    target_lufs: -26.0\n"
        + "- encode: {rate: 24000, codec: flac}\n",
    }

    def run(name: str) -> Any:
        config = faulty.folder / f"{name}.yaml"
        config.write_text(texts[name], encoding="utf-8")
        encoded.clear()
        return prep("run", config, "--json", out=faulty.folder / "out")

    first = run("a")
    assert encoded == ["clip.wav"]
    lufs = first.measures("clip.wav", "source")["integrated_lufs"]
    assert lufs == pytest.approx(faulty.values["lufs"], abs=LOUDNESS_LU)
    reordered = run("a_reordered")
    assert encoded == []
    assert reordered.file("clip.wav") == first.file("clip.wav")
    other = run("b")
    assert encoded == ["clip.wav"]
    assert first.measures("clip.wav")["integrated_lufs"] == pytest.approx(-26, abs=LOUDNESS_LU)
    assert other.measures("clip.wav")["integrated_lufs"] == pytest.approx(-33, abs=LOUDNESS_LU)
    monkeypatch.setattr(ClipLoudness, "VERSION", ClipLoudness.VERSION + 1)
    run("b")
    assert encoded == ["clip.wav"]


def test_h35_neither_path_nor_date_is_in_the_key(case: Case, encoded: list[str]) -> None:
    """H35: the same file in another folder, ten years younger, is a full cache hit with the same name and hash."""
    faulty = case("H35")
    names = []
    for place in ("here", "elsewhere/deep"):
        ran = faulty.run(FLAC, clips={"folder": place, "pattern": "{take}.wav"}, output=f"{place}/out")
        names.append(ran.file("clip.wav").name)
        assert ran.clips["clip.wav"]["source"]["sha256"] == faulty.values["sha256"]

    dates = [(faulty.folder / place / "clip.wav").stat().st_mtime for place in ("here", "elsewhere/deep")]
    assert abs(dates[0] - dates[1]) > 10 * 365 * 86400
    assert names[0] == names[1]
    assert encoded == ["clip.wav"]
    os.utime(faulty.folder / "here" / "clip.wav")
    faulty.run(FLAC, clips={"folder": "here", "pattern": "{take}.wav"}, output="here/out")
    assert encoded == ["clip.wav"]


def same_samples_in_flac(folder: Path) -> None:
    """Write z.flac from the integers of x.wav: libsndfile scales floats for FLAC by another step than for WAV."""
    samples, rate = soundfile.read(folder / "x.wav", dtype="int16")
    soundfile.write(folder / "z.flac", samples, rate)


def test_h36_contradicting_labels_of_one_sound_stop_the_run(case: Case, prep: Prep) -> None:
    """H36: the same file, or the same samples in another container, under two conditions stop the run, all named."""
    faulty = case("H36")
    same_samples_in_flac(faulty.folder)
    columns = {"table": "clips.csv", "columns": {"file_name": "file"}}
    stopped = prep("run", faulty.study(FLAC, clips=columns))
    lines = [line for line in stopped.stderr.splitlines() if line.startswith("error: ")]

    assert faulty.values["contradiction"]
    assert stopped.exit_code == 3
    assert len(lines) == 2
    for line, names, same in zip(lines, faulty.values["exact"] + faulty.values["same_samples"], SAME, strict=True):
        assert f"clips of the same {same} differ in condition" in line
        assert all(name in line for name in names)
    assert not (faulty.folder / "out").exists()


def test_h36_copies_are_told_and_never_merged(case: Case) -> None:
    """H36: with equal labels, each copy is delivered under an id of its own, and record and report name the copies."""
    faulty = case("H36")
    same_samples_in_flac(faulty.folder)
    table = faulty.folder / "clips.csv"
    table.write_text(table.read_text().replace("synthetic", "human"), encoding="utf-8")
    ran = faulty.run(FLAC, clips={"table": "clips.csv", "columns": {"file_name": "file"}})
    rows = ran.table("manifest.csv")
    told = [notice for notice in ran.json["notices"] if "has the same" in notice]

    assert ran.exit_code == 0
    assert len({row["id"] for row in rows}) == 3
    assert len({row["sha256"] for row in rows}) == 1
    for notice, names, same in zip(told, faulty.values["exact"] + faulty.values["same_samples"], SAME, strict=True):
        assert f"the same {same}" in notice
        assert all(name in notice for name in names)
        assert notice in (ran.out / "report.md").read_text()
