"""Page: templates filled in, every value escaped."""

from __future__ import annotations

import html
from typing import Any


def printable(value: Any) -> Any:
    """Return a record in whose texts every control code is written out, so that none can turn a line round."""
    if isinstance(value, dict):
        return {printable(name): printable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in value)


def rendered(template: str, **values: Any) -> str:
    """Return a page.

    Args:
        template: a file of prep/templates, without its suffix .j2.
        values: what it names. All are escaped but those that the template itself takes for markup.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("prep"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # The texts of a report are escaped for Markdown already; escaped again they would show their marks.
    environment.filters["unescaped"] = html.unescape
    return environment.get_template(f"{template}.j2").render(**values)
