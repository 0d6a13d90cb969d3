"""edges: as much quiet before the first word and after the last in every clip."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from prep.errors import RefusedError
from prep.pauses import ACTIVE_MARGIN_DB, BLOCK_SECONDS, FRAME_BLOCKS, Parts, head_seconds, parts, tail_seconds
from prep.prose import clips_with, sentence
from prep.room_tone import generator_of, room_tone
from prep.stage import Applied, FitsOn, Measured, Notes, Stage, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.room_tone import ToneSource
    from prep.stage import Account
    from prep.units import Seconds

    Blocks = NDArray[np.intp]
    Mask = NDArray[np.bool_]

Breath = Literal["", "kept", "trimmed"]
Selection = dict[str, str | list[str]]

# The first and last sounds that a threshold finds begin earlier and end later, by less than this.
SHORTEST_EDGE_SECONDS = 0.05
FADE_SECONDS = 0.02
SHORTEST_ZEROS_SECONDS = 0.02

# An inhalation before speech lasts 0.2 to 0.6 s and ends within 0.5 s of it; a smack of the lips is shorter.
SHORTEST_BREATH_SECONDS = 0.1
LONGEST_BREATH_GAP_SECONDS = 0.5
# Within 150 ms of speech a breath is told from an "s" before a stop by its length, its level and its missing pitch.
SHORTEST_JOINED_BREATH_SECONDS = 0.2
PITCH_HZ = (60.0, 400.0)
VOICED_FRAME_SECONDS = 0.05
VOICED_CORRELATION = 0.5


class EdgesMeasure(Value):
    """What fit needs of one clip."""

    head_seconds: float = Field(description="time before the first speech sound, s")
    tail_seconds: float = Field(description="time after the last speech sound, s")


class EdgesFit(Value):
    """The lengths that every clip gets."""

    head_seconds: float = Field(description="length of every head, s")
    tail_seconds: float = Field(description="length of every tail, s")
    median_head_seconds: float = Field(description="median head of the clips, s")
    median_tail_seconds: float = Field(description="median tail of the clips, s")
    clips: int = Field(description="clips that the medians are taken over, count")


class _Edge(NamedTuple):
    """One end of a clip, in frames.

    Attributes:
        kept: frames next to speech that stay as they are.
        made: frames of room tone beyond them.
        breath: what became of a breath; empty where there is none.
    """

    kept: int
    made: int
    breath: Breath


class Edges(Stage[EdgesMeasure, EdgesFit | None]):
    """Give every clip one head and one tail length, of its own room tone, and cut no sound of speech.

    Speech is found by thresholds relative to the clip (prep.pauses), and no sound between its first and its last
    is touched. What is too long is cut; what is too short is lengthened by grains of the clip's own pauses,
    cross-faded at equal power over 20 ms; digital zero in a head or tail is filled in the same way. A breath before
    speech is kept whole (`breaths: keep`), even where that makes the head longer, or taken out (`trim`). All channels
    are cut at one place, found in their mean. The lengths are given, or the medians of all clips, or of some rows
    (`lengths_of`). The clip changes its length, by as much as the notes say.
    """

    NAME: ClassVar[str] = "edges"
    VERSION: ClassVar[int] = 2
    CURES: ClassVar[tuple[str, ...]] = ("head_silence", "tail_silence")
    FITS_ON: ClassVar[FitsOn] = "every clip"
    MEASURES: ClassVar[type[Value] | None] = EdgesMeasure
    FITS: ClassVar[type[Value] | None] = EdgesFit

    head_seconds: float | None = Field(
        default=None,
        ge=SHORTEST_EDGE_SECONDS,
        le=10,
        description="time before the first speech sound, s; when not set, the median of the clips, at least 0.05 s",
    )
    tail_seconds: float | None = Field(
        default=None,
        ge=SHORTEST_EDGE_SECONDS,
        le=10,
        description="time after the last speech sound, s; when not set, the median of the clips, at least 0.05 s",
    )
    lengths_of: Selection | None = Field(
        default=None,
        min_length=1,
        description="take the medians of these rows only: {column: value or list of values}; no unit",
    )
    breaths: Literal["keep", "trim"] = Field(
        default="keep", description="what becomes of a breath before the first speech sound; no unit"
    )

    @model_validator(mode="after")
    def _lengths_are_said_once(self) -> Self:
        """Refuse rows to take lengths from where both lengths are given."""
        if self.lengths_of and self._given:
            raise ValueError("head_seconds and tail_seconds are given, so no rows are needed; leave lengths_of out")
        return self

    @property
    def _given(self) -> bool:
        return self.head_seconds is not None and self.tail_seconds is not None

    def fits_on(self) -> FitsOn:
        """Return what `fit` learns from: nothing where both lengths are given, labels where rows are named."""
        return "nothing" if self._given else "labels" if self.lengths_of else "every clip"

    def selections(self) -> Sequence[tuple[str, Selection]]:
        """Return `only` and `lengths_of`."""
        return [*super().selections(), *([("lengths_of", self.lengths_of)] if self.lengths_of else [])]

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:  # noqa: ARG003
        """Return the median lengths of the set."""
        return [{}]

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return the lengths, where they come from, and what became of breaths."""
        fit = account.release or account.parameters
        given = account.release is None
        whose = "" if given else f" (the medians of {clips_with(account.parameters.get('lengths_of'))}, unless given)"
        breaths = {"keep": "kept whole", "trim": "taken out"}[account.parameters["breaths"]]
        return (
            f"{sentence(account.whom)} were given {fit['head_seconds']:.3f} s before the first speech sound and "
            f"{fit['tail_seconds']:.3f} s after the last{whose}, shortened or lengthened by their own room tone; "
            f"breaths before speech were {breaths}, and nothing between the first and the last sound was touched."
        )

    def measure(self, clip: Clip) -> EdgesMeasure:
        """Return the head and the tail of the clip.

        Raises:
            ClipError: as `prep.pauses.parts`.
        """
        return EdgesMeasure(head_seconds=head_seconds(clip), tail_seconds=tail_seconds(clip))

    def fit(self, measured: Sequence[Measured[EdgesMeasure]]) -> EdgesFit:
        """Return the lengths: those given, else the medians of the stimuli in the rows, at least 0.05 s.

        Raises:
            RefusedError: no such clip is left.
        """
        chosen = [
            item.value for item in measured if item.row.role == "stimulus" and item.row.selected_by(self.lengths_of)
        ]
        if not chosen:
            raise RefusedError(
                f"{self.NAME}: no stimulus is left {'in the rows of `lengths_of`' if self.lengths_of else ''} to take "
                "lengths from; see which clips were set aside, or give head_seconds and tail_seconds"
            )
        head, tail = median(value.head_seconds for value in chosen), median(value.tail_seconds for value in chosen)
        return EdgesFit(
            head_seconds=self.head_seconds or max(head, SHORTEST_EDGE_SECONDS),
            tail_seconds=self.tail_seconds or max(tail, SHORTEST_EDGE_SECONDS),
            median_head_seconds=head,
            median_tail_seconds=tail,
            clips=len(chosen),
        )

    def apply(self, clip: Clip, fit: EdgesFit | None) -> Applied:
        """Return the clip with the head and the tail.

        Raises:
            ClipError: as `prep.pauses.parts`.
        """
        head, tail = (self.head_seconds, self.tail_seconds) if fit is None else (fit.head_seconds, fit.tail_seconds)
        if head is None or tail is None:
            raise TypeError(f"{self.NAME}: a length was not fitted")
        found = parts(clip)
        bounds = np.rint(found.starts_seconds * clip.rate).astype(np.intp)
        joined = _joined_breaths(clip, found, bounds) if self.breaths == "trim" else 0
        begin, end = found.speech[joined, 0], found.speech[-1, 1]
        onset, offset = int(bounds[begin]), int(bounds[end])
        sounding = _sounding(found)
        guard = round(SHORTEST_EDGE_SECONDS * clip.rate)
        first = _edge(sounding[:begin][::-1], onset - bounds[begin::-1], round(head * clip.rate), self.breaths, guard)
        last = _edge(sounding[end:], bounds[end:] - offset, round(tail * clip.rate), None, guard)

        start, stop = onset - first.kept, offset + last.kept
        zeros = _zeros_at_ends(found, bounds, begin, end)[start:stop]
        fades = [min(round(FADE_SECONDS * clip.rate), edge.kept // 2) for edge in (first, last)]
        pieces = [first.made + fades[0], int(zeros.sum()), last.made + fades[1]]
        tone = room_tone(clip, sum(pieces), generator_of(clip))
        before, between, after = np.split(tone.samples, np.cumsum(pieces)[:2])
        samples = clip.samples[start:stop].astype(np.float64)
        samples[zeros] += between
        samples = _led_in(before, samples, first.made)
        samples = _led_in(after[::-1], samples[::-1], last.made)[::-1]

        lengths = [(edge.kept + edge.made) / clip.rate for edge in (first, last)]
        made = first.made + last.made + len(between)
        notes: Notes = {
            "head_seconds": lengths[0],
            "tail_seconds": lengths[1],
            "head_change_seconds": lengths[0] - onset / clip.rate,
            "tail_change_seconds": lengths[1] - (clip.frames - offset) / clip.rate,
            "room_tone_seconds": made / clip.rate,
            "room_tone_from": tone.source if made else None,
            "breath": first.breath or None,
        }
        return Applied(
            clip.with_samples(samples), notes | _warnings(tone.source if made else None, first.breath, lengths[0], head)
        )


def _edge(sounding: Mask, outward: Blocks, wanted: int, breaths: Literal["keep", "trim"] | None, guard: int) -> _Edge:
    """Return what becomes of one end of a clip.

    Args:
        sounding: which blocks hold sound above the threshold, the one next to speech first, (blocks,).
        outward: frames from speech to where each block begins, and to the end of the clip, (blocks + 1,).
        wanted: frames that the end is to have.
        breaths: what to do with a breath; None where none is looked for.
        guard: frames of room tone beyond a breath that is kept.
    """
    runs = np.flatnonzero(np.diff(sounding, prepend=False, append=False)).reshape(-1, 2)
    places = outward[runs]
    limit, need = int(outward[-1]), wanted
    breath: Breath = ""
    for (first, last), (near, far) in zip(runs, places, strict=True):
        if breaths and _is_breath(first, last):
            breath = "kept" if breaths == "keep" else "trimmed"
            need = max(need, int(far) + guard) if breaths == "keep" else need
            limit = int(near) if breaths == "trim" else limit
            break
    # Half a click or half a cough would be a new sound.
    limit = min([limit, *(int(near) for near, far in places if near < need < far)])
    return _Edge(min(need, limit), need - min(need, limit), breath)


def _is_breath(first: int, last: int) -> bool:
    """Say whether sound before speech, in blocks from it, is a breath by its length and its place."""
    lasting = (last - first) * BLOCK_SECONDS >= SHORTEST_BREATH_SECONDS
    return lasting and first * BLOCK_SECONDS <= LONGEST_BREATH_GAP_SECONDS


def _sounding(found: Parts) -> Mask:
    """Return which blocks are in a frame above the threshold."""
    loud = found.frame_power >= found.threshold
    return np.convolve(loud, np.ones(FRAME_BLOCKS)) > 0


def _joined_breaths(clip: Clip, found: Parts, bounds: Blocks) -> int:
    """Return how many of the first ranges of speech are a breath that ends within 150 ms of speech: 0 or 1."""
    first, last = found.speech[0]
    if len(found.speech) == 1 or (last - first) * BLOCK_SECONDS < SHORTEST_JOINED_BREATH_SECONDS:
        return 0
    weak = found.frame_power[first:last].max() < found.active * 10 ** (-ACTIVE_MARGIN_DB / 10)
    return int(weak and not _voiced(clip.mono()[bounds[first] : bounds[last]], clip.rate))


def _voiced(signal: Signal, rate: int) -> bool:
    """Say whether half of the frames of a sound, 50 ms each, repeat themselves at a pitch."""
    size = round(VOICED_FRAME_SECONDS * rate)
    low, high = (round(rate / pitch) for pitch in reversed(PITCH_HZ))
    strongest = []
    for start in range(0, len(signal) - size + 1, size // 2):
        frame = signal[start : start + size] - signal[start : start + size].mean()
        correlation = np.fft.irfft(np.abs(np.fft.rfft(frame, 2 * size)) ** 2)[: high + 1]
        # Fewer products enter at a longer lag.
        unbiased = correlation / (size - np.arange(high + 1)) * size
        strongest.append(unbiased[low:].max() / max(unbiased[0], np.finfo(float).tiny))
    return bool(np.median(strongest) >= VOICED_CORRELATION)


def _zeros_at_ends(found: Parts, bounds: Blocks, begin: int, end: int) -> Mask:
    """Return which frames are in a run of digital zero of 20 ms or more that reaches out of [begin, end), in blocks."""
    mask = np.zeros(bounds[-1], bool)
    for first, last in np.flatnonzero(np.diff(found.constant, prepend=False, append=False)).reshape(-1, 2):
        if (last - first) * BLOCK_SECONDS >= SHORTEST_ZEROS_SECONDS and (first < begin or last > end):
            mask[bounds[first] : bounds[last]] = True
    return mask


def _led_in(tone: Signal, samples: Signal, made: int) -> Signal:
    """Return samples after `made` frames of room tone, whose rest is cross-faded into them at equal power."""
    if made == 0:
        return samples
    fade = len(tone) - made
    angle = (np.arange(fade)[:, np.newaxis] + 0.5) / max(fade, 1) * np.pi / 2
    faded = tone[made:] * np.cos(angle) + samples[:fade] * np.sin(angle)
    return np.concatenate([tone[:made], faded, samples[fade:]])


def _warnings(made_from: ToneSource | None, breath: str, head: Seconds, wanted: Seconds) -> Notes:
    """Return what was not achieved, as a note; nothing where all was."""
    told = []
    if breath == "kept" and head > wanted:
        told.append(
            f"a breath before its speech makes its head {head:.2f} s, not {wanted:.2f} s; `breaths: trim` takes it out"
        )
    if made_from == "noise":
        told.append(
            "its pauses are digital zero or nearly so, and its room tone is noise at the level of dither; "
            "masking_noise gives all clips one floor"
        )
    if made_from == "quietest part":
        told.append("it is nowhere quiet for 70 ms, so its room tone is made of its quietest 70 ms and may hold speech")
    return {"warning": "; ".join(told)} if told else {}
