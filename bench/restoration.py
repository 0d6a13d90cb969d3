"""What denoise and dereverb do to real speech, and what they cost: the tables of docs/restoration.md.

    python bench/restoration.py FOLDER [clean dry rooms srmr pauses breaths noise cost]

FOLDER is a corpus with speech_real/, human_vs_tts/ and reverb_noise/ (noise/, rir/, reverberant/); all tables are made
by default.

Needs pesq and pystoi, which prep does not: pip install pesq pystoi. Only speakers, noises and rooms are reported on
which nothing was tuned. Each table goes between its marks in the page.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.signal import (
    ShortTimeFFT,
    butter,
    fftconvolve,
    gammatone,
    hilbert,
    iirpeak,
    lfilter,
    resample_poly,
    sosfilt,
    sosfiltfilt,
)
from scipy.signal.windows import hann

from prep import audio, deepfilter, level
from prep.clip import Clip
from prep.errors import ClipError
from prep.stage import Applied
from prep.stages.denoise import Denoise
from prep.stages.dereverb import DELAY_HOPS, HOP_SECONDS, ITERATIONS, WINDOW_SECONDS, Dereverb
from prep.stages.detap import Detap
from prep.stages.edges import Edges
from prep.stages.high_pass import HighPass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prep.clip import Signal

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "restoration.md"
DEFAULT_CORPUS = PROJECT.parent / "shared" / "data"

# None of these was heard while the stages were tuned: those were VCTK p225, CMU aew, SpeechBrain spk1 and one LibriVox
# reader, white, pink and one recorded noise, and simulated rooms of other seeds. One exception: that dereverb looks at
# what its filter takes is because of spk2_snt2; the share asked for was set on the tuning speakers and more readers.
SPEECH = ("vctk_16k/p226*", "cmu_arctic/*axb*", "speechbrain/spk2*", "ljspeech/*", "lhotse/*")
# People whom `dereverb` met last of all, when nothing in it was changed any more.
UNHEARD = {
    "LibriTTS": "human_vs_tts/fastspeech2_libritts/*_ground-truth*",
    "VCTK, first set": "human_vs_tts/hifigan_ms/*__GT*",
    "VCTK, second set": "human_vs_tts/vits/*_gt.wav",
    "CMU ARCTIC, another speaker": "speech_real/cmu_arctic/arctic_a0010*",
    "PocketSphinx, cards": "speech_real/pocketsphinx/0*",
    "Asterisk, 8 kHz": "speech_real/asterisk_en/*",
}
RECORDED_NOISES = ("speechbrain_noise3.wav", "hens.ogg")
MADE_NOISES = ("white", "pink")
SNR_DB = 10.0
SIMULATED_SECONDS = (0.3, 0.4, 0.5, 0.6)
T60_SECONDS = (0.29, 0.61)  # 0.3 to 0.6 s; a made room is off by as much
LIVELY_SECONDS = 0.3  # a decay that may be a room's
NEAR_SECONDS = (0.25, 0.75)  # shown, and left out of the summary
RATE = 16_000  # of PESQ (wide band) and STOI
WANTED_PESQ = 4.5
PAUSE_SECONDS = 0.8
EARLY_SECONDS, LATE_SECONDS = 0.05, 0.45


class Scores(NamedTuple):
    """Likeness to the clean sound."""

    pesq: float
    stoi: float
    estoi: float


def scores(clean: Clip, heard: Clip) -> Scores:
    """Return PESQ (wide band), STOI and ESTOI of a sound against the clean one."""
    from pesq import pesq  # type: ignore[import-untyped]
    from pystoi import stoi  # type: ignore[import-untyped]

    reference, other = (audio.resample(clip, RATE).mono() for clip in (clean, heard))
    return Scores(
        float(pesq(RATE, reference, other, "wb")),
        float(stoi(reference, other, RATE)),
        float(stoi(reference, other, RATE, extended=True)),
    )


def decoded(path: Path) -> Clip:
    """Return a file as a mono clip."""
    clip, _ = audio.decode(path.read_bytes(), path.name)
    return Clip(clip.mono()[:, np.newaxis].astype(np.float32), clip.rate, path.stem)


def of(signal: Signal, rate: int, name: str = "") -> Clip:
    """Return a clip of a signal."""
    return Clip(signal[:, np.newaxis].astype(np.float32), rate, name)


def write_table(mark: str, rows: Sequence[Sequence[str]]) -> None:
    """Print a table, the first row its head, and put it between its marks in the page."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    table = "\n".join(lines) + "\n"
    print(f"{mark}\n{table}", flush=True)
    before, rest = PAGE.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n")
    after = rest.split(f"<!-- /{mark} -->")[1]
    PAGE.write_text(f"{before}<!-- {mark} -->\n{table}<!-- /{mark} -->{after}", encoding="utf-8")


