"""Specification of the limiter."""

from __future__ import annotations

import numpy as np
import pytest

from prep.clip import Clip
from prep.errors import ClipError
from prep.level import gain, true_peak_dbtp
from prep.limiter import ATTACK_SECONDS, HOLD_SECONDS, REDUCED_DB, RELEASE_SECONDS, limit

RATE = 44100
CEILING_DBTP = -1.0
PASSED_DB = 0.05  # what a true peak may pass the ceiling by; well under the 0.2 dB codec margin
UNDER_DB = 0.05  # how far below the ceiling the limited peak of a steady tone may lie
REDUCTION_DB = 0.05  # of the reduction a burst of known peak needs
EDGE_DB = 0.1  # a tone that starts abruptly overshoots by this between its first samples
THD_DB = -100.0  # harmonics and side tones of a steady tone; far below the noise of any recording
SPLATTER_DB = -90.0  # energy beside a burst, over the burst; -60 dB would be a faint click
SAME_GAIN = 1e-5  # ratio of float32 samples, no unit
UNTOUCHED_SECONDS = 0.9  # after this, the release of 12 dB has fallen under 0.001 dB


def clip_of(samples: np.ndarray, rate: int = RATE) -> Clip:
    """Return samples (frames,) or (frames, channels) as a clip."""
    return Clip(np.reshape(samples, (len(samples), -1)).astype(np.float32), rate)


def tone(frequency_hz: float, peak_dbfs: float, seconds: float = 2.0, phase: float = 0.0) -> np.ndarray:
    """Return a sine, (frames,)."""
    time = np.arange(round(seconds * RATE)) / RATE
    return 10 ** (peak_dbfs / 20) * np.sin(2 * np.pi * frequency_hz * time + phase)


