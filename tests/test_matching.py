"""Matchering's frequency matching: what is computed here is what the installed Matchering computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import matching
from prep.errors import ClipError
from prep.matching import BIN_HZ, BINS, GRID_RATE, GRID_SIZE, Sound, Spectrum, correction, heard, matching_fir, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable

AVERAGE = 1e-4  # relative: the transform is of float32, Matchering's of float64
SMOOTHING = 1e-3  # relative, 0.01 dB: straight lines between anchors, where Matchering has a spline
FILTER_DB = 0.1  # dB; Matchering's window is half a sample off its filter
LEVEL_DB = 0.001  # dB, of a root that is found by search
EDGE_HZ = 250.0  # Hz: two bands of the search for the upper edge


def noise(seed: int, seconds: float, rate: int = GRID_RATE, power: float = 0.8) -> np.ndarray:
    """Return noise in syllables that falls above 500 Hz, (frames,)."""
    draw = np.random.default_rng(seed)
    frames = round(seconds * rate)
    shape = 1 / (1 + np.fft.rfftfreq(frames, 1 / rate) / 500) ** power
    sound = np.fft.irfft(np.fft.rfft(draw.standard_normal(frames)) * shape, frames)
    syllables = np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / rate + seed), 1e-3, None)
    return 0.05 * sound / sound.std() * syllables


def limited(low_hz: float, high_hz: float, seconds: float = 3, rate: int = GRID_RATE) -> np.ndarray:
    """Return noise that is empty outside a band, but for a floor 90 dB down."""
    spectrum = np.fft.rfft(noise(1, seconds, rate))
    frequencies = np.fft.rfftfreq(round(seconds * rate), 1 / rate)
    spectrum[(frequencies < low_hz) | (frequencies > high_hz)] = 0
    floor = 3e-6 * np.random.default_rng(2).standard_normal(round(seconds * rate))
    return np.fft.irfft(spectrum, round(seconds * rate)) + floor


def own(name: str) -> Callable[..., np.ndarray]:
    """Return a function of the installed Matchering's frequency matching."""
    found: Callable[..., np.ndarray] = vars(matching._matchering(".stage_helpers.match_frequencies"))[name]
    return found


@pytest.mark.parametrize("frames", [1, 30])
def test_the_averaged_spectrum_is_matcherings(frames: int) -> None:
    """At 44.1 kHz and for whole frames, the averaged spectrum is that of Matchering."""
    signal = noise(3, frames * GRID_SIZE / GRID_RATE)
    signal -= signal.mean()
    theirs = own("__average_fft")(signal[np.newaxis], GRID_RATE, GRID_SIZE)
    assert heard(signal, GRID_RATE).spectrum.amplitudes[1:] == pytest.approx(theirs[1:], rel=AVERAGE)


def test_a_long_sound_is_measured_in_its_loud_pieces() -> None:
    """Of a sound beyond 15 s the pieces are measured that Matchering takes: here the loud half."""
    loud, quiet = noise(4, 15), 0.01 * np.random.default_rng(5).standard_normal(15 * GRID_RATE)
    both = heard(np.concatenate([10 * loud, quiet, quiet]), GRID_RATE).spectrum
    alone = heard(loud[: 14 * GRID_RATE], GRID_RATE).spectrum
    levels = [20 * np.log10(item.amplitudes[20:500] / item.amplitudes[20:500].mean()) for item in (both, alone)]
    assert np.abs(np.mean((levels[0] - levels[1]).reshape(-1, 48), axis=1)).max() < 1.5


@pytest.mark.parametrize("rate", [16000, 22050, 24000, 48000])
def test_the_bins_are_the_same_at_every_rate(rate: int) -> None:
    """A tone stands in the same bin at every rate."""
    bin_of_tone = 300
    tone = np.sin(2 * np.pi * bin_of_tone * BIN_HZ * np.arange(2 * rate) / rate)
    assert np.argmax(heard(tone, rate).spectrum.amplitudes) == bin_of_tone


def test_the_smoothing_is_matcherings() -> None:
    """Any ratio is smoothed as Matchering smooths it, from the bin on which its axis begins."""
    config = matching._matchering().Config()
    draw = np.random.default_rng(6)
    for ratio in (np.linspace(1, 9, BINS), np.exp(draw.standard_normal(BINS))):
        assert smoothed(ratio)[2:] == pytest.approx(own("__smooth_exponentially")(ratio, config)[2:], rel=SMOOTHING)


def test_another_smoothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Matchering that smooths in another way is refused, and not silently followed or ignored."""
    monkeypatch.setitem(
        vars(matching._matchering(".stage_helpers.match_frequencies")),
        "__smooth_exponentially",
        lambda ratio, _: np.ones_like(ratio),
    )
    with pytest.raises(RuntimeError, match="smooths in another way"):
        matching._smoothing.__wrapped__()


def test_the_filter_is_matcherings_but_symmetric() -> None:
    """The filter has the gain of Matchering's, and is symmetric about its middle."""
    whole = 40 * GRID_SIZE / GRID_RATE
    target, reference = noise(7, whole), noise(8, whole, power=1.3)
    theirs = own("get_fir")(target[np.newaxis], reference[np.newaxis], "mid", matching._matchering().Config())
    found = correction(heard(target, GRID_RATE), heard(reference, GRID_RATE).spectrum)
    ours = matching_fir(found.gain_db, GRID_RATE)
    assert ours == pytest.approx(ours[::-1], abs=1e-15)
    levels = [20 * np.log10(np.abs(np.fft.rfft(taps, 4 * GRID_SIZE)))[40:6000] for taps in (theirs, ours)]
    difference = levels[0] - levels[1]
    assert np.abs(difference - difference.mean()).max() < FILTER_DB


