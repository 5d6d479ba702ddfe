"""The page of the memory map in a browser: what it shows, and how it answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import usmp
from support import levels
from support.browser import opened, started_browser
from support.memory_metadata import digits_with_operators, synthetic_metadata
from usmp.report import map_document, map_of_metadata, memory_map
from usmp.report.memory_maps import map_page

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e${data}&quot;'\""
MANY = levels.number(80, 2000)
HEBREW = "\u05d7\u05d9\u05d9\u05e9\u05df"


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def digits(request) -> dict:
    path = request.config.rootpath / "examples/digits/digits_int8.tflite"
    factory = usmp.build(usmp.import_model(path), module_name="digits")
    assert memory_map(factory) == map_page(map_of_metadata(factory._module_metadata))
    return digits_with_operators(factory._module_metadata)


@pytest.fixture(scope="module")
def file(digits, tmp_path_factory) -> Path:
    """The page of the digits model."""
    path = tmp_path_factory.mktemp("page") / "digits.html"
    path.write_text(map_page(map_of_metadata(digits)))
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """The page of a plan of many buffers."""
    path = tmp_path_factory.mktemp("page") / "large.html"
    path.write_text(map_page(map_of_metadata(synthetic_metadata(MANY))))
    return path


def place(page, name: str, pool: int = 0) -> tuple[float, float]:
    """The middle of a buffer's first block in the drawing, in pixels of the window."""
    return tuple(
        page.evaluate(
            """([name, pool]) => {
          const data = JSON.parse(document.getElementById("page-data").textContent).pools[pool];
          const signal = (n) => data.spec.signals.find((s) => s.name === n).value;
          const buffer = data.buffers.find((b) => b.name === name);
          const canvas = document.querySelectorAll(".drawing canvas")[pool];
          canvas.scrollIntoView({ block: "center" });
          const box = canvas.getBoundingClientRect(), pad = data.spec.padding;
          const width = box.width - pad.left - pad.right;
          const [start, stop] = buffer.live[0];
          return [
            box.left + pad.left + width * ((start + stop) / 2) / signal("xdom")[1],
            box.top + pad.top
              + data.height * (1 - (buffer.offset + buffer.size / 2) / signal("ydom")[1]),
          ];
        }""",
            [name, pool],
        )
    )