def over(values: Sequence[float], digits: int) -> str:
    """Return mean and least of some values."""
    return f"{np.mean(values):.{digits}f} ({np.min(values):.{digits}f})" if len(values) else ""


def furthest(values: Sequence[float]) -> str:
    """Return the value that is furthest from 0."""
    return f"{max(values, key=abs):+.2f}" if len(values) else ""


# Noise --------------------------------------------------------------------------------------------


@cache
def recording(path: Path, rate: int) -> Signal:
    """Return a recorded noise at a rate."""
    return audio.resample(decoded(path), rate).mono()


def noise(kind: str, frames: int, rate: int, corpus: Path) -> Signal:
    """Return noise of RMS 1: made (white, pink, brown), or from a recording, repeated where it is shorter."""
    draw = np.random.default_rng(11)
    if kind in ("white", "pink", "brown"):
        frequencies = np.maximum(np.fft.rfftfreq(frames, 1 / rate), 60)
        power = {"white": 0.0, "pink": 0.5, "brown": 1.0}[kind]
        sound = np.fft.irfft(np.fft.rfft(draw.standard_normal(frames)) / frequencies**power, frames)
    else:
        whole = recording(corpus / "reverb_noise" / "noise" / kind, rate)
        sound = np.resize(np.roll(whole, -int(draw.integers(len(whole)))), frames)
    scaled: Signal = sound / np.sqrt(np.mean(np.square(sound)))
    return scaled


def speech_rms(clip: Clip) -> float:
    """Return the RMS of a clip's active speech."""
    active = level.active_level(clip)
    if active is None:
        raise ClipError(f"{clip.id}: {level.why_no_active_level(clip)}")
    return float(10 ** (active.active_level_dbov / 20))


def gain_db(clean: Clip, before: Clip, after: Clip) -> float:
    """Return how much louder the clean sound is in one mixture than in another."""
    voice = clean.mono()
    return 20 * float(np.log10(np.dot(after.mono(), voice) / np.dot(before.mono(), voice)))


def noise_table(clips: Sequence[Clip], corpus: Path) -> None:
    """Write PESQ and STOI before and after denoising, and how far the voice's level moved."""
    stages = {
        "deepfilter, 18 dB (default)": Denoise(),
        "deepfilter, 12 dB": Denoise(max_attenuation_db=12),
        "spectral_gate, 18 dB": Denoise(method="spectral_gate"),
    }
    head = ("noise", "method", "clips", "not treated", "PESQ before", "PESQ after", "PESQ change", "STOI change")
    rows: list[Sequence[str]] = [(*head, "largest change of the voice's level, dB")]
    pooled: dict[str, list[tuple[float, float]]] = {}
    for kind in (*MADE_NOISES, *RECORDED_NOISES):
        mixtures = []
        for clip in clips:
            under = noise(kind, clip.frames, clip.rate, corpus) * speech_rms(clip) * 10 ** (-SNR_DB / 20)
            mixture = of(clip.mono() + under, clip.rate, clip.id)
            mixtures.append((clip, mixture, scores(clip, mixture)))
        for name, stage in stages.items():
            found = []
            for clip, mixture, before in mixtures:
                treated = applied(stage, mixture)
                if treated is not None:
                    found.append((before, scores(clip, treated), gain_db(clip, mixture, treated)))
            changes = [(after.pesq - before.pesq, after.stoi - before.stoi) for before, after, _ in found]
            pooled.setdefault(name, []).extend(changes)
            counts = (str(len(found)), str(len(clips) - len(found)))
            figures = (
                over([before.pesq for before, _, _ in found], 2),
                over([after.pesq for _, after, _ in found], 2),
                over([change for change, _ in changes], 2),
                over([change for _, change in changes], 3),
                furthest([moved for _, _, moved in found]),
            )
            rows.append((kind, name, *counts, *figures))
    for name, changes in pooled.items():
        every = (over([change for change, _ in changes], 2), over([change for _, change in changes], 3))
        rows.append(("all", name, str(len(changes)), "", "", "", *every, ""))
    write_table("noise", rows)


