"""Faults of reading files: what the header claims, what the name says, what lies beside the sound."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

if TYPE_CHECKING:
    from pathlib import Path

Case = Any
Prep = Any

FAULTS = ("H01", "H02", "H03", "H04", "H05")
WAV = {"encode": {"codec": "wav", "rate": 24000}}
pytestmark = pytest.mark.usefixtures("inline")


def test_x(case):
    for n in FAULTS:
        c = case(n)
        r = c.run({"encode": {"codec": "wav", "rate": 44100}})
        print(n, r.exit_code, r.stderr)
        for name, clip in r.clips.items():
            print("  ", name, clip["failure"], clip["source"]["facts"], clip["delivered"] and clip["delivered"]["frames"], clip["stages"])
