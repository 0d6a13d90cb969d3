"""Standalone: a chart of the report as a file of its own, SVG with its colours or PNG.

A chart takes its colours from the page (prep/templates/style.css.j2). Here the rules for charts are written into the
picture, with the light colours of the page in place of its variables, so that every program can show it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

PNG_SCALE = 3  # pixels for each unit of the chart: 300 dpi on a column of 17 cm
FONT = "DejaVu Sans"
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
VARIABLE = re.compile(r"var\((--\w+)\)")


def svg_file(chart: str) -> bytes:
    """Return a chart as an SVG file with a white ground, in UTF-8.

    Args:
        chart: `<svg class="chart" viewBox="0 0 width height" ...>` as prep.charts draws it.
    """
    width, height = _size(chart)
    head, rest = chart.split(">", 1)
    head = head.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" ', 1)
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return f"{head}><style>{_style()}</style>{ground}{rest}\n".encode("utf-8", "backslashreplace")


def png_file(chart: str) -> bytes:
    """Return a chart as a PNG file; text is set in DejaVu Sans, which comes with Matplotlib, on every machine alike."""
    import resvg_py

    return resvg_py.svg_to_bytes(
        svg_string=svg_file(chart).decode(),
        width=round(_size(chart)[0] * PNG_SCALE),
        skip_system_fonts=True,
        font_files=[str(_font())],
        font_family=FONT,
        sans_serif_family=FONT,
    )


def _size(chart: str) -> tuple[float, float]:
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', chart)
    if found is None:
        raise ValueError("a chart has a viewBox that begins at 0 0")
    return float(found[1]), float(found[2])


def _font() -> Path:
    """Return the file of the font, without importing the library that carries it."""
    spec = find_spec("matplotlib")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise ModuleNotFoundError("matplotlib, whose font the pictures are set in, is not installed")
    return Path(places[0]) / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"


@cache
def _style() -> str:
    """Return the page's rules for charts, every variable replaced: programs that print pictures know none."""
    sheet = (files("prep") / "templates" / "style.css.j2").read_text(encoding="utf-8")
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    values = dict(re.findall(r"(--\w+):\s*([^;}]+)", sheet.split("}", 1)[0]))
    rules = [(part[0].strip(), part[1].strip()) for part in RULE.findall(re.sub(r"@media[^{]*\{.*?\}\s*\}", "", sheet))]
    chosen = [(names, body) for names, body in rules if ".chart" in names]
    series = {}
    for names, body in chosen:
        if found := re.fullmatch(r"\.chart\s+(\.s\d+)", names):
            series[found[1]] = _resolved(body.split("--c:", 1)[-1].strip(" ;"), values)
    told = []
    for names, body in chosen:
        if "--c:" in body:
            continue
        if "var(--c)" in body:
            for kind, colour in series.items():
                both = ", ".join(
                    f"{name.strip()}{kind}, {kind} {name.replace('.chart', '').strip()}" for name in names.split(",")
                )
                told.append(f"{both} {{ {_resolved(body, {**values, '--c': colour})} }}")
        else:
            told.append(f"{names} {{ {_resolved(body, values)} }}")
    return "\n".join(told)


def _resolved(body: str, values: dict[str, str]) -> str:
    """Return declarations with the values of their variables, and fonts by name and size."""
    plain = VARIABLE.sub(lambda found: values.get(found[1], "#000000").strip(), body)
    return re.sub(
        r"font:\s*(?:(\d+)\s+)?(\d+px)[^;]*", rf'font-size: \2; font-family: "{FONT}", system-ui, sans-serif', plain
    )