def applied(stage: Denoise, clip: Clip) -> Clip | None:
    """Return a clip denoised; None where the stage rejects or refuses it."""
    try:
        result = stage.apply(clip, None)
    except ClipError:
        return None
    return result.clip if isinstance(result, Applied) else None


def clean_table(clips: Sequence[Clip]) -> None:
    """Write what each stage leaves of clean speech."""
    stages: dict[str, Callable[[Clip], Clip | None]] = {
        "denoise": lambda clip: applied(Denoise(), clip),
        "denoise, 12 dB": lambda clip: applied(Denoise(max_attenuation_db=12), clip),
        "denoise, spectral_gate": lambda clip: applied(Denoise(method="spectral_gate"), clip),
        "dereverb": lambda clip: Dereverb().apply(clip, None).clip,
    }
    rows: list[Sequence[str]] = [
        (
            "stage",
            "clips",
            "not treated",
            "unchanged",
            "PESQ",
            "below 4.5",
            "STOI",
            "largest change of active level, dB",
        )
    ]
    for name, treat in stages.items():
        found, untouched, moved = [], 0, []
        for clip in clips:
            out = treat(clip)
            if out is None:
                continue
            untouched += out is clip
            found.append(scores(clip, out))
            moved.append(20 * float(np.log10(speech_rms(out) / speech_rms(clip))))
        below = str(sum(one.pesq < WANTED_PESQ for one in found))
        figures = (over([one.pesq for one in found], 2), below, over([one.stoi for one in found], 3), furthest(moved))
        rows.append((name, str(len(found)), str(len(clips) - len(found)), str(untouched), *figures))
    write_table("clean", rows)


def dry_table(clips: Sequence[Clip], corpus: Path) -> None:
    """Write what dereverb leaves of the other tables' clips and of people it never met, by corpus and by decay."""
    sets = {"the clips above": clips}
    sets |= {name: [decoded(path) for path in sorted(corpus.glob(pattern))] for name, pattern in UNHEARD.items()}
    found = {name: [passage(clip) for clip in members] for name, members in sets.items()}
    every = [one for ones in found.values() for one in ones]
    found["all of the new ones"] = every[len(clips) :]
    found["all, decay below 0.3 s"] = [one for one in every if one.t60 is not None and one.t60 < LIVELY_SECONDS]
    found["all, 0.3 s or more"] = [one for one in every if one.t60 is not None and one.t60 >= LIVELY_SECONDS]
    found["all, decay not told"] = [one for one in every if one.t60 is None]
    rows: list[Sequence[str]] = [
        ("people", "clips", "filter tried", "largest share taken off", "changed", "PESQ", "below 4.5")
    ]
    for name, ones in found.items():
        shares = [one.share for one in ones if one.share is not None]
        tried = (str(len(shares)), f"{max(shares):.4f}" if shares else "")
        below = str(sum(one.pesq < WANTED_PESQ for one in ones))
        changed = str(sum(one.changed for one in ones))
        rows.append((name, str(len(ones)), *tried, changed, over([one.pesq for one in ones], 2), below))
    write_table("dry", rows)


class Passage(NamedTuple):
    """A clip through dereverb: the decay told of it, the share its filter took, and what came out."""

    t60: float | None
    share: float | None
    changed: bool
    pesq: float


def passage(clip: Clip) -> Passage:
    """Return what dereverb does to a clip."""
    result = Dereverb().apply(clip, None)
    pesq = scores(clip, result.clip).pesq
    return Passage(result.notes["t60_before_seconds"], result.notes.get("removed_share"), result.clip is not clip, pesq)