def burst(frequency_hz: float, peak_dbfs: float) -> np.ndarray:
    """Return 2 s of a soft tone that is loud from 0.5 to 1 s, with flanks of 20 ms, (frames,)."""
    loud = np.zeros(2 * RATE)
    loud[RATE // 2 : RATE] = 1
    flank = np.hanning(882)
    envelope = 0.1 + 0.9 * np.convolve(loud, flank / flank.sum(), mode="same")
    return tone(frequency_hz, peak_dbfs) * envelope


def noise(seed: int, frames: int, channels: int = 1) -> np.ndarray:
    """Return noise with a few wild peaks, (frames, channels)."""
    draw = np.random.default_rng(seed)
    return 0.3 * draw.standard_t(3, (frames, channels))


def reduction_db(before: Clip, after: Clip) -> np.ndarray:
    """Return by how much each sample is reduced, NaN where it is too small to tell."""
    loud = np.abs(before.samples) > 1e-3
    ratio = np.divide(after.samples, before.samples, out=np.full(before.samples.shape, np.nan, np.float32), where=loud)
    return -20 * np.log10(ratio)


def test_a_burst_is_reduced_by_what_it_needs() -> None:
    """A burst 6 dB over the ceiling is reduced by 6 dB, ends at the ceiling, and the rest is as it came."""
    before = clip_of(burst(1000, CEILING_DBTP + 6))
    limited = limit(before, CEILING_DBTP)

    assert limited.largest_reduction_db == pytest.approx(6, abs=REDUCTION_DB)
    assert CEILING_DBTP - UNDER_DB < true_peak_dbtp(limited.clip) <= CEILING_DBTP + PASSED_DB
    start = round((0.5 - 0.010 - ATTACK_SECONDS) * RATE)
    end = round((1.01 + HOLD_SECONDS + UNTOUCHED_SECONDS) * RATE)
    np.testing.assert_array_equal(limited.clip.samples[:start], before.samples[:start])
    np.testing.assert_array_equal(limited.clip.samples[end:], before.samples[end:])
    seconds = 0.5 + HOLD_SECONDS + RELEASE_SECONDS * np.log(6 / REDUCED_DB)
    assert limited.reduced_share * before.seconds == pytest.approx(seconds, abs=0.02)


def test_peaks_between_samples_are_held() -> None:
    """A tone whose samples stay 3 dB under its true peak is limited by its true peak."""
    before = clip_of(tone(RATE / 4, 0.0, phase=np.pi / 4))
    assert np.abs(before.samples).max() < 10 ** (-3 / 20)

    limited = limit(before, CEILING_DBTP)

    assert limited.largest_reduction_db > 1 - REDUCTION_DB
    assert true_peak_dbtp(limited.clip) <= CEILING_DBTP + PASSED_DB


@pytest.mark.parametrize("place", [0, 1, -2, -1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_click_at_an_edge_is_held(place: int, sign: int) -> None:
    """A click of +11 dBFS at the first or last samples is held, and only the sound around it is touched."""
    samples = tone(300, -20)
    samples[place] = sign * 3.5
    before = clip_of(samples)
    limited = limit(before, CEILING_DBTP)

    assert true_peak_dbtp(limited.clip) <= CEILING_DBTP + PASSED_DB
    assert limited.clip.samples[place] * sign > 10 ** ((CEILING_DBTP - 1) / 20)  # no more is taken than needed
    far = slice(round(UNTOUCHED_SECONDS * RATE), None) if place >= 0 else slice(-RATE)
    np.testing.assert_array_equal(limited.clip.samples[far], before.samples[far])


def test_a_clip_that_begins_and_ends_loud_is_held_throughout() -> None:
    """A tone 12 dB over the ceiling from the first sample to the last has the same reduction at both ends."""
    before = clip_of(tone(200, CEILING_DBTP + 12, seconds=0.5, phase=1.0))
    reduction = reduction_db(before, limit(before, CEILING_DBTP).clip)
    assert np.nanmin(reduction) == pytest.approx(12, abs=EDGE_DB)
    assert np.nanmax(reduction) == pytest.approx(12, abs=EDGE_DB)


def test_channels_share_one_gain() -> None:
    """A peak in one channel reduces every channel by the same gain, so that the image does not move."""
    before = clip_of(np.stack([burst(1000, 3.0), tone(700, -20)], axis=1))
    reduction = reduction_db(before, limit(before, CEILING_DBTP).clip)
    both = np.isfinite(reduction).all(axis=1) & (reduction[:, 0] > REDUCED_DB)
    assert both.sum() > 1000
    np.testing.assert_allclose(reduction[both, 0], reduction[both, 1], atol=1e-3)


def test_nothing_over_the_ceiling_nothing_changed() -> None:
    """A clip whose true peak is exactly at the ceiling comes back bit for bit, with no reduction."""
    loud = clip_of(noise(1, RATE))
    clip = gain(loud, CEILING_DBTP - 1e-4 - true_peak_dbtp(loud))
    limited = limit(clip, CEILING_DBTP)
    np.testing.assert_array_equal(limited.clip.samples, clip.samples)
    assert (limited.largest_reduction_db, limited.reduced_share) == (0, 0)


def test_digital_silence_stays_digital_silence() -> None:
    """A clip of zeros comes back as it is, and zeros beside a limited burst stay zeros."""
    silence = clip_of(np.zeros(1000))
    assert limit(silence, CEILING_DBTP).clip is silence
    samples = burst(500, 6.0)
    samples[RATE + 500 : RATE + 5000] = 0
    assert not limit(clip_of(samples), CEILING_DBTP).clip.samples[RATE + 500 : RATE + 5000].any()
    empty = Clip(np.zeros((0, 1), np.float32), RATE)
    assert limit(empty, CEILING_DBTP).clip is empty


@pytest.mark.parametrize("frequency_hz", [83, 120, 220, 1000])
def test_a_steady_voice_is_not_distorted(frequency_hz: float) -> None:
    """A steady tone of 83 Hz or more, limited by 6 dB, gets no harmonics: the gain does not follow its periods."""
    limited = limit(clip_of(tone(frequency_hz, CEILING_DBTP + 6)), CEILING_DBTP).clip.samples[:, 0]
    middle = limited[RATE // 2 : -RATE // 2].astype(np.float64)
    power = np.abs(np.fft.rfft(middle * np.blackman(len(middle)))) ** 2
    frequencies = np.fft.rfftfreq(len(middle), 1 / RATE)
    fundamental = np.abs(frequencies - frequency_hz) < 12
    assert 10 * np.log10(power[~fundamental].sum() / power[fundamental].sum()) < THD_DB


@pytest.mark.parametrize("frequency_hz", [120, 1000])
def test_the_gain_does_not_splatter(frequency_hz: float) -> None:
    """The gain moves so smoothly at a burst that what it adds 500 Hz away cannot be heard as a click."""
    limited = limit(clip_of(burst(frequency_hz, CEILING_DBTP + 6)), CEILING_DBTP).clip.samples[:, 0]
    power = np.abs(np.fft.rfft(limited * np.hanning(len(limited)))) ** 2
    beside = np.fft.rfftfreq(len(limited), 1 / RATE) > frequency_hz + 500
    assert 10 * np.log10(power[beside].sum() / power.sum()) < SPLATTER_DB


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000, 96000])
@pytest.mark.parametrize("frames", [1, 2, 7, 100, 20001])
def test_every_clip_ends_under_the_ceiling(rate: int, frames: int) -> None:
    """Whatever the length, rate and channels: peaks under the ceiling, samples only ever reduced, none moved."""
    for channels in (1, 2):
        samples = noise(frames, frames, channels)
        before = clip_of(4 * samples / np.abs(samples).max(), rate)
        limited = limit(before, CEILING_DBTP)
        assert limited.clip.samples.shape == before.samples.shape
        assert true_peak_dbtp(limited.clip) <= CEILING_DBTP + PASSED_DB
        assert (np.abs(limited.clip.samples) <= np.abs(before.samples)).all()
        assert (np.sign(limited.clip.samples) == np.sign(before.samples)).all()
        assert limited.largest_reduction_db > 0


def test_no_more_is_taken_than_the_highest_peak_needs() -> None:
    """The largest reduction is that of the highest peak, however many peaks are near it."""
    before = clip_of(noise(4, RATE))
    needed_db = true_peak_dbtp(before) - CEILING_DBTP
    assert limit(before, CEILING_DBTP).largest_reduction_db == pytest.approx(needed_db, abs=REDUCTION_DB)


def test_the_same_clip_is_limited_to_the_same_samples() -> None:
    """Limiting twice gives the same samples, and limiting what is limited changes next to nothing."""
    before = clip_of(noise(5, RATE))
    first, second = limit(before, CEILING_DBTP), limit(before, CEILING_DBTP)
    assert first.clip.samples.tobytes() == second.clip.samples.tobytes()
    assert limit(first.clip, CEILING_DBTP).largest_reduction_db <= PASSED_DB


def test_a_sample_that_is_no_number_is_refused() -> None:
    """A clip with a sample that is not finite is refused by frame."""
    samples = noise(6, 1000)
    samples[10] = np.nan
    with pytest.raises(ClipError, match="frame"):
        limit(clip_of(samples), CEILING_DBTP)


def test_a_click_train_is_held_click_by_click() -> None:
    """Every click of a train ends under the ceiling, oversampled fourfold too; the tone far from it is as it was."""
    samples = tone(300, -30)
    samples[RATE // 4 :: RATE // 2] = 1.5
    limited = limit(clip_of(samples), CEILING_DBTP).clip
    size = limited.frames
    spectrum = np.fft.rfft(limited.samples[:, 0].astype(np.float64))
    oversampled = 4 * np.fft.irfft(np.pad(spectrum, (0, 2 * size - len(spectrum) + 1)), 4 * size)
    far = slice(RATE // 4 + round(0.4 * RATE), RATE // 4 + round(0.48 * RATE))

    assert 20 * np.log10(np.abs(oversampled).max()) <= CEILING_DBTP + PASSED_DB
    assert np.abs(limited.samples[RATE // 4 :: RATE // 2]).max() < 1
    assert np.allclose(limited.samples[far, 0], samples[far], rtol=0.02)