def pixels(page) -> bytes:
    """What the first drawing looks like, once it is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    return page.locator(".drawing").first.screenshot()


@pytest.mark.slow
def test_tables_have_the_figures_of_the_plan(browser, file, digits):
    document = map_document(map_of_metadata(digits))
    with opened(browser, file) as page:
        rows = page.eval_on_selector_all(
            "#buffer-table tbody tr",
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))",
        )
        summary = page.locator("header").inner_text()
        operators = page.eval_on_selector_all(
            "#operator-table tbody tr",
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))",
        )
    assert [(row[0], row[1], int(row[3]), int(row[4])) for row in rows] == [
        (buffer["name"], pool["name"], buffer["offset_bytes"], buffer["size_bytes"])
        for pool in document["pools"]
        for buffer in pool["buffers"]
    ]
    assert f"RAM {document['ram_bytes']} bytes" in summary
    assert [row[:2] for row in operators[2:4]] == [
        ["2", "5 CONV_2D, 6 MAX_POOL_2D"],
        ["3", "7 MEAN"],
    ]
    assert [int(row[3]) for row in operators] == [
        operator["macs"] for operator in document["operators"]
    ]
    assert sum(int(row[5]) for row in operators) == document["constants_bytes"]


def test_hover_and_click_tell_of_a_buffer(browser, file):
    with opened(browser, file) as page:
        before = pixels(page)
        page.mouse.move(*place(page, "conv2d3_ring"))
        tip = page.locator("#tip")
        tip.wait_for(state="visible")
        assert tip.inner_text().splitlines() == [
            "conv2d3_ring",
            "Kind: intermediate, ring of rows",
            "Bytes: 384",
            "Offset: 544 to 928",
            "Live: 303-412",
            "Written by: 5 CONV_2D, 6 MAX_POOL_2D",
        ]
        page.mouse.click(*place(page, "conv2d3_ring"))
        buttons = page.locator("#details button").all_inner_texts()
        assert buttons == ["5 CONV_2D, 6 MAX_POOL_2D", "fused_conv2d2_add", "max_pool"]
        picked = page.locator("tr.picked th").all_inner_texts()
        assert picked == ["conv2d3_ring", "5 CONV_2D, 6 MAX_POOL_2D"]
        page.mouse.move(2, 2)
        tip.wait_for(state="hidden")
        assert pixels(page) != before
        page.keyboard.press("Tab")
        page.locator(".drawing").first.focus()
        page.keyboard.press("Escape")
        assert page.locator("tr.picked").count() == 0


def test_buffers_live_together_with_the_picked_one_stay_bright(browser, file):
    def middle(name):
        x, y = place(page, name)
        return page.screenshot(clip={"x": x - 2, "y": y - 2, "width": 4, "height": 4})

    with opened(browser, file) as page:
        names = ("max_pool", "conv2d_ring")
        before = [middle(name) for name in names]
        page.mouse.click(*place(page, "conv2d3_ring"))
        page.mouse.move(2, 2)
        pixels(page)
        assert [middle(name) == was for name, was in zip(names, before, strict=True)] == [
            True,
            False,
        ]


def test_keys_step_through_buffers_and_operators(browser, file):
    with opened(browser, file) as page:
        drawing = page.locator(".drawing").first
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('drawing')"):
                break
        # The tab key reaches the drawing, and the focus is seen.
        assert drawing.evaluate("e => e === document.activeElement")
        assert drawing.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        said = page.locator("#announcement")
        page.keyboard.press("ArrowRight")
        assert said.inner_text().startswith("Name: conv2d_ring. Kind: intermediate, ring of rows.")
        page.keyboard.press("ArrowRight")
        assert said.inner_text().startswith("Name: conv2d1.")
        page.keyboard.press("ArrowLeft")
        assert said.inner_text().startswith("Name: conv2d_ring.")
        page.keyboard.press("End")
        assert said.inner_text().startswith("Name: fully_connected.")
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert said.inner_text().startswith("Operator: 2 DEPTHWISE_CONV_2D to 4 ADD.")
        assert "Weights: 1824 bytes" in said.inner_text()


def test_zoom_and_pan(browser, file):
    with opened(browser, file) as page:
        whole = pixels(page)
        page.locator('[data-zoom="in"]').first.click()
        near = pixels(page)
        assert near != whole
        x, y = place(page, "conv2d1")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 60, y, steps=3)
        page.mouse.up()
        page.mouse.move(2, 2)
        assert pixels(page) not in (near, whole)
        page.locator(".drawing").first.focus()
        page.keyboard.press("0")
        page.evaluate("document.activeElement.blur()")
        assert pixels(page) == whole
        page.mouse.move(x, y)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -100)
        page.keyboard.up("Control")
        page.mouse.move(2, 2)
        assert pixels(page) != whole


@pytest.mark.slow
def test_search_and_sort(browser, file):
    with opened(browser, file) as page:
        whole = pixels(page)
        page.fill("#search", "max_pool_2d")
        names = "#buffer-table tbody tr:not([hidden]) th"
        # What operators of that name write and read, too.
        assert page.locator(names).all_inner_texts() == [
            *("fused_conv2d2_add", "max_pool", "conv2d3_ring"),
            *("conv2d3_constant_1", "conv2d3_constant_2"),
        ]
        assert page.locator("#announcement").inner_text() == "5 buffers found."
        assert pixels(page) != whole
        page.fill("#search", "")
        assert page.locator(names).count() == 21
        heading = page.locator("#buffer-table th", has_text="Bytes")
        sizes = "rows => rows.map((row) => Number(row.cells[4].textContent))"
        for direction in ("ascending", "descending"):
            heading.locator("button").click()
            assert heading.get_attribute("aria-sort") == direction
            found = page.eval_on_selector_all("#buffer-table tbody tr", sizes)
            assert found == sorted(found, reverse=direction == "descending")


def test_themes_and_colors(browser, file):
    with opened(browser, file, color_scheme="dark") as page:
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(13, 17, 23)"
        dark = pixels(page)
        page.locator("#theme").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        switch = page.get_by_role("button", name="Dark theme", exact=True)
        assert switch.get_attribute("aria-pressed") == "false"
        light = pixels(page)
        assert light != dark
        legend = page.locator(".legend li:visible")
        assert "intermediate" in legend.all_inner_texts()
        page.select_option("#color-by", "operator")
        assert pixels(page) != light
        assert "a color for each operator" in legend.all_inner_texts()
        assert "intermediate" not in legend.all_inner_texts()


def test_details_of_an_operator_have_its_tensors_in_the_model(browser, file):
    with opened(browser, file) as page:
        row = page.locator("#operator-table tbody tr", has_text="5 CONV_2D")
        row.locator("button").click()
        folded = page.locator("#details details")
        assert folded.locator("summary").all_inner_texts() == ["5 CONV_2D", "6 MAX_POOL_2D"]
        assert folded.locator("dd").first.is_hidden()
        folded.first.locator("summary").click()
        assert folded.first.locator("dd").all_inner_texts() == ["tensor:5", "tensor:6"]
        page.locator("#details").get_by_role("button", name="max_pool", exact=True).click()
        assert page.locator("#details dd").first.inner_text() == "max_pool"
        assert page.evaluate("document.activeElement.id") == "details-title"


@pytest.mark.parametrize("width", [1400, 390])
def test_details_stay_in_sight_of_a_click(browser, large, width):
    with opened(browser, large, viewport={"width": width, "height": 800}) as page:
        row = page.locator("#operator-table tbody tr").nth(3)
        row.evaluate("row => row.scrollIntoView({ block: 'end' })")
        row.locator("button").click()
        details, name = page.locator(".details"), page.locator("#details dd").first
        assert name.inner_text() == "3 FULLY_CONNECTED"
        panel, clicked = details.bounding_box(), row.locator("button").bounding_box()
        assert 0 < panel["y"] < panel["y"] + panel["height"] <= 800
        is_covered = clicked["x"] + clicked["width"] > panel["x"]
        assert not is_covered or clicked["y"] + clicked["height"] <= panel["y"]
        page.get_by_role("button", name="Close details").click()
        assert page.locator("tr.picked").count() == 0
        assert row.locator("button").evaluate("e => e === document.activeElement")


def test_the_heading_of_details_is_in_sight_of_a_click(browser, large):
    with opened(browser, large, viewport={"width": 1400, "height": 900}) as page:
        workplace = page.locator(".workplace").bounding_box()
        bottom = workplace["y"] + workplace["height"]
        page.evaluate("y => scrollTo(0, y)", bottom - 260)
        row = page.locator("#buffer-table tbody tr").first
        before = row.bounding_box()["y"]
        row.locator("button").click()
        heading = page.locator("#details-title")
        assert heading.is_visible() and row.bounding_box()["y"] == before
        # There is room for a part of the details beside the drawings, and not for the heading.
        assert page.locator(".docked .details").bounding_box()["height"] > 260
        assert 0 <= heading.bounding_box()["y"] < 900
        page.get_by_role("button", name="Show on the map").click()
        page.wait_for_function("!document.body.classList.contains('docked')")
        assert 0 <= heading.bounding_box()["y"] < 900
        page.evaluate("y => scrollTo(0, y)", bottom - 260)
        page.wait_for_selector(".docked .details")
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_selector("body:not(.docked)")


def test_tables_fit_a_window_and_have_a_line_a_row(browser, digits, tmp_path):
    text = json.dumps(digits).replace('"fused_conv2d2_add"', json.dumps("model/layer;" * 142))
    path = tmp_path / "page.html"
    path.write_text(map_page(map_of_metadata(json.loads(text))))
    with opened(browser, path, viewport={"width": 1400, "height": 900}) as page:
        hidden = "all => all.map((table) => table.scrollWidth - table.clientWidth)"
        assert page.eval_on_selector_all(".table", hidden) == [0, 0, 0]
        heights = page.eval_on_selector_all("tbody tr", "rows => rows.map((r) => r.offsetHeight)")
        assert max(heights) < 40


def test_a_phone_shows_all_of_it(browser, file):
    with opened(browser, file, viewport={"width": 390, "height": 844}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        boxes = page.eval_on_selector_all(
            ".drawing canvas", "all => all.map((c) => c.getBoundingClientRect().right)"
        )
        assert len(boxes) == 2
        assert max(boxes) <= 390
        hidden = "all => all.map((table) => table.scrollWidth - table.clientWidth)"
        assert page.eval_on_selector_all(".table", hidden) == [0, 0, 0]
        # Each cell is below its heading.
        left = "row => [...row.cells].map((cell) => cell.getBoundingClientRect().left)"
        for table in page.locator("table").all():
            columns = table.locator("thead tr").evaluate(left)
            assert len(set(columns)) == 3
            assert table.locator("tbody tr").first.evaluate(left) == columns


def test_paper_has_all_rows_and_columns(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(map_page(map_of_metadata(synthetic_metadata(80))))
    with opened(browser, path, viewport={"width": 718, "height": 1000}) as page:
        # Rows below the window have their height before they are in view, as in a full picture.
        last = page.locator("#operator-table tbody tr").last
        assert last.evaluate("row => row.checkVisibility({ contentVisibilityAuto: true })")
        page.emulate_media(media="print")
        hidden = """all => all.map(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
          [scrollWidth - clientWidth, scrollHeight - clientHeight])"""
        assert page.eval_on_selector_all(".table", hidden) == [[0, 0]] * 3


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility(browser, file, theme):
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()
    with opened(browser, file, color_scheme=theme) as page:
        page.locator(".drawing").first.focus()
        page.keyboard.press("ArrowRight")
        found = axe.run(page)
    assert len(found["passes"]) > 30
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_names_are_text_only(browser, digits, tmp_path):
    metadata = json.loads(json.dumps(digits).replace("fused_conv2d2_add", "HOSTILE_NAME"))
    text = json.dumps(metadata).replace('"HOSTILE_NAME"', json.dumps(HOSTILE))
    text = text.replace('"max_pool"', json.dumps(HEBREW))
    path = tmp_path / "page.html"
    path.write_text(map_page(map_of_metadata(json.loads(text))))
    with opened(browser, path) as page:
        names = page.locator("#buffer-table th").all_inner_texts()
        assert HOSTILE.replace("\u202e", "\\u202e") in names
        assert HEBREW in names
        assert page.locator("img").count() == 0
        page.fill("#search", "alert(1)")
        page.locator("#buffer-table tbody tr:not([hidden]) button").click()
        assert "alert(1)" in page.locator("#details dd").first.inner_text()


def test_a_page_without_scripts_has_the_tables(browser, file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#buffer-table tbody tr").count() == 21
    assert page.locator(".drawings").is_hidden()
    context.close()


def test_a_plan_of_many_buffers(browser, large):
    last = MANY // 2 - 1
    with opened(browser, large) as page:
        assert page.locator("#buffer-table tbody tr").count() == MANY
        page.fill("#search", f"tensor_{last}")
        page.locator("#buffer-table tbody tr:not([hidden]) button").first.click()
        assert f"Name: tensor_{last}." in page.locator("#announcement").inner_text()
        page.fill("#search", "")
        page.locator("#operator-table th", has_text="MACs").locator("button").click()
        page.locator("#operator-table th", has_text="MACs").locator("button").click()
        assert (
            page.locator("#operator-table tbody th").first.inner_text() == f"{last} FULLY_CONNECTED"
        )
        page.locator(".drawing").first.focus()
        page.keyboard.press("+")
        page.keyboard.press("ArrowRight")
        assert "Name: tensor_" in page.locator("#announcement").inner_text()
