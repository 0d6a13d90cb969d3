"""bandwidth: every clip ends where the narrowest ends."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError

from prep.audio import resample
from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.level import active_level
from prep.stage import Applied, Measured
from prep.stages.bandwidth import TRANSITION_HZ, Bandwidth, BandwidthFit, BandwidthMeasure, low_pass_fir
from prep.table import Row

STAGE = Bandwidth()

BAND = 125.0  # Hz: the resolution of the measurement; a sharp edge may leak into the next band
PASSED = 0.01  # dB: ripple of a Kaiser window of 90 dB, and rounding
STOPPED = -85.0  # dB: 90 dB by design, less what Kaiser's estimate of the length misses
SPEECH_TOLERANCE = 0.3  # dB: how far a stage may move the level of speech
LOST_HISS = 0.5  # dB: what a voice with much of its "s" above 7 kHz may lose besides: that is what is taken away


def noise(upper_hz: float, rate: int = 44100, seconds: float = 1.0, seed: int = 0) -> Clip:
    """Return white noise up to a frequency, and nothing from there on."""
    frames = round(seconds * rate)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(frames))
    spectrum[np.fft.rfftfreq(frames, 1 / rate) >= upper_hz] = 0
    return Clip(0.05 * np.fft.irfft(spectrum, frames)[:, np.newaxis], rate, f"up to {upper_hz} Hz")


def measured(*edges: float, role: str = "stimulus") -> list[Measured[BandwidthMeasure]]:
    """Return what fit gets of clips with these edges."""
    return [
        Measured(Row(f"{place}.wav", Path(), {"role": role}), BandwidthMeasure(bandwidth_hz=edge))
        for place, edge in enumerate(edges)
    ]


def treated(clip: Clip, fit: BandwidthFit, stage: Bandwidth = STAGE) -> Clip:
    """Return the clip treated."""
    result = stage.apply(clip, fit)
    assert isinstance(result, Applied)
    return result.clip


def edge_of(clip: Clip) -> float:
    """Return the effective bandwidth of a clip as it is delivered, at 44.1 kHz: bands of one grid."""
    return STAGE.measure(resample(clip, 44100)).bandwidth_hz


def test_every_clip_ends_with_the_narrowest() -> None:
    """Clips of several bandwidths and rates all end within a band of the narrowest, once they are treated."""
    clips = [noise(5000), noise(9000), noise(20000), noise(8000, 16000), noise(11000, 22050), noise(24000, 48000)]
    edges = [edge_of(clip) for clip in clips]
    assert max(edges) - min(edges) > 10_000
    fit = STAGE.fit(measured(*edges))
    after = [edge_of(treated(clip, fit)) for clip in clips]
    assert fit.upper_hz == min(edges) == pytest.approx(5000, abs=2 * BAND)
    assert max(after) - min(after) <= BAND
    assert (fit.clips, fit.wider_clips, fit.narrower_clips) == (6, 5, 0)


@pytest.mark.parametrize("rate", [16000, 22050, 44100, 48000])
def test_the_filter_passes_below_and_stops_from_the_limit_on(rate: int) -> None:
    """The filter is flat up to 250 Hz below the limit, empty from the limit on, and symmetric."""
    taps = low_pass_fir(7000, rate)
    frequencies = np.fft.rfftfreq(1 << 16, 1 / rate)
    level = 20 * np.log10(np.abs(np.fft.rfft(taps, 1 << 16)) + 1e-12)
    assert np.abs(level[frequencies <= 7000 - TRANSITION_HZ]).max() < PASSED
    assert level[frequencies >= 7000].max() < STOPPED
    assert np.array_equal(taps, taps[::-1])
    assert len(taps) % 2 == 1


def test_nothing_is_shifted_in_time() -> None:
    """The treated clip has the frames of its source and correlates best at lag 0."""
    clip = noise(20000)
    out = treated(clip, STAGE.fit(measured(5000.0)))
    spectra = np.fft.rfft(out.mono(), 2 * clip.frames) * np.conj(np.fft.rfft(clip.mono(), 2 * clip.frames))
    assert out.frames == clip.frames
    assert np.argmax(np.fft.irfft(spectra)) == 0


def test_the_report_is_told_what_is_lost() -> None:
    """The fit names the clip that decides, and warns that evidence is removed."""
    fit = STAGE.fit(measured(9000.0, 5000.0, 7000.0))
    assert fit.narrowest_clip == "1.wav"
    assert fit.warning.startswith("2 of 3 clips lose what they hold above 5000 Hz: evidence")
    assert "removed, not corrected" in fit.warning


def test_a_given_limit_is_used_and_what_it_leaves_is_told() -> None:
    """A given limit is kept to, and clips that end below it are counted and warned of."""
    fit = Bandwidth(upper_hz=7000).fit(measured(9000.0, 5000.0, 6900.0))
    assert (fit.upper_hz, fit.narrowest_hz, fit.wider_clips, fit.narrower_clips) == (7000, 5000, 1, 1)
    assert "1 end below it all the same, so the clips still differ" in fit.warning


def test_only_stimuli_decide() -> None:
    """A narrow reference clip does not narrow the study."""
    fit = STAGE.fit([*measured(9000.0, 8000.0), *measured(4000.0, role="reference")])
    assert fit.upper_hz == 8000


def test_a_set_too_narrow_for_speech_is_refused() -> None:
    """Where the narrowest clip ends below a telephone line, nothing is filtered: the clip is named."""
    with pytest.raises(RefusedError, match=r"1\.wav ends at 2000 Hz, below lowest_hz: 3400"):
        STAGE.fit(measured(9000.0, 2000.0))
    assert Bandwidth(lowest_hz=1500).fit(measured(9000.0, 2000.0)).upper_hz == 2000
    with pytest.raises(ValidationError, match="upper_hz"):
        Bandwidth(upper_hz=2000)


def test_a_clip_whose_rate_ends_earlier_is_left_alone() -> None:
    """A clip that cannot hold anything above the limit comes out as it was, and the notes say so."""
    clip = noise(8000, 16000)
    result = STAGE.apply(clip, Bandwidth(upper_hz=9000).fit(measured(9000.0)))
    assert isinstance(result, Applied)
    assert np.array_equal(result.clip.samples, clip.samples)
    assert result.notes["ended_by_rate"] is True


@pytest.mark.parametrize("frames", [1, 960])
def test_short_clips_and_silence_come_out_finite(frames: int) -> None:
    """One frame, 60 ms and digital silence are filtered like any other; silence has no bandwidth to learn from."""
    fit = STAGE.fit(measured(5000.0))
    assert treated(noise(8000, 16000).with_samples(noise(8000, 16000).samples[:frames]), fit).frames == frames
    silence = Clip(np.zeros((frames, 2), np.float32), 16000)
    assert not treated(silence, fit).samples.any()
    with pytest.raises(ClipError):
        STAGE.measure(silence)


def test_real_clips_end_alike_and_keep_their_level(shared: Path) -> None:
    """Real clips of four rates end within a band of one frequency, and hardly lose active level."""
    with (shared / "data" / "chains.csv").open(encoding="utf-8", newline="") as file:
        names = {line["speaker"]: line["file_name"] for line in csv.DictReader(file)}
    paths = [shared / "data" / name for _, name in sorted(names.items())][::2]
    clips = [Clip(*soundfile.read(path, always_2d=True, dtype="float32"), id=path.name) for path in paths]
    before = [edge_of(clip) for clip in clips]
    fit = STAGE.fit(measured(*before))
    outs = [treated(clip, fit) for clip in clips]
    after = [edge_of(clip) for clip in outs]
    assert max(before) - min(before) > 10 * BAND
    assert max(after) - min(after) <= BAND
    levels = [[level.active_level_dbov for clip in some if (level := active_level(clip))] for some in (clips, outs)]
    assert len(levels[1]) == len(clips)
    changes = np.abs(np.subtract(*levels))
    assert np.percentile(changes, 90) <= SPEECH_TOLERANCE
    assert max(changes) <= LOST_HISS
