"""The commands, one file each, in the order of a day's work.

A command translates: it reads options, makes one call, and prints. Heavy imports are inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prep.commands.audit import audit
from prep.commands.check import check
from prep.commands.compare import compare
from prep.commands.cut import cut
from prep.commands.lint import lint
from prep.commands.measure import measure
from prep.commands.models import models
from prep.commands.profile import profile
from prep.commands.report import report
from prep.commands.run import run
from prep.commands.schema import schema
from prep.commands.screen import screen
from prep.commands.stages import stages
from prep.commands.suggest import suggest
from prep.commands.unblind import unblind
from prep.commands.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS: dict[str, Callable[..., Any]] = {
    "check": check,
    "run": run,
    "audit": audit,
    "suggest": suggest,
    "cut": cut,
    "screen": screen,
    "measure": measure,
    "verify": verify,
    "lint": lint,
    "report": report,
    "unblind": unblind,
    "compare": compare,
    "stages": stages,
    "profile": profile,
    "models": models,
    "schema": schema,
}