def pause_table(clips: Sequence[Clip], corpus: Path) -> None:
    """Write by how much steady noise falls in pauses, and by how much a breath, with and without the rule."""
    rows: list[Sequence[str]] = [("method", "cap, dB", "noise", "frames", "attenuation, dB", "largest, dB")]
    for method in ("deepfilter", "spectral_gate"):
        for cap in (12.0, 18.0):
            stage = Denoise.model_validate({"method": method, "max_attenuation_db": cap})
            for kind in ("white", "pink", "brown"):
                fell = [
                    found
                    for clip in clips
                    for snr in (30.0, 20.0, 10.0)
                    for found in falls(stage, clip, kind, snr, corpus)
                ]
                rows.append((method, f"{cap:g}", kind, str(len(fell)), f"{np.mean(fell):.1f}", f"{max(fell):.2f}"))
    write_table("pauses", rows)
    rows = [("method", "breath under speech, dB", "clips", "loss, dB", "largest, dB", "largest without the rule, dB")]
    for method in ("deepfilter", "spectral_gate"):
        for under in (20.0, 30.0, 40.0):
            lost = [
                [
                    breath_loss_db(
                        Denoise.model_validate({"method": method, "breath_loss_db": most}), clip, under, corpus
                    )
                ]
                for most in (2.0, 60.0)
                for clip in clips
            ]
            ruled, free = (np.array(part, float) for part in (lost[: len(clips)], lost[len(clips) :]))
            counted = str(int(np.isfinite(ruled).sum()))
            figures = (f"{np.nanmean(ruled):.2f}", f"{np.nanmax(ruled):.2f}", f"{np.nanmax(free):.1f}")
            rows.append((method, f"{under:g}", counted, *figures))
    write_table("breaths", rows)


def real_breath_table(corpus: Path) -> None:
    """Write what the annotated breaths lose, by recordings, with and without the rule."""
    table = list(csv.DictReader((PROJECT / "tests" / "breaths.csv").read_text(encoding="utf-8").splitlines()))
    folders = np.array([Path(row["file_name"]).parent.name for row in table])
    head = ("method", "recordings", "breaths", "not treated", "loss, dB", "largest, dB")
    rows: list[Sequence[str]] = [(*head, "largest without the rule, dB")]
    for method in ("deepfilter", "spectral_gate"):
        ruled, free = (Denoise.model_validate({"method": method, "breath_loss_db": most}) for most in (2.0, 60.0))
        lost = np.array(
            [[span_loss_db(stage, *breath_excerpt(corpus, row)) for stage in (ruled, free)] for row in table]
        )
        for name in (*dict.fromkeys(folders), "all"):
            chosen = lost[(folders == name) | (name == "all")]
            told = chosen[np.isfinite(chosen).all(axis=1)]
            counts = (str(len(told)), str(len(chosen) - len(told)))
            figures = [told[:, 0].mean(), *told.max(axis=0)] if len(told) else []
            rows.append((method, name, *counts, *(f"{figure:.2f}" for figure in figures), *[""] * (3 - len(figures))))
    write_table("real breaths", rows)


def breath_excerpt(corpus: Path, row: Mapping[str, str]) -> tuple[Clip, int, int]:
    """Return an annotated breath with 3 s before and after it, and its first frame and its end in that clip."""
    clip = decoded(corpus / row["file_name"])
    first, last = (round(float(row[edge]) * clip.rate) for edge in ("start_seconds", "end_seconds"))
    begin = max(first - 3 * clip.rate, 0)
    return of(clip.mono()[begin : last + 3 * clip.rate], clip.rate, row["file_name"]), first - begin, last - begin


def span_loss_db(stage: Denoise, clip: Clip, first: int, last: int) -> float:
    """Return the loss of a stretch of a clip, above 80 Hz: rumble is no breath. NaN where it is not treated."""
    out = applied(stage, clip)
    if out is None:
        return float("nan")
    passed = butter(2, 80, "highpass", fs=clip.rate, output="sos")
    powers = [float(np.mean(np.square(sosfilt(passed, sound.mono())[first:last]))) for sound in (clip, out)]
    return 10 * float(np.log10(powers[0] / powers[1]))


def falls(stage: Denoise, clip: Clip, kind: str, snr_db: float, corpus: Path) -> list[float]:
    """Return by how much each 50 ms of noise falls in a pause before and after a clip, dB."""
    pause = round(PAUSE_SECONDS * clip.rate)
    sound = np.pad(clip.mono(), pause)
    under = noise(kind, len(sound), clip.rate, corpus) * speech_rms(clip) * 10 ** (-snr_db / 20)
    mixture = of(sound + under, clip.rate)
    out = applied(stage, mixture)
    if out is None:
        return []
    frame = round(0.05 * clip.rate)
    starts = [
        first + offset for first in (0, len(sound) - pause) for offset in range(4 * frame, pause - 4 * frame, frame)
    ]
    return [10 * float(np.log10(power(mixture, first, frame) / power(out, first, frame))) for first in starts]


