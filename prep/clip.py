"""Clip: one sound, without a label and without a path.

Conventions: samples are float32, shape (frames, channels), full scale 1.0, read-only; rate in Hz.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from prep.errors import ClipError

T = TypeVar("T")

NOT_FINITE = "has samples that are not finite; export the source again"

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]
    Signal = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clip:
    """One sound. It does not know its condition, so nothing that treats it can favour one.

    Attributes:
        samples: (frames, channels) float32, read-only, full scale 1.0. May exceed full scale.
        rate: sampling rate in Hz.
        id: a name for messages.
    """

    samples: Samples = field(repr=False)
    rate: int
    id: str = ""
    _known: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hold the samples as float32, two-dimensional and read-only.

        Raises:
            ValueError: the shape is not (frames, channels) or the rate is not positive.
        """
        if self.samples.ndim != 2 or self.samples.shape[1] == 0:
            raise ValueError(f"samples have shape {self.samples.shape}, not (frames, channels)")
        if self.rate <= 0:
            raise ValueError(f"rate is {self.rate} Hz, not positive")
        held = np.ascontiguousarray(self.samples, dtype=np.float32)
        if held.flags.writeable:
            held = held.copy() if held is self.samples or held.base is not None else held
            held.setflags(write=False)
        object.__setattr__(self, "samples", held)

    @property
    def frames(self) -> int:
        """Length in frames."""
        return int(self.samples.shape[0])

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.samples.shape[1])

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.frames / self.rate

    def once(self, function: Callable[[Clip], T]) -> T:
        """Return function(clip), computed at most once for this clip: several meters share what they need.

        The samples are read-only, so a pure function has one answer.
        """
        if function not in self._known:
            self._known[function] = function(self)
        answer: T = self._known[function]
        return answer

    def mono(self) -> Signal:
        """Return the mean of the channels, shape (frames,), float64, read-only, computed once."""
        return self.once(_mean_of_channels)

    def check_finite(self) -> None:
        """Refuse a clip with a sample that is NaN or infinite; looked at once.

        Raises:
            ClipError: it has one.
        """
        if not self.once(_is_finite):
            raise ClipError(NOT_FINITE)

    def with_samples(self, samples: NDArray[Any], rate: int | None = None) -> Clip:
        """Return the clip with other samples (frames, channels), and another rate in Hz if given."""
        return replace(self, samples=samples, rate=self.rate if rate is None else rate)


def _is_finite(clip: Clip) -> bool:
    return bool(np.isfinite(clip.samples).all())


def _mean_of_channels(clip: Clip) -> Signal:
    # The mean of one channel is that channel: the same numbers, four times as fast.
    samples = clip.samples
    mean: Signal = samples[:, 0].astype(np.float64) if clip.channels == 1 else samples.mean(axis=1, dtype=np.float64)
    mean.setflags(write=False)
    return mean
