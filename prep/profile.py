"""A profile: the averaged spectrum that clips are matched to, measured once, stored, drawn.

Matchering's spectrum without its level: level of each of its bins relative to the power of the speech band.
"""

from __future__ import annotations

import math
from importlib import metadata
from statistics import median_low
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

import prep
from prep import audio
from prep.errors import AudioError, ClipError, ConfigError, Problem
from prep.matching import BIN_HZ, BINS, SPEECH_BAND_HZ, Spectrum, heard
from prep.stage import Value
from prep.store import digest, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal

FLOOR_DB = -200.0
DECIMALS = 3  # of a level: a thousandth of a dB

# The picture, in pixels, and what it shows.
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 76
SHOWN_HZ = (40.0, 20000.0)
GRID_LINES_HZ = (50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
DRAWN_OCTAVES = 1 / 12
STEP_DB = 10


class Source(Value):
    """A file that a profile was measured on."""

    name: str = Field(description="name of the file, without its folder")
    sha256: str = Field(description="hash of its bytes, in hexadecimal")
    rate: int = Field(description="sampling rate, Hz")
    seconds: float = Field(description="length, s")


class Profile(Value):
    """An averaged spectrum without its level; of one clip, or the mean of several."""

    kind: Literal["matchering averaged spectrum"] = Field(
        default="matchering averaged spectrum", description="what the levels are; no unit"
    )
    levels_db: tuple[float, ...] = Field(
        min_length=2,
        max_length=BINS,
        description=f"level of bin k, at k * 44100 / 4096 Hz, relative to the power of {SPEECH_BAND_HZ[0]:.0f} to "
        f"{SPEECH_BAND_HZ[1]:.0f} Hz, dB",
    )
    from_hz: float = Field(ge=0, description="lower edge of the band that the sound fills, Hz")
    to_hz: float = Field(gt=0, description="upper edge of the band that the sound fills, Hz")
    clips: int = Field(ge=1, description="sounds measured, count")
    sources: tuple[Source, ...] = Field(default=(), description="the files, if it was measured on files; no unit")
    versions: dict[str, str] = Field(default={}, description="what it was measured with; no unit")

    @model_validator(mode="after")
    def _levels_fill_the_band(self) -> Self:
        """Hold the levels against the band and against what a sound can have.

        Raises:
            ValueError: they end below the band, or are beyond any sound.
        """
        if not self.from_hz < self.to_hz:
            raise ValueError(f"from_hz {self.from_hz:g} is not below to_hz {self.to_hz:g}")
        if len(self.levels_db) <= int(self.to_hz / BIN_HZ):
            raise ValueError(f"levels_db ends at {(len(self.levels_db) - 1) * BIN_HZ:.0f} Hz, below to_hz")
        if not FLOOR_DB <= min(self.levels_db) <= max(self.levels_db) <= -FLOOR_DB:
            raise ValueError(f"levels_db holds a level outside {FLOOR_DB:g} to {-FLOOR_DB:g} dB")
        return self

    def spectrum(self) -> Spectrum:
        """Return the profile as amplitudes."""
        return Spectrum(10 ** (np.array(self.levels_db) / 20), self.from_hz, self.to_hz)

    def sha256(self) -> str:
        """Return the hash of what decides a correction: the levels and the band."""
        return digest(self.model_dump_json(include={"kind", "levels_db", "from_hz", "to_hz"}).encode())


def profile_of(clip: Clip) -> Profile:
    """Return the profile of one clip.

    Raises:
        ClipError: it is shorter than 60 ms, silent, not finite, or has nothing in the speech band.
    """
    return _profile(heard(clip.mono(), clip.rate).spectrum, clips=1)


def mean_profile(profiles: Sequence[Profile]) -> Profile:
    """Return the mean of profiles: of the amplitudes of each bin, over the profiles whose band holds the bin.

    Each counts alike, whatever its level and its length. The band is that which half of them fill. The order of the
    profiles changes no digit.

    Raises:
        ValueError: there is none.
    """
    if not profiles:
        raise ValueError("a mean needs one profile or more")
    if len(profiles) == 1:
        return profiles[0]
    low = median_low(profile.from_hz for profile in profiles)
    high = -median_low(-profile.to_hz for profile in profiles)
    bins = np.arange(BINS) * BIN_HZ
    rows = np.full((len(profiles), BINS), np.nan)
    for row, profile in zip(rows, profiles, strict=True):
        levels = profile.spectrum().amplitudes
        row[: len(levels)] = np.where(_within(bins, profile.from_hz, profile.to_hz)[: len(levels)], levels, np.nan)
    rows.sort(axis=0)  # a sum depends on its order, and NaN goes last
    held = np.count_nonzero(~np.isnan(rows), axis=0)
    mean = np.nansum(rows, axis=0) / np.maximum(held, 1)
    return _profile(Spectrum(mean[: int(high / BIN_HZ) + 1], low, high), clips=sum(item.clips for item in profiles))


def _within(bins_hz: NDArray[Any], low_hz: float, high_hz: float) -> NDArray[np.bool_]:
    within: NDArray[np.bool_] = (bins_hz >= low_hz) & (bins_hz <= high_hz)
    return within


def _profile(spectrum: Spectrum, clips: int) -> Profile:
    """Return a spectrum as a profile, its level taken out.

    Raises:
        ClipError: it has nothing in the speech band.
    """
    amplitudes = spectrum.amplitudes
    bins = np.arange(len(amplitudes)) * BIN_HZ
    speech = _within(bins, *SPEECH_BAND_HZ) & _within(bins, spectrum.from_hz, spectrum.to_hz)
    power = float(np.sum(amplitudes[speech] ** 2))
    if not power:
        raise ClipError(
            f"fills {spectrum.from_hz:.0f}-{spectrum.to_hz:.0f} Hz, nothing of the speech band; leave the clip out"
        )
    levels = 20 * np.log10(np.maximum(amplitudes / math.sqrt(power), 10 ** (FLOOR_DB / 20)))
    return Profile(
        levels_db=tuple(np.round(levels, DECIMALS).tolist()),
        from_hz=round(spectrum.from_hz, 1),
        to_hz=round(spectrum.to_hz, 1),
        clips=clips,
    )


# Files --------------------------------------------------------------------------------------------


def profile_of_files(paths: Sequence[Path]) -> Profile:
    """Return the mean profile of sound files, with what it was measured on.

    Raises:
        ConfigError: every file that cannot be read or measured.
    """
    profiles: list[Profile] = []
    sources: list[Source] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            data = audio.read_bytes(path)
            clip, _ = audio.decode(data, str(path))
            profiles.append(profile_of(clip))
        except AudioError as error:
            problems.append(Problem(str(path), str(error).removeprefix(f"{path}: "), "name a sound file"))
        except ClipError as error:
            problems.append(Problem(str(path), str(error)))
        else:
            seconds = round(clip.seconds, 3)
            sources.append(Source(name=path.name, sha256=digest(data), rate=clip.rate, seconds=seconds))
    if problems:
        raise ConfigError(problems)
    versions = {"prep": prep.__version__, "matchering": metadata.version("matchering")}
    return mean_profile(profiles).model_copy(update={"sources": tuple(sources), "versions": versions})


def store_profile(profile: Profile, path: Path) -> Path:
    """Write a profile as JSON, and its picture beside it; return the picture's path.

    Raises:
        ConfigError: the file would be the picture itself, or cannot be written.
    """
    picture = path.with_suffix(".svg")
    if picture == path:
        raise ConfigError([Problem(str(path), "is the name of the picture", "give the profile another, as .json")])
    try:
        write_whole(path, (profile.model_dump_json(indent=1) + "\n").encode())
        write_whole(picture, picture_of(profile, path.stem).encode())
    except OSError as error:
        raise ConfigError([Problem(str(path), error.strerror or str(error), "name a file that can be made")]) from None
    return picture


def read_profile(path: Path) -> Profile:
    """Return a stored profile.

    Raises:
        ConfigError: there is none, or the file holds something else.
    """
    try:
        return Profile.model_validate_json(path.read_bytes())
    except OSError as error:
        what = error.strerror or str(error)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        what = f"no profile: {place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ').lower()}"
    raise ConfigError([Problem(str(path), what, "make one with: prep profile FILES -o profile.json")])


# The picture --------------------------------------------------------------------------------------


def picture_of(profile: Profile, title: str) -> str:
    """Return a picture of a profile, as SVG: levels over log frequency, in twelfths of an octave."""
    frequencies, levels = _drawn(profile)
    top = math.ceil((float(levels.max()) + 3) / STEP_DB) * STEP_DB
    bottom = math.floor((float(levels.min()) - 3) / STEP_DB) * STEP_DB

    def x(hz: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(hz / SHOWN_HZ[0]) / math.log(SHOWN_HZ[1] / SHOWN_HZ[0])

    def y(level_db: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (top - level_db) / (top - bottom)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<g font-family="sans-serif" font-size="12" fill="#222"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{_escaped(title)}</text>',
    ]
    for low, high in ((SHOWN_HZ[0], profile.from_hz), (profile.to_hz, SHOWN_HZ[1])):
        start, end = max(low, SHOWN_HZ[0]), min(high, SHOWN_HZ[1])
        if end > start:
            lines.append(
                f'<rect x="{x(start):.1f}" y="{TOP}" width="{x(end) - x(start):.1f}" '
                f'height="{HEIGHT - TOP - BOTTOM}" fill="#eee"/>'
            )
    for hz in GRID_LINES_HZ:
        name = f"{hz // 1000}k" if hz >= 1000 else str(hz)
        lines.append(f'<path d="M{x(hz):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ccc"/>')
        lines.append(f'<text x="{x(hz):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{name}</text>')
    for level in range(bottom, top + 1, STEP_DB):
        lines.append(f'<path d="M{LEFT} {y(level):.1f}H{WIDTH - RIGHT}" stroke="#ccc"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(level) + 4:.1f}" text-anchor="end">{level}</text>')
    points = " ".join(f"{x(hz):.1f},{y(level):.1f}" for hz, level in zip(frequencies, levels, strict=True))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    about = (
        f"mean of {profile.clips} sound{'s' * (profile.clips != 1)}; 0 dB is the power of the speech band; filled from "
        f"{profile.from_hz:.0f} to {profile.to_hz:.0f} Hz, empty where grey"
    )
    lines += [
        f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="2"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 38}" text-anchor="middle">frequency (Hz)</text>',
        f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">level per bin (dB)</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 14}" fill="#666">{_escaped(about)}</text>',
        "</g></svg>",
    ]
    return "\n".join(lines) + "\n"


def _drawn(profile: Profile) -> tuple[Signal, Signal]:
    """Return frequencies in Hz and the levels there, each the mean power of a twelfth of an octave."""
    power = profile.spectrum().amplitudes ** 2
    low = max(profile.from_hz, SHOWN_HZ[0])
    high = min(profile.to_hz, SHOWN_HZ[1], (len(power) - 1) * BIN_HZ)
    frequencies = np.geomspace(low, high, max(round(math.log2(high / low) / DRAWN_OCTAVES), 1) + 1)
    half = 2 ** (DRAWN_OCTAVES / 2)
    bins = np.arange(len(power)) * BIN_HZ
    means = [
        power[within].mean() if (within := _within(bins, hz / half, hz * half)).any() else np.interp(hz, bins, power)
        for hz in frequencies
    ]
    return frequencies, 10 * np.log10(np.maximum(means, 10 ** (FLOOR_DB / 10)))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
