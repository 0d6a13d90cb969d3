"""Profiles: measured once, stored with where they come from, and drawn."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import soundfile

from prep.clip import Clip
from prep.errors import ClipError, ConfigError
from prep.matching import BIN_HZ
from prep.profile import Profile, mean_profile, picture_of, profile_of, profile_of_files, read_profile, store_profile

if TYPE_CHECKING:
    from pathlib import Path

LEVEL_DB = 0.002  # dB: levels are stored to a thousandth
SVG = "{http://www.w3.org/2000/svg}"


def noise(seed: int, rate: int = 22050, seconds: float = 2, level: float = 0.05) -> Clip:
    """Return noise in syllables that falls above 500 Hz."""
    draw = np.random.default_rng(seed)
    frames = round(seconds * rate)
    shape = 1 / (1 + np.fft.rfftfreq(frames, 1 / rate) / draw.uniform(300, 900))
    sound = np.fft.irfft(np.fft.rfft(draw.standard_normal(frames)) * shape, frames)
    syllables = np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / rate), 1e-3, None)
    return Clip((level * sound / sound.std() * syllables)[:, np.newaxis].astype(np.float32), rate, f"noise {seed}")


def flat(level_db: float, to_hz: float, from_hz: float = 50.0) -> Profile:
    """Return a profile of one level."""
    return Profile(levels_db=(level_db,) * (int(to_hz / BIN_HZ) + 1), from_hz=from_hz, to_hz=to_hz, clips=1)


def written(folder: Path, *clips: Clip) -> list[Path]:
    """Write clips as files."""
    paths = [folder / f"{index}.wav" for index in range(len(clips))]
    for path, clip in zip(paths, clips, strict=True):
        soundfile.write(path, clip.samples, clip.rate, subtype="FLOAT")
    return paths


def test_a_profile_has_no_level() -> None:
    """A hundredth of the level is the same profile, and its speech band has a power of 0 dB."""
    loud, quiet = (profile_of(noise(1, level=level)) for level in (0.05, 0.0005))
    assert loud.levels_db == pytest.approx(quiet.levels_db, abs=LEVEL_DB)
    bins = np.arange(len(loud.levels_db)) * BIN_HZ
    speech = np.array(loud.levels_db)[(bins >= 200) & (bins <= 7000)]
    assert 10 * np.log10(np.sum(10 ** (speech / 10))) == pytest.approx(0, abs=LEVEL_DB)


def test_the_mean_is_of_amplitudes() -> None:
    """The mean of a flat spectrum and one with a step of a factor of 10 has a step of 11 to 2, and counts both."""
    step = flat(0, 8000).model_copy(update={"levels_db": (0.0,) * 300 + (20.0,) * (int(8000 / BIN_HZ) - 299)})
    mean = mean_profile([flat(0, 8000), step])
    assert mean.levels_db[400] - mean.levels_db[200] == pytest.approx(20 * np.log10(5.5), abs=LEVEL_DB)
    assert mean.clips == 2


def test_a_mean_of_one_is_that_one() -> None:
    """The mean of one profile is the profile."""
    one = profile_of(noise(2))
    assert mean_profile([one]) is one


def test_the_order_of_profiles_does_not_show() -> None:
    """The mean is the same to the last digit in any order."""
    profiles = [profile_of(noise(seed, rate)) for seed, rate in enumerate((16000, 22050, 24000, 16000, 48000))]
    expected = mean_profile(profiles)
    for seed in range(5):
        random.Random(seed).shuffle(profiles)  # noqa: S311 - no secret
        assert mean_profile(profiles) == expected


def test_the_band_is_that_of_half_of_the_profiles() -> None:
    """A mean ends where fewer than half of the profiles go on, and nothing empty is averaged in."""
    mean = mean_profile([flat(-10, 4000), flat(-10, 8000), flat(-10, 8000, from_hz=300), flat(-10, 20000)])
    assert (mean.from_hz, mean.to_hz) == (50, 8000)
    assert len(mean.levels_db) == int(8000 / BIN_HZ) + 1
    assert np.ptp(mean.levels_db[round(60 / BIN_HZ) :]) < 3.0


def test_a_stored_profile_is_read_again(tmp_path: Path) -> None:
    """What is written is read back equal, with the names, hashes, rates and lengths of its files."""
    paths = written(tmp_path, noise(3, 16000), noise(4, 44100, seconds=1))
    made = profile_of_files(paths)
    picture = store_profile(made, tmp_path / "arena.json")
    assert read_profile(tmp_path / "arena.json") == made
    assert picture == tmp_path / "arena.svg"
    assert [(item.name, item.rate, item.seconds) for item in made.sources] == [("0.wav", 16000, 2), ("1.wav", 44100, 1)]
    assert all(len(item.sha256) == 64 for item in made.sources)
    assert set(made.versions) == {"prep", "matchering"}
    assert str(tmp_path) not in (tmp_path / "arena.json").read_text(encoding="utf-8")


def test_the_hash_is_of_what_decides_a_correction(tmp_path: Path) -> None:
    """A profile measured on the same sound under another name has the same hash; another sound has another."""
    first, second = written(tmp_path, noise(5), noise(6))
    renamed = first.rename(tmp_path / "renamed.wav")
    one, other = profile_of_files([renamed]), profile_of_files([second])
    assert one.sha256() == profile_of(noise(5)).sha256() != other.sha256()


def test_every_file_that_cannot_be_measured_is_named(tmp_path: Path) -> None:
    """A missing file, a file that is no sound and silence are all named at once."""
    (silence,) = written(tmp_path, Clip(np.zeros((16000, 1), np.float32), 16000))
    text = tmp_path / "text.wav"
    text.write_text("no sound", encoding="utf-8")
    with pytest.raises(ConfigError) as refusal:
        profile_of_files([tmp_path / "none.wav", text, silence])
    said = [str(problem) for problem in refusal.value.problems]
    assert len(said) == 3
    assert "none.wav: there is no such file" in said[0]
    assert "text.wav: " in said[1]
    assert "silent" in said[2]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"levels_db": [1], "from_hz": 1, "to_hz": 2, "clips": 1}'])
def test_what_is_no_profile_is_refused(text: str, tmp_path: Path) -> None:
    """A file that holds no profile is refused with its name and what makes one."""
    path = tmp_path / "profile.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"profile\.json: no profile.*prep profile FILES"):
        read_profile(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"levels_db": [0.0] * 10}, "no profile: levels_db ends at 97 hz, below to_hz"),
        ({"levels_db": [9000.0] * 2049}, "holds a level outside -200 to 200 db"),
        ({"from_hz": 9000.0, "to_hz": 8000.0}, "from_hz 9000 is not below to_hz 8000"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """A stored profile whose levels end below its band, or are those of no sound, is refused with what is wrong."""
    known = json.loads(profile_of(noise(7)).model_dump_json())
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(known | change), encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        read_profile(path)


def test_a_missing_profile_is_refused(tmp_path: Path) -> None:
    """A profile that is not there is refused with its name."""
    with pytest.raises(ConfigError, match=r"none\.json: No such file"):
        read_profile(tmp_path / "none.json")


def test_a_profile_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A profile under the name of its picture, or where no file can be, is refused in words."""
    made = profile_of(noise(7))
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path / "a.svg", tmp_path / "file" / "a.json"):
        with pytest.raises(ConfigError, match=path.name):
            store_profile(made, path)


