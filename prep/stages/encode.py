"""encode: write every clip in one format.

FLAC and WAV carry integer samples with triangular dither seeded by the content, so the same clip
gives the same bytes. MP3 is LAME at a constant bitrate. `copy` serves the source's bytes as they
came, with tags stripped and the sound untouched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from prep import audio, encoding, level
from prep.clip import Clip
from prep.errors import ClipError
from prep.mpeg import mp3_stream
from prep.stage import Encoded, Encoder, Notes

if TYPE_CHECKING:
    from prep.stage import Account
    from prep.units import Decibels

LOSSY = ("mp3", "opus", "vorbis")
LEVEL_TOLERANCE_LU = 0.1  # of the delivered loudness; beyond it a clip's record has a warning
CALIBRATION_SECONDS = 4.0
CALIBRATION_RMS = 0.05


class Encode(Encoder):
    """Write every clip in one format, named by the hash of its bytes."""

    NAME: ClassVar[str] = "encode"

    codec: Literal["flac", "wav", "mp3", "opus", "vorbis", "copy"] = Field(
        default="flac", description="the file format; copy serves the source's bytes, tags stripped; no unit"
    )
    rate: int | None = Field(default=None, gt=0, description="sampling rate of every clip, Hz; 44100 but for copy")
    channels: int | None = Field(
        default=None, ge=1, le=2, description="channels of every clip, no unit; 1 but for copy"
    )
    bit_depth: Literal[16, 24, 32] | None = Field(
        default=None, description="bits a sample, for flac (16, 24) and wav (16, 24, 32 float); 16 by default"
    )
    bitrate_kbps: int | None = Field(default=None, gt=0, description="constant bitrate of mp3, kb/s; 128 by default")
    quality: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="quality of opus and vorbis from 0 to 1, no unit; 0.6 by default",
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_codec(cls, given: object) -> object:
        """Fill in what the codec leaves open, so that the record says every value."""
        if not isinstance(given, dict):
            return given
        codec = given.get("codec", "flac")
        defaults: dict[str, int | float] = {} if codec == "copy" else {"rate": 44100, "channels": 1}
        if codec in ("flac", "wav"):
            defaults["bit_depth"] = 16
        elif codec == "mp3":
            defaults["bitrate_kbps"] = 128
        elif codec in ("opus", "vorbis"):
            defaults["quality"] = 0.6
        if codec == "opus":
            defaults["rate"] = 48000
        return {**defaults, **{name: value for name, value in given.items() if value is not None}}

    @model_validator(mode="after")
    def _only_what_the_codec_has(self) -> Self:
        """Refuse a parameter that this codec would silently ignore."""
        lossless = self.codec in ("flac", "wav")
        belongs = {
            "rate": self.codec != "copy",
            "channels": self.codec != "copy",
            "bit_depth": lossless,
            "bitrate_kbps": self.codec == "mp3",
            "quality": self.codec in ("opus", "vorbis"),
        }
        strangers = [name for name, fits in belongs.items() if not fits and getattr(self, name) is not None]
        if strangers:
            raise ValueError(f"{self.codec} has no {' and no '.join(strangers)}: take it out")
        if self.codec == "flac" and self.bit_depth == 32:
            raise ValueError("flac holds 16 or 24 bits a sample: set bit_depth to one of them")
        if self.codec == "opus" and self.rate != 48000:
            raise ValueError("opus is delivered at 48000 Hz: set rate to 48000")
        if self.codec == "mp3" and (reason := encoding.why_no_mp3(*self._mp3)):
            raise ValueError(reason)
        return self

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return the format of every clip."""
        step = account.parameters
        if step["codec"] == "copy":
            return (
                "Clips were served in the files that their makers produced, with tags removed and the sound unaltered."
            )
        names = {"flac": "FLAC", "wav": "WAV", "mp3": "MP3", "opus": "Opus", "vorbis": "Ogg Vorbis"}
        details = [f"{step['rate'] / 1000:g} kHz", {1: "mono", 2: "stereo"}[step["channels"]]]
        if step.get("bit_depth"):
            details.append(f"{step['bit_depth']} bits")
        if step.get("bitrate_kbps"):
            details.append(f"{step['bitrate_kbps']} kb/s")
        lossy = (
            " A lossy codec hides some differences between clips and adds its own." if step["codec"] in LOSSY else ""
        )
        return f"All clips were delivered in one format: {names[step['codec']]}, {', '.join(details)}.{lossy}"

    @property
    def _mp3(self) -> tuple[int, int, int]:
        """Rate in Hz, channels and kb/s of an MP3."""
        return self.rate or 44100, self.channels or 1, self.bitrate_kbps or 128

    def target(self) -> tuple[int | None, int | None]:
        """Return the rate in Hz and the channels of every delivered clip; None keeps the source's."""
        return self.rate, self.channels

    def encode(self, clip: Clip, source: bytes) -> Encoded:
        """Return the delivered bytes and what they decode to.

        What the codec takes from the level (LAME: 0.446 dB) is given to it beforehand.

        Raises:
            ClipError: a sample lies beyond full scale, or the decoded length is not the clip's.
        """
        if self.codec == "copy":
            return _delivered(audio.strip_tags(source, clip.id), clip.id, {})
        gain_db = _codec_gain_db(self, clip.channels) if self.codec in LOSSY else 0.0
        made_up = level.gain(clip, -gain_db) if gain_db else clip
        encoded = _delivered(self._coded(made_up), clip.id, {"codec_gain_db": gain_db} if gain_db else {})
        if encoded.decoded.frames != clip.frames:
            raise ClipError(
                f"{clip.id}: {self.codec} gives back {encoded.decoded.frames} frames for {clip.frames}; "
                "choose another codec"
            )
        return replace(encoded, notes=encoded.notes | _level_notes(clip, encoded.decoded)) if gain_db else encoded

    def _coded(self, clip: Clip) -> bytes:
        """Return the clip's samples in the codec."""
        match self.codec:
            case "flac":
                return encoding.encode_flac(clip, self.bit_depth or 16)
            case "wav":
                return encoding.encode_wav(clip, self.bit_depth or 16)
            case "mp3":
                return encoding.encode_mp3(clip, self._mp3[2])
            case "opus":
                return encoding.encode_opus(clip, self.quality or 0.0)
            case _:
                return encoding.encode_vorbis(clip, self.quality or 0.0)


