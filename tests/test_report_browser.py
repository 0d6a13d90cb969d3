"""The report page in a browser: it asks nothing, plays, can be read, and runs nobody's script.

Debian's chromium is driven; without one the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import pytest

from prep.blind_page import blind_html
from prep.excerpts import parts_of, read_excerpts
from prep.report_page import report_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
READABLE_CONTRAST = 4.5  # WCAG 2.2, 1.4.3, text of ordinary size
WIDTHS = (390, 1440)  # a phone and a desktop, px
SCHEMES = ("light", "dark")
PLAYED_SECONDS = 0.2
HOSTILE = (
    "<img src=x onerror=\"document.title='got'\"><script>document.title='got'</script>\"'>&{{7*7}}\u202e😀" + "n" * 300
)

# The contrast of each text with what lies behind it, by the colours that the browser computed.
CONTRASTS = """() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = numbers(colour).slice(0, 3).map(v => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return getComputedStyle(e).backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = {};
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement;
    if (!node.data.trim() || ['STYLE', 'title'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = element.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    const name = `${element.tagName}.${element.getAttribute('class') || ''} ${ink} on ${behind(element)}`;
    found[name] = (a + 0.05) / (b + 0.05);
  }
  return found;
}"""

# Words of pictures that reach beyond them.
CUT_OFF = """() => [...document.querySelectorAll('svg.chart text')].filter(text => {
  const [a, b] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
  return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
}).map(text => text.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start chromium once."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium to open the page in; apt-get install chromium")
    arguments = ["--autoplay-policy=no-user-gesture-required", "--no-sandbox"]
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


class Opened:
    """A page in the browser, with what it asked for and complained of."""

    def __init__(self, browser: Any, place: Path, width: int = 1440, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url[:60]))
        self.page.goto(place.as_uri())

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.page.close()


def test_it_asks_nothing_and_complains_of_nothing(browser: Any, eventful: Path) -> None:
    """Opening the page, or the blind one, makes one request, for itself, and leaves no word on the console."""
    record = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    blind = eventful.parent / "blind.html"
    blind.write_text(blind_html(record), encoding="utf-8")
    for place in (eventful / "report.html", blind):
        with Opened(browser, place) as opened:
            opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            outer = [url for url in opened.requests if not url.startswith("data:")]
            assert len(outer) == 1
            assert outer[0].startswith("file:")
            assert not opened.complaints


def test_every_figure_is_there(browser: Any, eventful: Path) -> None:
    """Battery, levels, spectra, corrections, ROC and waveforms are drawn, each with an extent and something in it."""
    with Opened(browser, eventful / "report.html") as opened:
        figures = opened.page.evaluate(
            "[...document.querySelectorAll('svg')].map(s => [s.ariaLabel, s.getBoundingClientRect().width,"
            " s.getBoundingClientRect().height, s.querySelectorAll('circle, polyline, path').length])"
        )
    labels = " | ".join(label for label, *_ in figures)

    for wanted in (
        "AUC of every cue before, after and delivered",
        "integrated loudness, LUFS of every clip",
        "true peak, dBTP of every clip",
        "median third-octave spectrum of human",
        "median third-octave spectrum of synthetic",
        "spectra of the conditions over each other",
        "mean correction, dB by reference_eq",
        "largest correction, dB by reference_eq",
        "ROC of tilt on held-out clips, pooled",
        "ROC of tilt on held-out clips, inside matched cells",
        "waveform of clipped.wav, before: the source, what was found marked",
        "waveform of clipped.wav, in its place: as delivered",
    ):
        assert wanted in labels
    assert all(width > 100 and height > 20 and marks for _, width, height, marks in figures)


def test_players_play(browser: Any, eventful: Path) -> None:
    """Each player knows how long its sound is and gets on when started."""
    record = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    with Opened(browser, eventful / "report.html") as opened:
        played = opened.page.evaluate(
            """async least => Promise.all([...document.querySelectorAll('audio')].map(async player => {
              player.muted = true;
              await player.play();
              for (let n = 0; n < 100 && player.currentTime < least; n++) await new Promise(r => setTimeout(r, 50));
              player.pause();
              return [player.duration, player.currentTime];
            }))""",
            PLAYED_SECONDS,
        )
        assert not opened.complaints

    parts = list(parts_of(record))
    assert len(played) == len(parts) >= 10
    assert sorted(round(seconds, 1) for seconds, _ in played) == sorted(round(part["seconds"], 1) for part in parts)
    assert all(here >= PLAYED_SECONDS for _, here in played)


