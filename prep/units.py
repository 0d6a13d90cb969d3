"""Units as types, and the two ways between decibels and ratios."""

from __future__ import annotations

import math

Hertz = float
Seconds = float
Decibels = float
Lufs = float
DbPerOctave = float


def ratio_from_db(level_db: Decibels) -> float:
    """Return the amplitude ratio of a level in dB."""
    return float(10.0 ** (level_db / 20.0))


def db_from_ratio(ratio: float) -> Decibels:
    """Return the level in dB of an amplitude ratio; minus infinity for zero."""
    return 20.0 * math.log10(ratio) if ratio > 0 else -math.inf


def db_from_power(power: float) -> Decibels:
    """Return the level in dB of a power ratio; minus infinity for zero."""
    return 10.0 * math.log10(power) if power > 0 else -math.inf