def test_a_sound_outside_speech_is_refused() -> None:
    """A tone at 50 Hz alone has nothing to match speech to."""
    tone = np.sin(2 * np.pi * 50 * np.arange(16000) / 16000)[:, np.newaxis]
    with pytest.raises(ClipError, match="nothing of the speech band"):
        profile_of(Clip(tone.astype(np.float32), 16000))


def test_the_picture_is_drawn() -> None:
    """The picture is whole XML with a line inside its frame, falling as the sound does, and its title escaped."""
    made = profile_of(noise(8))
    root = ET.fromstring(picture_of(made, "a <b> & c"))  # noqa: S314 - our own
    (line,) = root.iter(f"{SVG}polyline")
    points = [[float(number) for number in point.split(",")] for point in line.attrib["points"].split()]
    assert all(64 <= x <= 704 and 40 <= y <= 324 for x, y in points)
    assert points[-1][1] > points[len(points) // 2][1]
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert texts[0] == "a <b> & c"
    assert any("mean of 1 sound;" in text for text in texts)


def test_the_json_says_what_it_is(tmp_path: Path) -> None:
    """A stored profile is plain JSON that names its kind."""
    store_profile(profile_of(noise(9)), tmp_path / "p.json")
    held = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert held["kind"] == "matchering averaged spectrum"
    assert held["clips"] == 1