def test_keyboard_and_screen_reader(browser: Any, eventful: Path) -> None:
    """Pictures and players have names, headings are in order, and what scrolls or folds is reached by keyboard."""
    with Opened(browser, eventful / "report.html", width=390) as opened:
        page = opened.page
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.evaluate(
            "[...document.querySelectorAll('svg')].every(s => s.role === 'img' && s.ariaLabel.length > 8)"
        )
        labels = page.evaluate("[...document.querySelectorAll('audio')].map(a => a.ariaLabel)")
        assert len(set(labels)) == len(labels)
        assert all(label.startswith("play ") for label in labels)
        headings = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))")
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(headings))
        assert page.evaluate(
            "[...document.querySelectorAll('.wide, pre, summary')].every(e => e.tabIndex === 0)"
            " && [...document.querySelectorAll('.wide')].every(e => e.role === 'region' && e.ariaLabel)"
        )
        regions = page.evaluate("[...document.querySelectorAll('.wide')].map(e => e.ariaLabel)")
        assert len(set(regions)) == len(regions)
        assert page.evaluate("[...document.querySelectorAll('th')].every(e => e.scope === 'col')")
        summary = page.locator("summary").first
        summary.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.parentElement.open")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_it_can_be_read(browser: Any, eventful: Path, width: int, scheme: str) -> None:
    """On phone and desktop, light and dark, text stands out from what is behind it, and nothing scrolls sideways."""
    with Opened(browser, eventful / "report.html", width, scheme) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        contrasts = opened.page.evaluate(CONTRASTS)
        across = opened.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"

    assert len(contrasts) > 20
    assert {text: ratio for text, ratio in contrasts.items() if ratio < READABLE_CONTRAST} == {}
    assert across[0] <= across[1] == width
    assert dark == (scheme == "dark")


def test_words_in_pictures_can_be_read_on_a_phone(browser: Any, eventful: Path) -> None:
    """At 390 px the words of a picture are at least 9 px high, and none is cut off at its edge."""
    with Opened(browser, eventful / "report.html", width=390) as opened:
        sizes = opened.page.evaluate(
            """[...document.querySelectorAll('svg.chart')].map(s => s.getBoundingClientRect().width / 420 * 12)"""
        )
        cut = opened.page.evaluate(CUT_OFF)
    assert min(sizes) >= 9
    assert cut == []


def test_it_prints_light_and_whole(browser: Any, eventful: Path) -> None:
    """On paper the page is light, folded parts are open, and players are left out."""
    with Opened(browser, eventful / "report.html", scheme="dark") as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert opened.page.evaluate("[...document.querySelectorAll('audio')].every(a => !a.offsetHeight)")
        assert opened.page.evaluate("document.querySelector('pre').getBoundingClientRect().height") > 100
        assert opened.page.pdf().startswith(b"%PDF")


def test_hostile_names_run_nothing(browser: Any, eventful: Path, tmp_path: Path) -> None:
    """Names that are markup, scripts or 300 letters long do not run, ask for anything, or widen page or picture."""
    text = (eventful / "run.json").read_text(encoding="utf-8")
    for name in ("human", "clipped.wav", "eventful", "human alone"):
        text = text.replace(f'"{name}"', json.dumps(f"{HOSTILE} {name}"))
    record = json.loads(text)
    record["notices"] = [HOSTILE]
    sounds = read_excerpts(eventful, record)
    assert sounds
    for name, page in (("full.html", report_html(record, sounds)), ("blind.html", blind_html(record))):
        place = tmp_path / name
        place.write_text(page, encoding="utf-8")
        with Opened(browser, place, width=390) as opened:
            assert opened.page.title() != "got"
            assert not opened.complaints
            assert len([url for url in opened.requests if not url.startswith("data:")]) == 1
            assert opened.page.evaluate("document.querySelectorAll('script, img').length") == 0
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
            assert opened.page.evaluate(CUT_OFF) == []