def power(clip: Clip, first: int, frames: int) -> float:
    """Return the power of a stretch of a clip."""
    return float(np.mean(np.square(clip.samples[first : first + frames], dtype=float)))


def breath_loss_db(stage: Denoise, clip: Clip, under_db: float, corpus: Path) -> float:
    """Return the loss of a made breath of 0.35 s in a pause between a clip and itself, over noise 50 dB under it."""
    rate, active = clip.rate, speech_rms(clip)
    frames, gap = round(0.35 * rate), round(0.4 * rate)
    frequencies = np.fft.rfftfreq(frames, 1 / rate)
    shape = (frequencies > 300) / (1 + (frequencies / 2500) ** 2)
    breath = np.fft.irfft(np.fft.rfft(np.random.default_rng(7).standard_normal(frames)) * shape, frames)
    breath *= np.hanning(frames) ** 0.5
    breath *= active * 10 ** (-under_db / 20) / np.sqrt(np.mean(np.square(breath)))
    sound = np.concatenate([clip.mono(), np.zeros(gap), breath, np.zeros(gap), clip.mono()])
    room = noise("pink", len(sound), rate, corpus) * active * 10 ** (-50 / 20)
    mixture = of(sound + room, rate)
    out = applied(stage, mixture)
    if out is None:
        return float("nan")
    edge = round(0.05 * rate)
    first, length = clip.frames + gap + edge, frames - 2 * edge
    return 10 * float(np.log10(power(mixture, first, length) / power(out, first, length)))


# Rooms --------------------------------------------------------------------------------------------


