"""Page: templates filled in, every value escaped."""

from __future__ import annotations

import html
from typing import Any


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
