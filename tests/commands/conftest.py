"""What the tests of commands share: a reader of the pages that they write."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest


class Page(HTMLParser):
    """What a page holds: tags, players and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.players: list[dict[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        if tag == "audio":
            self.players.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


@pytest.fixture
def new_page() -> type[Page]:
    """Return a maker of empty readers, to be fed with a page."""
    return Page
