"""The page of a sweep in a browser: what it shows, and how it answers."""

from __future__ import annotations

import pytest

from support.browser import opened, started_browser
from support.sweeps import built, sweep
from usmp.exploration.html_page import sweep_page
from usmp.exploration.result import REFUSED, Result
from usmp.exploration.sweep import InputFile

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>${data}&quot;'"
ROWS = "#configuration-table tbody tr"


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A page of six configurations: 2 and 4 are the front, 5 is as 2, and 6 is refused."""
    results = [
        built(300, 300),
        built(100, 300),
        built(300, 100, 2),
        built(200, 100),
        built(100, 300),
    ]
    refused = Result(REFUSED, HOSTILE)
    path = tmp_path_factory.mktemp("page") / "sweep.html"
    model = InputFile.of(f"{HOSTILE}.tflite", b"")
    path.write_text(sweep_page(sweep(*results, refused, inputs=[model])))
    return path


def middle(page, number, chart=0):
    """The place of a point, in pixels of the window."""
    return page.evaluate(
        """([number, index]) => {
      const data = JSON.parse(document.getElementById("page-data").textContent).charts[index];
      const canvas = document.querySelectorAll(".drawing canvas")[index];
      const box = canvas.getBoundingClientRect(), pad = data.spec.padding;
      const point = data.spec.marks[0].data[0].values.find((p) => p.number === number);
      const part = (name, value) => {
        const [low, high] = data.spec.signals.find((s) => s.name === name).value;
        return (value - low) / (high - low);
      };
      return [
        box.left + pad.left + part("xdom", point.x) * (box.width - pad.left - pad.right),
        box.top + pad.top + (1 - part("ydom", point.y)) * data.height,
      ];
    }""",
        [number, chart],
    )


def test_texts_of_the_model_are_text_only(browser, file):
    with opened(browser, file) as page:
        assert page.title() == f"{HOSTILE}.tflite"
        assert page.locator("h1").inner_text() == f"{HOSTILE}.tflite"
        assert page.locator("header p").inner_text() == "6 of 6 configurations, 2 best"
        assert HOSTILE in page.locator("#other-table").inner_text()
        assert page.locator("img").count() == 0
        results = page.locator(f"{ROWS} td:last-child").all_inner_texts()
        assert results == ["best", "best", "dominated by 2", "dominated by 4", "same as 2"]
        assert page.locator(".commands pre").all_inner_texts() == [
            "tvmc compile m --n=1",
            "tvmc compile m --n=3",
        ]


def test_hover_and_click_tell_of_a_configuration(browser, file):
    with opened(browser, file) as page:
        page.mouse.move(*middle(page, 2))
        tip = page.locator("#tip")
        tip.wait_for(state="visible")
        said = tip.inner_text().splitlines()
        assert said[:2] == ["Configuration 2", "Result: best"]
        assert said[-1] == "At the same place: 5"
        page.mouse.click(*middle(page, 4, chart=1))
        assert page.locator("#details dd").first.inner_text() == "4"
        assert page.locator("#details pre").inner_text() == "tvmc compile m --n=3"
        assert page.locator("tr.picked th").inner_text() == "4"
        page.locator(f"{ROWS} button").first.click()
        assert page.locator("#details dd").first.inner_text() == "2"


def test_keys_step_through_configurations(browser, file):
    with opened(browser, file) as page:
        page.locator(".drawing").first.focus()
        said = page.locator("#announcement")
        numbers = []
        for key in ("ArrowRight", "ArrowRight", "ArrowRight", "End", "ArrowUp", "Home"):
            page.keyboard.press(key)
            numbers.append(said.inner_text().split(".")[0].removeprefix("Configuration: "))
        # By flash: 4, 3, 2, 1, 5; by RAM: 2, 5, 4, 1, 3.
        assert numbers == ["4", "3", "2", "5", "4", "4"]
        page.keyboard.press("Escape")
        assert said.inner_text() == "Nothing is chosen."
        assert page.locator("tr.picked").count() == 0
        assert "arrow keys" in page.locator("#details").inner_text()


def test_all_configurations_may_be_best(browser, tmp_path):
    path = tmp_path / "sweep.html"
    path.write_text(sweep_page(sweep(built(1, 2, 7, shared_code="small"), built(1, 3, 7))))
    with opened(browser, path) as page:
        page.locator(f"{ROWS} button").first.click()
        assert "at least 7" in page.locator("#details").inner_text()


def test_the_theme_is_that_of_the_map(browser, file):
    with opened(browser, file, color_scheme="dark") as page:
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(13, 17, 23)"
        dark = page.locator(".drawing").first.screenshot()
        page.locator("#theme").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.evaluate("() => new Promise((done) => setTimeout(done, 50))")
        assert page.locator(".drawing").first.screenshot() != dark


def test_details_of_a_row_lie_over_the_page_where_charts_are_not_beside_them(browser, file):
    with opened(browser, file, viewport={"width": 390, "height": 844}) as page:
        details = page.locator(".details")
        assert not details.is_visible()
        page.locator(f"{ROWS} button").nth(1).click()
        assert details.is_visible()
        assert page.locator("#details pre").inner_text() == "tvmc compile m --n=3"
        page.locator("#show-drawing").click()
        assert page.locator(".drawing").first.bounding_box()["y"] >= 0
        page.locator("#close").click()
        assert not details.is_visible()
        assert page.evaluate("document.activeElement.textContent") == "4"


@pytest.mark.parametrize("width", [390, 1400, 1920])
def test_all_columns_and_charts_are_on_the_screen(browser, file, width):
    with opened(browser, file, viewport={"width": width, "height": 844}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        parts = page.eval_on_selector_all(
            ".drawing canvas, th, td", "all => all.map((c) => c.getBoundingClientRect().right)"
        )
        assert len(parts) > 30
        assert max(parts) <= width


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility(browser, file, theme):
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()
    with opened(browser, file, color_scheme=theme) as page:
        page.locator(".drawing").first.focus()
        page.keyboard.press("ArrowRight")
        found = axe.run(page)
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