def _delivered(data: bytes, name: str, notes: Notes) -> Encoded:
    """Return bytes with what they decode to."""
    decoded, facts = audio.decode(data, name)
    about: Notes = {"codec": facts.codec, "container": facts.container}
    if facts.container == "MP3" and (stream := mp3_stream(data)) is not None:
        about["lowpass_hz"] = stream.tag.lowpass_hz
    return Encoded(data, audio.suffix_of(facts), decoded, facts, about | notes)


def _level_notes(clip: Clip, decoded: Clip) -> Notes:
    """Return by how much the codec moved the loudness of this clip, with a warning where it is more than allowed."""
    before, after = level.integrated_lufs(clip), level.integrated_lufs(decoded)
    if before is None or after is None:
        return {}
    change = after - before
    warning = f"the codec moved the loudness by {change:+.2f} LU" if abs(change) > LEVEL_TOLERANCE_LU else None
    return {"level_change_lu": change} | ({"warning": warning} if warning else {})


@cache
def _codec_gain_db(encoder: Encode, channels: int) -> Decibels:
    """Return what a codec does to the loudness of noise in the band of speech, LU, at these very settings.

    The noise is fixed and seeded: 100 to 4000 Hz, falling by 6 dB/octave from 500 Hz.
    """
    rate = encoder.rate or 44100
    frames = round(CALIBRATION_SECONDS * rate)
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal((frames, channels)), axis=0)
    frequencies = np.fft.rfftfreq(frames, 1 / rate)
    shape = np.where((frequencies >= 100) & (frequencies <= 4000), 1 / np.maximum(frequencies, 500), 0)
    noise = np.fft.irfft(spectrum * shape[:, np.newaxis], frames, axis=0)
    clip = Clip((noise * CALIBRATION_RMS / np.sqrt(np.mean(noise**2))).astype(np.float32), rate, "calibration")
    decoded = _delivered(encoder._coded(clip), clip.id, {}).decoded  # noqa: SLF001
    before, after = level.integrated_lufs(clip), level.integrated_lufs(decoded)
    return 0.0 if before is None or after is None else after - before
