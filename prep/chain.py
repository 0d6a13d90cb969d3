"""Chain: the ordered treatment, checked for orders that would break its promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prep.convert import Convert
from prep.prose import joined
from prep.stage import Encoder, Stage, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AnyStage = Stage[Any, Any]
Selection = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Chain:
    """Stages in order and the encoder, with the conversion to one rate put where it belongs.

    Conversion stands directly before the level stage (else before the encoder), so that spectra
    are corrected at the source's own rate and the level is set on what is delivered.
    """

    stages: tuple[AnyStage, ...]
    encoder: Encoder

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Chain:
        """Return the chain of checked steps (see `order_problems`)."""
        encoder = steps[-1]
        if not isinstance(encoder, Encoder):
            raise TypeError("the last step is not an encoder")
        stages = [step for step in steps if isinstance(step, Stage)]
        rate, channels = encoder.target()
        place = next((index for index, stage in enumerate(stages) if stage.LEVEL), len(stages))
        stages.insert(place, Convert(rate=rate, channels=channels))
        return cls(tuple(stages), encoder)


def order_problems(steps: Sequence[Step]) -> list[tuple[int | None, str, str]]:
    """Return what is wrong with the order of steps: (index or None, what, what to do)."""
    problems: list[tuple[int | None, str, str]] = []
    encoders = [index for index, step in enumerate(steps) if isinstance(step, Encoder)]
    if not encoders:
        problems.append((None, "no encode step", "end the chain with encode: {}"))
    problems += [
        (index, "encode is not the last step", "move it to the end; there is one")
        for index in encoders
        if index != len(steps) - 1
    ]
    levels = [index for index, step in enumerate(steps) if isinstance(step, Stage) and step.LEVEL]
    problems += [
        (
            index,
            f"{steps[index].NAME} beside {steps[levels[0]].NAME}: the level is set once",
            "keep one of them",
        )
        for index in levels[1:]
    ]
    problems += [
        (
            index,
            f"{step.NAME} after {steps[levels[0]].NAME} would move the level again",
            "move it before the level",
        )
        for index, step in enumerate(steps)
        if levels and index > levels[0] and isinstance(step, Stage) and not step.LEVEL
    ]
    problems += [
        (index, f"{step.NAME} is one gain for the whole set, so it cannot be for some rows only", "take `only` out")
        for index, step in enumerate(steps)
        if isinstance(step, Stage) and step.LEVEL and step.with_margin(0.0) is None and step.only
    ]
    if (
        encoders
        and steps[encoders[-1]].model_dump().get("codec") == "copy"
        and any(isinstance(step, Stage) and step.alters() for step in steps)
    ):
        problems.append(
            (
                encoders[-1],
                "copy serves the source's bytes, so no stage can take effect",
                "choose another codec",
            )
        )
    fitted = next((index for index, step in enumerate(steps) if isinstance(step, Stage) and _fits(step)), len(steps))
    problems += [
        (
            index,
            f"{step.NAME} after {steps[fitted].NAME}: what was fitted has learned from clips that it turns down",
            "move it before every step that is fitted",
        )
        for index, step in enumerate(steps)
        if isinstance(step, Stage) and step.SCREENS and index > fitted
    ]
    seen: dict[str, int] = {}
    for index, step in enumerate(steps):
        if isinstance(step, Stage) and step.NAME in seen and (_fits(step) or step.SCREENS):
            problems.append((index, f"{step.NAME} is there twice", "keep one: the second would undo the first"))
        seen.setdefault(step.NAME, index)
    return problems


def order_notices(steps: Sequence[Step]) -> Iterator[tuple[int, str, str]]:
    """Yield what an order allows but spoils: (index, what, what to do).

    What takes a cue out of the clips is undone by a later step that shifts the cue again, for one condition more than
    for the other: an equaliser moves the place at which a voice is under the threshold of silence.
    """
    stages = [(index, step) for index, step in enumerate(steps) if isinstance(step, Stage)]
    told: set[tuple[int, str]] = set()
    for index, stage in stages:
        for _, later in stages[index + 1 :]:
            moved = [cue for cue in stage.CURES if cue in later.MOVES]
            if moved and not _apart(stage, later) and (index, later.NAME) not in told:
                told.add((index, later.NAME))
                what = f"{stage.NAME} before {later.NAME}, which moves {joined(moved)} again"
                yield index, what, f"move {stage.NAME} after {later.NAME}"


def _apart(stage: AnyStage, later: AnyStage) -> bool:
    """Say whether no row can be in what two stages are for; what the first moves its clips towards counts too."""
    named = [stage.applies_to(), *(chosen for name, chosen in stage.selections() if name == "towards")]
    return all(_disjoint(chosen, later.applies_to()) for chosen in named)


def _disjoint(one: Selection | None, other: Selection | None) -> bool:
    if one is None or other is None:
        return False
    return any(_values(one[column]).isdisjoint(_values(other[column])) for column in one.keys() & other.keys())


def _values(wanted: str | list[str]) -> set[str]:
    return {wanted} if isinstance(wanted, str) else set(wanted)


def _fits(stage: AnyStage) -> bool:
    return stage.fits_on() != "nothing"
