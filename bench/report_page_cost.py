"""What the report page of 2,000 clips costs: its size, the time to make it beside that of the run, and to open it.

A run of the demo is measured (make run makes its clips), its record is drawn out to 2,000 clips of other values, and
the page of that is made with all its excerpts. Opening is measured where playwright and chromium are.
"""

from __future__ import annotations

import copy
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from prep.excerpts import made_excerpts
from prep.progress import Silent
from prep.report_page import report_html
from prep.run import run_study
from prep.store import Store

PROJECT = Path(__file__).resolve().parents[1]
CLIPS = 2000
LIMITED = 200  # clips that a reader could want to hear; the page has room for some
CHROMIUM = shutil.which("chromium")


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the workers that have ended."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(item.ru_utime + item.ru_stime for item in spent)


def drawn_out(record: dict[str, Any], clips: int) -> dict[str, Any]:
    """Return a record with so many clips: those it has, again and again, under other ids and with other values."""
    draw = np.random.default_rng(0)
    found = {**record, "clips": []}
    for place in range(clips):
        model = record["clips"][place % len(record["clips"])]
        clip = copy.deepcopy(model)
        clip["id"] = f"{place:016x}"
        clip["columns"]["speaker"] = f"{clip['columns']['speaker']}-{place // len(record['clips'])}"
        for part in ("source", "delivered", "evidence"):
            for cue in (clip[part] or {"cues": {}})["cues"].values():
                for name, value in cue.items():
                    cue[name] = value + float(draw.normal(0, 0.5)) if isinstance(value, float) else value
        if place < LIMITED:
            clip["stages"]["clip_loudness"] = {"limited_db": float(draw.uniform(0.1, 12))}
        found["clips"].append(clip)
    return found


def opened_seconds(page: Path) -> tuple[float, float] | None:
    """Return the seconds until the page is loaded in chromium, and until all of it is laid out."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if CHROMIUM is None:
        return None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM)
        tab = browser.new_page()
        started = time.perf_counter()
        tab.goto(page.as_uri())
        loaded = time.perf_counter() - started
        tab.evaluate("document.body.getBoundingClientRect().height")
        laid_out = time.perf_counter() - started
        browser.close()
    return loaded, laid_out


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        values = yaml.safe_load((PROJECT / "configs" / "demo.yaml").read_text(encoding="utf-8"))
        config = Path(folder) / "demo.yaml"
        values |= {"output": "out", "cache": "cache"}
        values["clips"]["table"] = str(PROJECT / "fixtures" / "clips.csv")
        config.write_text(yaml.safe_dump(values), encoding="utf-8")
        before = cpu_seconds()
        run_study(config, Silent())
        run_cpu = cpu_seconds() - before
        record = json.loads((Path(folder) / "out" / "run.json").read_text(encoding="utf-8"))
        each = run_cpu / len(record["clips"])
        many = drawn_out(record, CLIPS)
        sources = [PROJECT / "fixtures" / clip["file_name"] for clip in many["clips"]]
        before = cpu_seconds()
        excerpts = made_excerpts(many, sources, Store(Path(folder) / "cache"))
        excerpt_cpu = cpu_seconds() - before
        html = report_html(many | {"excerpts": excerpts.record}, excerpts.files)
        page_cpu = cpu_seconds() - before
        page = Path(folder) / "report.html"
        page.write_text(html, encoding="utf-8")
        print(f"run of {len(record['clips'])} clips: {run_cpu:.1f} s of CPU, {each * 1000:.0f} ms a clip")
        share = page_cpu / (each * CLIPS)
        print(
            f"page of {CLIPS} clips: {page_cpu:.2f} s of CPU ({excerpt_cpu:.2f} for excerpts), {share:.1%} of the run"
        )
        print(f"size: {page.stat().st_size / 1e6:.1f} MB, {html.count('<audio')} players, {html.count('<circle')} dots")
        found = opened_seconds(page)
        print(
            "opened: no chromium"
            if found is None
            else f"opened: loaded in {found[0]:.2f} s, laid out in {found[1]:.2f} s"
        )


if __name__ == "__main__":
    main()
