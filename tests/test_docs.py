"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prep.commands import COMMANDS
from prep.describe import cue_table, described_stages, settings_table, stage_table
from prep.errors import ConfigError
from prep.stages import stage_classes
from prep.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).resolve().parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
PRESETS = sorted((PROJECT / "configs").glob("*.yaml"))


def test_the_stage_table_is_that_of_the_classes() -> None:
    """The README's table of steps is made from the classes."""
    table = README.split("<!-- stages -->\n")[1].split("<!-- /stages -->")[0]

    assert table == stage_table()
    assert all(f"| `{name}` |" in table for name in stage_classes())


@pytest.mark.parametrize(
    ("page", "mark", "table"), [("cues", "cues", cue_table), ("config", "settings", settings_table)]
)
def test_the_tables_of_the_docs_are_those_of_the_classes(page: str, mark: str, table: Callable[[], str]) -> None:
    """The tables of cues and of settings are made from the classes."""
    text = (PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8")

    assert text.split(f"<!-- {mark} -->\n")[1].split(f"<!-- /{mark} -->")[0] == table()


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_preset_is_a_study(path: Path) -> None:
    """Each file in configs/ loads, opens with its promise, and stands in the README."""
    load_study(path)

    assert path.read_text(encoding="utf-8").startswith("# ")
    assert f"configs/{path.name}" in README


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    """Each command has help with an example, and the README names it."""
    help_text = COMMANDS[name].__doc__ or ""

    assert f"Example: prep {name}" in help_text
    assert f"prep {name}" in README


def test_an_unknown_stage_is_named() -> None:
    """A stage that does not exist gets a suggestion."""
    with pytest.raises(ConfigError, match="did you mean tilt_eq"):
        described_stages("tilt_e")


def test_every_stage_has_a_test_file() -> None:
    """A YAML word leads to its tests."""
    for name in stage_classes():
        assert (PROJECT / "tests" / "stages" / f"test_{name}.py").is_file(), name


def test_links_lead_somewhere() -> None:
    """Every relative link of the README and docs names a file."""
    for page in (PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