@pytest.mark.parametrize("rate", [8000, 11025, 12000, 16000, 44100, 96000])
def test_the_filter_of_no_gain_is_none(rate: int) -> None:
    """A gain of 0 dB gives a single tap in the middle, at any rate."""
    taps = matching_fir(np.zeros(BINS), rate)
    single = np.zeros(len(taps))
    single[len(taps) // 2] = 1
    assert len(taps) % 2 == 1
    assert taps == pytest.approx(single, abs=1e-12)


@pytest.mark.parametrize("rate", [16000, 24000, 44100])
@pytest.mark.parametrize("band", [(150.0, 4000.0), (300.0, 3400.0), (100.0, 7000.0)])
def test_edges_are_found(rate: int, band: tuple[float, float]) -> None:
    """The edges of what a sound fills are found at any rate, above a floor 90 dB down."""
    found = heard(limited(*band, rate=rate), rate).spectrum
    assert found.from_hz == pytest.approx(band[0], abs=3 * BIN_HZ)
    assert found.to_hz == pytest.approx(band[1], abs=EDGE_HZ)


def test_the_loudness_is_left() -> None:
    """With and without caps, the gain's mean is 1 over what the clip's loudness comes from."""
    sound = heard(noise(9, 3), GRID_RATE)
    reference = heard(noise(10, 3, power=2.5), GRID_RATE).spectrum
    for cap in (np.inf, 6.0):
        gain = 10 ** (correction(sound, reference, cap, cap).gain_db / 10)
        filled = np.arange(BINS) * BIN_HZ >= sound.spectrum.from_hz
        change = np.sum((sound.loudness * gain)[filled]) / np.sum(sound.loudness[filled])
        assert 10 * np.log10(change) == pytest.approx(0, abs=LEVEL_DB)


def test_the_caps_hold() -> None:
    """No gain passes a cap, and what was wanted is told."""
    found = correction(
        heard(noise(9, 3), GRID_RATE), heard(noise(10, 3, power=2.5), GRID_RATE).spectrum, max_boost_db=2, max_cut_db=5
    )
    assert found.gain_db.max() == 2
    assert found.gain_db.min() == -5
    assert found.wanted_db.max() > 2
    assert found.wanted_db.min() < -5


def test_where_the_clip_is_empty_nothing_is_boosted() -> None:
    """Beyond the edges of a clip the gain is not above 0 dB, whatever the reference has there."""
    reference = heard(noise(11, 3, power=0.0), GRID_RATE).spectrum
    sound = heard(limited(200, 5000), GRID_RATE)
    gain, frequencies = correction(sound, reference).gain_db, np.arange(BINS) * BIN_HZ
    assert gain[(frequencies < sound.spectrum.from_hz) | (frequencies > sound.spectrum.to_hz)].max() <= 0
    assert gain.max() > 6


def test_where_the_reference_is_empty_the_gain_is_held() -> None:
    """Beyond the reference's edge a clip that goes on is neither cut nor boosted more than at the edge."""
    sound, reference = heard(noise(12, 3), GRID_RATE), heard(limited(100, 5000), GRID_RATE).spectrum
    found = correction(sound, reference)
    beyond = found.gain_db[round(found.to_hz * 1.3 / BIN_HZ) :]
    assert np.ptp(beyond) < 0.01
    assert abs(beyond[0] - found.gain_db[round(found.to_hz * 0.9 / BIN_HZ)]) < 3


@pytest.mark.parametrize(
    ("signal", "said"),
    [
        (np.zeros(4096), "silent"),
        (np.full(4096, 0.25), "silent"),
        (np.ones(400), "too short"),
        (np.array([np.nan] * 4096), "not finite"),
    ],
)
def test_what_has_no_spectrum_is_refused(signal: np.ndarray, said: str) -> None:
    """Silence, a constant, less than 60 ms and samples that are not finite are refused in words."""
    with pytest.raises(ClipError, match=said):
        heard(signal, 16000)


def test_a_rate_without_speech_is_refused() -> None:
    """A rate that holds less than an octave above 200 Hz is refused in words."""
    with pytest.raises(ClipError, match="rate of 250 Hz holds less than an octave"):
        heard(noise(13, 20, 250), 250)


def test_bands_that_do_not_meet_are_refused() -> None:
    """A clip that shares less than an octave of speech with the reference is refused with both bands."""
    low = Sound(Spectrum(np.ones(BINS), 0, 350), np.ones(BINS))
    with pytest.raises(ClipError, match="fills 0-350 Hz and the reference 200-7000 Hz"):
        correction(low, Spectrum(np.ones(BINS), 200, 7000))
