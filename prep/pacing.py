"""Pacing: which line is read where, by pauses and by how long each line should take, where nobody listens.

It is taken for granted that every line is read once, in the order of the script, and nothing else is said. Then the
longest pauses part the lines, and each line takes about as long as its sounds ask at the reader's one pace. Where a
pause inside a line would be nearly as long as one between two, or a line much too long or too short for its text, the
script was not read so, and nothing is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prep.errors import ClipError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Signal

LONGER = 1.25  # times that the shortest pause between lines is as long as the longest inside one
# Times that a line may be slower or faster than the others: readers of whole sentences kept within 1.25.
MOST_OFF = 1.8
LINE_SOUNDS = 3  # that the first and the last word of a line take longer by; it matters for lines of one word


def paced(speech: Signal, sounds: Sequence[int]) -> list[tuple[int, int]]:
    """Return, for each line, the stretches of speech [first, last) that it is read in.

    Args:
        speech: (start, end) of each stretch of speech in seconds, (n, 2).
        sounds: how many sounds each line has.

    Raises:
        ClipError: there are fewer stretches than lines, the pauses do not say where lines end, or a line takes
            nothing like its time.
    """
    lines = len(sounds)
    if len(speech) < lines:
        raise ClipError(f"it has {len(speech)} stretches of speech for {lines} lines")
    pauses = speech[1:, 0] - speech[:-1, 1]
    longest = np.argsort(-pauses, kind="stable")
    between, inside = longest[: lines - 1], longest[lines - 1 :]
    shortest, other = pauses[between].min(initial=np.inf), pauses[inside].max(initial=0.0)
    if shortest < LONGER * other:
        raise ClipError(
            f"its pauses do not say where a line ends: of the {lines - 1} longest the shortest is {shortest:.2f} s, "
            f"and the next {other:.2f} s"
        )
    ends = [*(np.sort(between) + 1).tolist(), len(speech)]
    firsts = [0, *ends[:-1]]
    seconds = np.array([speech[last - 1, 1] - speech[first, 0] for first, last in zip(firsts, ends, strict=True)])
    paces = seconds / (np.asarray(sounds) + LINE_SOUNDS)
    off = paces / np.median(paces)
    worst = int(np.argmax(np.abs(np.log(off))))
    if not 1 / MOST_OFF <= off[worst] <= MOST_OFF:
        raise ClipError(
            f"line {worst + 1} of its {lines} would take {off[worst]:.1f} times as long as its text does at the pace "
            "of the others: one is missing, repeated, added or out of order"
        )
    return list(zip(firsts, ends, strict=True))
