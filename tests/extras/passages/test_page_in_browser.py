"""The page as a browser shows it: colours, what is to be seen, and that nothing runs or loads."""

import colorsys
import re

import pytest

from scrapy_simhash.extras.passages.page import render_page
from scrapy_simhash.extras.passages.result import CheckedPassage, Source, summed_up
from tests.chromium import browser_path, chromium
from tests.extras.passages.article import GUIDE, article
from tests.report.browser import PIXEL

pytest.importorskip("playwright", reason="no Playwright for Python: pip install playwright")
if browser_path() is None:
    pytest.skip("no browser: apt-get install chromium", allow_module_level=True)

# WCAG AA, for text and for what is no text.
LEAST_CONTRAST, LEAST_CONTRAST_OF_SHAPES = 4.5, 3.0
HOSTILE = (
    "<script>document.title = 'taken'</script><img src='http://127.0.0.1:9/x.png' "
    "onerror=\"document.title = 'taken'\"><style>body { display: none }</style>"
)
# The colour of each text that is shown, and of what lies behind it.
TEXT_COLOURS = """() => {
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("svg")) {
      continue;
    }
    let behind = element;
    while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") {
      behind = behind.parentElement;
    }
    const under = behind || document.body;
    seen.push([
      walker.currentNode.data.trim().slice(0, 40),
      getComputedStyle(element).color,
      getComputedStyle(under).backgroundColor,
    ]);
  }
  return seen;
}"""
SHAPE_COLOURS = """() => [...document.querySelectorAll("svg .bar rect, svg text")].map(
  shape => [shape.tagName, getComputedStyle(shape).fill]
)"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


class Watched:
    """A page from the disk, with what it asked for and complained about."""

    def __init__(self, browser, path, *, scheme="light", width=1100):
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 900}
        )
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())

    def colour(self, selector, which="backgroundColor"):
        return rgb(self.page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{which}"))


@pytest.fixture
def opened(browser, tmp_path):
    contexts = []

    def open_page(report, text="", **options):
        path = tmp_path / "page.html"
        path.write_text(render_page(report, text), encoding="utf-8")
        watched = Watched(browser, path, **options)
        contexts.append(watched.context)
        return watched

    yield open_page
    for context in contexts:
        context.close()


def rgb(colour):
    assert colour.startswith("rgb("), colour
    return tuple(int(number) / 255 for number in re.findall(r"\d+", colour))


def hue_and_saturation(colour):
    hue, saturation, _ = colorsys.rgb_to_hsv(*colour)
    return hue * 360, saturation


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_computed_as_wcag_says():
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast(rgb("rgb(118, 118, 118)"), (1, 1, 1)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_medium_is_yellow_and_high_is_red(opened, scheme):
    watched = opened(*article(), scheme=scheme)
    hue, saturation = hue_and_saturation(watched.colour(".words mark.medium"))
    assert 40 <= hue <= 65
    assert saturation > 0.2
    hue, saturation = hue_and_saturation(watched.colour(".words mark.high"))
    assert hue <= 20 or hue >= 345
    assert saturation > 0.2
    _, saturation = hue_and_saturation(watched.colour(".words mark.common"))
    assert saturation < 0.15
    paper = watched.page.locator(".words span").first
    assert paper.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"
    # Nor by colour alone: their edges differ in kind.
    edges = {
        watched.page.locator(f".words mark.{level}").first.evaluate(
            "e => getComputedStyle(e).borderBottomStyle"
        )
        for level in ("medium", "high", "common")
    }
    assert len(edges) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(opened, scheme):
    watched = opened(*article(), scheme=scheme)
    watched.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    paper = watched.colour("body")
    assert (luminance(paper) > 0.5) == (scheme == "light")
    shown = watched.page.evaluate(TEXT_COLOURS)
    assert any("engine's hum" in text for text, *_ in shown)
    faint = [s for s in shown if contrast(rgb(s[1]), rgb(s[2])) < LEAST_CONTRAST]
    assert faint == []
    for kind, colour in watched.page.evaluate(SHAPE_COLOURS):
        least = LEAST_CONTRAST if kind == "text" else LEAST_CONTRAST_OF_SHAPES
        assert contrast(rgb(colour), paper) >= least, (kind, colour)


def test_sources_stand_beside_their_passages_and_open_by_keyboard(opened):
    page = opened(*article()).page
    mark, note = page.locator("#p3"), page.locator("#s3")
    assert note.get_by_role("link", name=GUIDE).is_visible()
    assert "96" in note.inner_text()
    beside, box = mark.bounding_box(), note.bounding_box()
    assert box["x"] >= beside["x"] + beside["width"] - PIXEL
    assert box["y"] < beside["y"] + beside["height"]
    quote = note.locator("blockquote").first
    assert not quote.is_visible()
    note.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert quote.is_visible()


def test_passages_are_reached_by_tab_and_lead_to_their_sources(opened):
    page = opened(*article()).page
    page.locator(".plot").focus()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.getAttribute('href')"))
    assert [f"#p{n}" in reached for n in (3, 6)] == [True, True]
    assert [f"#s{n}" in reached for n in (3, 6)] == [True, True]
    page.locator("#p3 a").focus()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**#s3")


def test_notes_stand_beneath_on_a_narrow_screen(opened):
    page = opened(*article(), width=380).page
    mark, note = page.locator("#p3").bounding_box(), page.locator("#s3").bounding_box()
    assert note["y"] >= mark["y"] + mark["height"] - PIXEL
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_bars_of_the_chart_are_seen_and_lead_to_their_passages(opened):
    report, text = article()
    page = opened(report, text).page
    bars = page.locator("#chart a.bar")
    assert bars.count() == sum(passage.level != "none" for passage in report.passages)
    bottoms = []
    for number in range(bars.count()):
        box = bars.nth(number).locator("rect").bounding_box()
        assert box["width"] > 1
        assert box["height"] > 50
        bottoms.append(box["y"] + box["height"])
    assert max(bottoms) - min(bottoms) <= PIXEL
    name = "Passage 3, high, 96\N{NO-BREAK SPACE}%"
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url("**#p3")
    assert page.locator("#p3").evaluate("e => e.matches(':target')")


def test_nothing_is_loaded_but_the_file_and_nothing_is_complained_about(opened):
    watched = opened(*article())
    assert [url.rpartition("/")[2] for url in watched.requests] == ["page.html"]
    assert watched.complaints == []
    # The style was let in by its digest.
    assert (
        watched.page.locator("main").evaluate("e => getComputedStyle(e).overflowWrap") == "anywhere"
    )


def hostile_report():
    passage = CheckedPassage(
        start=0,
        end=len(HOSTILE),
        text=HOSTILE,
        level="high",
        sources=(
            Source(document=HOSTILE, start=0, end=9, similarity=1.0, distance=0, text=HOSTILE),
        ),
        documents=1,
    )
    return summed_up(HOSTILE, HOSTILE, [passage], mode="fast", verified=True)


def test_what_hostile_text_says_does_not_happen(opened):
    watched = opened(hostile_report())
    assert watched.page.title().endswith("what appears elsewhere")
    assert len(watched.requests) == 1
    assert watched.complaints == []
    assert HOSTILE in watched.page.locator("#p1").inner_text()


def test_the_policy_stops_what_an_error_in_the_template_would_let_through(browser, tmp_path):
    path = tmp_path / "page.html"
    page = render_page(*article()).replace("<main>", "<main>" + HOSTILE)
    path.write_text(page, encoding="utf-8")
    watched = Watched(browser, path)
    assert "taken" not in watched.page.title()
    assert watched.page.locator("main").is_visible()
    assert any("Content Security Policy" in complaint for complaint in watched.complaints)
    watched.context.close()
