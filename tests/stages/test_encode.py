"""encode: one format for all, the same bytes every time, the same sound when decoded."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError

from prep.clip import Clip
from prep.errors import ClipError
from prep.stages.encode import Encode

LOSSY_LAG_FRAMES = 1  # a lossy codec may blur the peak of the correlation by one frame


def noise(rate: int = 44100, seconds: float = 0.6, channels: int = 1) -> Clip:
    """Return quiet noise whose samples lie on no integer grid."""
    samples = np.random.default_rng(1).standard_normal((round(rate * seconds), channels)) * 0.05
    return Clip(samples.astype(np.float32), rate, "noise")


def lag_of(first: np.ndarray, second: np.ndarray) -> int:
    """Return the shift in frames at which two signals of one length agree best."""
    size = 2 * len(first)
    correlation = np.fft.irfft(np.fft.rfft(first, size) * np.conj(np.fft.rfft(second, size)), size)
    best = int(np.argmax(correlation))
    return best if best < len(first) else best - size


@pytest.mark.parametrize(
    "settings",
    [
        {"codec": "flac"},
        {"codec": "flac", "bit_depth": 24},
        {"codec": "wav"},
        {"codec": "wav", "bit_depth": 32},
        {"codec": "mp3"},
        {"codec": "vorbis"},
        {"codec": "opus"},
    ],
    ids=str,
)
def test_a_clip_comes_back_whole(settings: dict[str, object]) -> None:
    """Every codec gives back the frames it was given, in their place, and the same bytes twice."""
    encoder = Encode.model_validate(settings)
    clip = noise(encoder.rate or 44100)
    encoded = encoder.encode(clip, b"")

    assert encoded.decoded.frames == clip.frames
    assert encoded.decoded.rate == clip.rate
    assert abs(lag_of(encoded.decoded.mono(), clip.mono())) <= LOSSY_LAG_FRAMES
    assert encoded.data == encoder.encode(clip, b"").data
    assert encoded.suffix == {"flac": ".flac", "wav": ".wav", "mp3": ".mp3", "vorbis": ".ogg", "opus": ".opus"}.get(
        str(settings["codec"])
    )


def test_integers_are_dithered_to_within_a_step() -> None:
    """16-bit samples are the clip's to within one and a half steps: rounding and triangular dither."""
    clip = noise()
    decoded = Encode().encode(clip, b"").decoded

    assert np.abs(decoded.samples - clip.samples).max() <= 1.5 / 32768


def test_beyond_full_scale_is_refused() -> None:
    """A sample beyond full scale is named, and never wraps round or is cut in silence."""
    clip = noise()
    loud = clip.with_samples(clip.samples * 100)

    with pytest.raises(ClipError, match=r"full scale"):
        Encode().encode(loud, b"")


def test_a_copy_is_the_source_without_tags() -> None:
    """`copy` gives the source's samples in its own container, with the tags taken out."""
    target = io.BytesIO()
    with soundfile.SoundFile(target, "w", 22050, 1, "PCM_24", format="WAV") as file:
        file.comment = "MARK"
        file.write(noise(22050).samples)
    encoded = Encode(codec="copy").encode(noise(22050), target.getvalue())

    assert encoded.suffix == ".wav"
    assert b"MARK" in target.getvalue()
    assert b"MARK" not in encoded.data
    assert np.array_equal(encoded.decoded.samples[:, 0], soundfile.read(io.BytesIO(target.getvalue()))[0].astype("f4"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"codec": "mp3", "bit_depth": 16}, "mp3 has no bit_depth"),
        ({"codec": "copy", "rate": 44100}, "copy has no rate"),
        ({"codec": "flac", "bit_depth": 32}, "flac holds 16 or 24 bits"),
        ({"codec": "opus", "rate": 44100}, "opus is delivered at 48000 Hz"),
    ],
)
def test_a_setting_that_would_be_ignored_is_refused(settings: dict[str, object], said: str) -> None:
    """A parameter that the codec does not have is an error, not a comment."""
    with pytest.raises(ValidationError, match=said):
        Encode.model_validate(settings)


def test_defaults_are_written_out() -> None:
    """The record shows every value that decides the bytes."""
    assert Encode(codec="mp3").model_dump(exclude_none=True) == {
        "codec": "mp3",
        "rate": 44100,
        "channels": 1,
        "bitrate_kbps": 128,
    }