def decay_seconds(response: Signal, rate: int) -> float:
    """Return T30 of a room response: ISO 3382-1, backward integration, the noise of its last tenth taken out."""
    direct = response[int(np.argmax(np.abs(response))) :]
    energy = np.cumsum(np.square(direct)[::-1])[::-1]
    energy = energy - np.mean(np.square(direct[-len(direct) // 10 :])) * np.arange(len(direct))[::-1]
    fall = 10 * np.log10(np.maximum(energy / energy[0], 1e-12))
    first, last = (int(np.argmax(fall <= edge)) for edge in (-5, -35))
    if last <= first:
        return float("nan")
    return -60 / float(np.polyfit(np.arange(first, last) / rate, fall[first:last], 1)[0])


def simulated(t60: float, seed: int) -> Signal:
    """Return a made room: the direct sound, sparse reflections for 30 ms, then noise that falls by 60 dB in t60."""
    draw = np.random.default_rng(seed)
    times = np.arange(round(1.2 * t60 * RATE)) / RATE
    tail = draw.standard_normal(len(times)) * 10 ** (-3 * times / t60) * (times > 0.002)
    tail *= np.where(times < 0.03, 3.2 * (draw.random(len(times)) < 0.1), 1)
    response: Signal = tail / np.sqrt(np.sum(np.square(tail)))
    response[0] = 1
    return response


def rooms(corpus: Path) -> dict[str, tuple[Signal, float]]:
    """Return the responses (from the direct sound on, at 16 kHz) and T30 of the rooms in range or near it."""
    found = {f"simulated, seed {1000 + i}": simulated(t60, 1000 + i) for i, t60 in enumerate(SIMULATED_SECONDS)}
    for path in sorted((corpus / "reverb_noise" / "rir").glob("*.wav")):
        clip, _ = audio.decode(path.read_bytes(), path.name)
        first = audio.resample(clip.with_samples(clip.samples[:, :1]), RATE).mono()
        found[path.name] = first[max(int(np.argmax(np.abs(first))) - round(0.0025 * RATE), 0) :]
    decays = {name: (response, decay_seconds(response, RATE)) for name, response in found.items()}
    rows = [("room", "T30, s"), *((name, f"{seconds:.2f}") for name, (_, seconds) in decays.items())]
    write_table("decays", rows)
    return {name: decay for name, decay in decays.items() if NEAR_SECONDS[0] <= decay[1] <= NEAR_SECONDS[1]}


def c50_db(dry: Signal, wet: Signal) -> float:
    """Return the clarity of what turns one sound into the other: 50 ms of its response over the next 400 ms.

    By deconvolution, regularised by a hundredth of the power near by, 150 to 6500 Hz. What it finds at negative times
    is taken for its noise.
    """
    size = 2 ** int(np.ceil(np.log2(2 * len(dry))))
    source, frequencies = np.fft.rfft(dry, size), np.fft.rfftfreq(size, 1 / RATE)
    band = 1 / (1 + (150 / np.maximum(frequencies, 1)) ** 8) / (1 + (frequencies / 6500) ** 16)
    strength = np.square(np.abs(source))
    near = np.convolve(strength, np.ones(201) / 201, "same")
    response = np.fft.irfft(np.fft.rfft(wet, size) * np.conj(source) / (strength + 0.01 * near) * band, size)
    response = np.roll(response, RATE // 2)[:RATE]
    direct = RATE // 2 - 80 + int(np.argmax(np.abs(response[RATE // 2 - 80 : RATE // 2 + 80])))
    floor = float(np.mean(np.square(response[: RATE // 2 - RATE // 10])))
    edges = [direct - 40, direct + round(EARLY_SECONDS * RATE), direct + round(LATE_SECONDS * RATE)]
    early, late = (
        float(np.sum(np.square(response[first:last]))) - floor * (last - first) for first, last in pairwise(edges)
    )
    return 10 * float(np.log10(early / max(late, 1e-12)))


def in_room(clip: Clip, response: Signal) -> Clip:
    """Return a clip in a room, in time with its direct sound and as loud as before."""
    direct = int(np.argmax(np.abs(response)))
    wet = fftconvolve(clip.mono(), response)[direct : direct + clip.frames]
    return of(wet * np.sqrt(np.mean(np.square(clip.mono())) / np.mean(np.square(wet))), clip.rate, clip.id)


def room_table(clips: Sequence[Clip], corpus: Path) -> None:
    """Write clarity, PESQ and ESTOI before and after dereverberation, room by room."""
    stages = {"dereverb": Dereverb(), "then_denoise_db: 12": Dereverb(then_denoise_db=12)}
    head = ("room", "T30, s", "stage", "clips", "passed through", "C50 before, dB", "C50 change, dB", "ESTOI change")
    rows: list[Sequence[str]] = [(*head, "PESQ change", "T60 told before, s", "and after, s")]
    pooled: dict[str, list[tuple[float, float, float]]] = {}
    for room, (response, seconds) in rooms(corpus).items():
        wets = [(clip, in_room(clip, response)) for clip in clips]
        before = [(c50_db(clip.mono(), wet.mono()), scores(clip, wet)) for clip, wet in wets]
        for name, stage in stages.items():
            changes, notes, passed = [], [], 0
            for (clip, wet), (clarity, likeness) in zip(wets, before, strict=True):
                result = stage.apply(wet, None)
                after = scores(clip, result.clip)
                clearer = c50_db(clip.mono(), result.clip.mono()) - clarity
                changes.append((clearer, after.estoi - likeness.estoi, after.pesq - likeness.pesq))
                passed += result.clip is wet
                notes.append((result.notes["t60_before_seconds"], result.notes.get("t60_after_seconds")))
            if T60_SECONDS[0] <= seconds <= T60_SECONDS[1]:
                pooled.setdefault(name, []).extend(changes)
            told = [f"{np.median([both[i] for both in notes if None not in both]):.2f}" for i in (0, 1)]
            figures = [over([change[i] for change in changes], digits) for i, digits in ((0, 2), (1, 3), (2, 2))]
            first = f"{np.mean([clarity for clarity, _ in before]):.1f}"
            rows.append((room, f"{seconds:.2f}", name, str(len(clips)), str(passed), first, *figures, *told))
    for name, changes in pooled.items():
        figures = [over([change[i] for change in changes], digits) for i, digits in ((0, 2), (1, 3), (2, 2))]
        rows.append(("all of 0.3 to 0.6 s", "", name, str(len(changes)), "", "", *figures, "", ""))
    write_table("rooms", rows)
    pair = [decoded(path) for path in twins(corpus)]
    result = Dereverb().apply(pair[1], None)
    seen = [scores(pair[0], clip) for clip in (pair[1], result.clip)]
    rows = [("recording with a dry twin", "PESQ", "ESTOI", "taps")]
    rows += [
        (name, f"{one.pesq:.2f}", f"{one.estoi:.3f}", taps)
        for name, one, taps in zip(("before", "after"), seen, ("", str(result.notes["taps"])), strict=True)
    ]
    write_table("twin", rows)


def srmr(clip: Clip) -> float:
    """Return the speech-to-reverberation modulation energy ratio, without its adaptive upper limit.

    Falk, Zheng and Chan (2010), IEEE TASLP 18, 1766: 23 gammatone bands from 125 Hz, their Hilbert envelopes in 8
    modulation bands of Q 2 from 4 to 128 Hz, energy of the lower four over that of the upper four.
    """
    signal = audio.resample(clip, RATE).mono()
    low, high = (21.4 * np.log10(1 + 0.00437 * hz) for hz in (125.0, 0.45 * RATE))  # on the ERB scale
    centres = (10 ** (np.linspace(low, high, 23) / 21.4) - 1) / 0.00437
    energy = np.zeros(8)
    for centre in centres:
        envelope = np.abs(hilbert(lfilter(*gammatone(centre, "iir", fs=RATE), signal)))
        slow = resample_poly(envelope, 1, 16)  # 1 kHz: the highest modulation ends at 160 Hz
        for band, modulation in enumerate(np.geomspace(4.0, 128.0, 8)):
            energy[band] += np.mean(np.square(lfilter(*iirpeak(modulation, 2.0, fs=RATE / 16), slow)))
    return float(energy[:4].sum() / energy[4:].sum())


def srmr_table(clips: Sequence[Clip], corpus: Path) -> None:
    """Write how often the SRMR of a clip rises in each room."""
    stages = {"dereverb": Dereverb(), "then_denoise_db: 12": Dereverb(then_denoise_db=12)}
    rows: list[Sequence[str]] = [("room", "T30, s", "stage", "clips", "treated", "SRMR before", "after", "up, treated")]
    pooled: dict[str, list[bool]] = {name: [] for name in stages}
    for room, (response, seconds) in rooms(corpus).items():
        wets = [in_room(clip, response) for clip in clips]
        for name, stage in stages.items():
            results = [(wet, stage.apply(wet, None).clip) for wet in wets]
            pairs = [(srmr(wet), srmr(dry)) for wet, dry in results if dry is not wet]
            rises = [after > before for before, after in pairs]
            if T60_SECONDS[0] <= seconds <= T60_SECONDS[1]:
                pooled[name] += rises
            before, after = np.mean(pairs, axis=0)
            up = f"{sum(rises)} ({np.mean(rises):.0%})"
            rows.append(
                (room, f"{seconds:.2f}", name, str(len(wets)), str(len(pairs)), f"{before:.2f}", f"{after:.2f}", up)
            )
    for name, rises in pooled.items():
        rows.append(
            ("all of 0.3 to 0.6 s", "", name, "", str(len(rises)), "", "", f"{sum(rises)} ({np.mean(rises):.0%})")
        )
    write_table("srmr", rows)


def twins(corpus: Path) -> tuple[Path, Path]:
    """Return a dry recording and the same in a room."""
    wet = next((corpus / "reverb_noise" / "reverberant").glob("*_rvb.wav"))
    return corpus / "speech_real" / "lhotse" / wet.name.replace("_rvb", ""), wet


# Cost ---------------------------------------------------------------------------------------------


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a piece of work, the least of three."""
    spent = []
    for _ in range(3):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


def cost_table(clips: Sequence[Clip]) -> None:
    """Write times real time of each stage on one core, beside the library's bare function on the same sound."""
    joined = np.concatenate([audio.resample(clip, RATE).mono() for clip in clips])[: 20 * RATE]
    rows: list[Sequence[str]] = [
        ("stage", "rate, Hz", "stage, times real time", "bare function", "stage over bare, CPU")
    ]
    rows += [row for rate in (16_000, 48_000) for row in costs(joined, rate)]
    write_table("cost", rows)


def costs(speech: Signal, rate: int) -> list[Sequence[str]]:
    """Return the rows of one rate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nara_wpe.wpe import wpe_v8
        from noisereduce import reduce_noise

    wet = in_room(of(speech, RATE), simulated(0.5, 2000))
    taps = Dereverb().apply(wet, None).notes["taps"]
    clip, room = audio.resample(of(speech, RATE), rate), audio.resample(wet, rate)
    fast = audio.resample(clip, deepfilter.RATE_HZ).mono()
    hiss = np.random.default_rng(2).standard_normal(clip.frames + rate) * 1e-3
    noisy, window = clip.mono() + hiss[rate:], 2 ** round(np.log2(0.032 * rate))
    hop = round(HOP_SECONDS * rate)
    transform = ShortTimeFFT(hann(round(WINDOW_SECONDS / HOP_SECONDS) * hop, sym=False), hop, rate)
    spectra = transform.stft(room.mono())[:, np.newaxis]

    def gate() -> object:
        return reduce_noise(
            y=noisy, sr=rate, y_noise=hiss[:rate], stationary=True, n_fft=window, chunk_size=len(noisy) + 1
        )

    work: dict[str, tuple[Callable[[], object], Callable[[], object] | None]] = {
        "denoise": (lambda: Denoise().apply(fresh(clip), None), lambda: deepfilter.enhance(fast, 18.0)),
        "denoise, spectral_gate": (
            lambda: Denoise(method="spectral_gate").apply(of(noisy, rate), None),
            gate,
        ),
        f"dereverb ({taps} taps)": (
            lambda: Dereverb(taps=taps).apply(fresh(room), None),
            lambda: wpe_v8(spectra, taps=taps, delay=DELAY_HOPS, iterations=ITERATIONS),
        ),
        "high_pass": (
            lambda: HighPass().apply(fresh(room), None),
            lambda: sosfiltfilt(butter(2, 50, "highpass", fs=rate, output="sos"), room.samples, axis=0),
        ),
    }
    edges = Edges(head_seconds=0.2, tail_seconds=0.2)
    chain = (Detap(), Dereverb(taps=taps), Denoise(max_attenuation_db=12), HighPass(), edges)

    def human_chain() -> None:
        heard = clip
        for stage in chain:
            treated = stage.apply(fresh(heard), None)
            if not isinstance(treated, Applied):
                raise TypeError(f"{stage.NAME} rejected the clip: {treated}")
            heard = treated.clip

    libraries = [bare for name, (_, bare) in work.items() if bare and name != "denoise, spectral_gate"]

    def bare_calls() -> None:
        for bare in libraries:
            bare()

    work["detap"] = (lambda: chain[0].apply(fresh(room), None), None)
    work["edges"] = (lambda: chain[-1].apply(fresh(room), None), None)
    work["**detap, dereverb, denoise, high_pass, edges**, over the sum of the bare calls"] = (human_chain, bare_calls)
    rows: list[Sequence[str]] = []
    for name, (stage, bare) in work.items():
        ours, theirs = cpu_seconds(stage), cpu_seconds(bare) if bare else None
        over = (f"{clip.seconds / theirs:.1f}", f"{ours / theirs:.2f}") if theirs else ("", "")
        figures = (f"{clip.seconds / ours:.1f}", *over)
        rows.append((name, str(rate), *figures))
    return rows


def fresh(clip: Clip) -> Clip:
    """Return the clip without what is already known of it."""
    return Clip(clip.samples, clip.rate, clip.id)


def main() -> None:
    """Measure, and write every table."""
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_CORPUS
    if not (corpus / "reverb_noise").is_dir():
        sys.exit(f"{corpus} holds no reverb_noise/; give the folder of a corpus: python bench/restoration.py FOLDER")
    paths = [path for pattern in SPEECH for path in sorted((corpus / "speech_real").glob(pattern))]
    clips = [decoded(path) for path in paths]
    print(f"{len(clips)} clips, {sum(clip.seconds for clip in clips):.0f} s", flush=True)
    tables: dict[str, Callable[[], None]] = {
        "clean": lambda: clean_table(clips),
        "dry": lambda: dry_table(clips, corpus),
        "rooms": lambda: room_table([audio.resample(clip, RATE) for clip in clips], corpus),
        "srmr": lambda: srmr_table([audio.resample(clip, RATE) for clip in clips], corpus),
        "pauses": lambda: pause_table(clips[::6], corpus),
        "breaths": lambda: real_breath_table(corpus),
        "noise": lambda: noise_table(clips, corpus),
        "cost": lambda: cost_table(clips),
    }
    for name in sys.argv[2:] or tables:
        tables[name]()


if __name__ == "__main__":
    main()
