"""The drawings of the documents show what there is."""

from __future__ import annotations

import importlib.util
import re
import sys
from contextlib import contextmanager
from xml.etree import ElementTree

import pytest

from conftest import ROOT
from support.shared_builds import built_once

IMAGES = ROOT / "docs/images"


@contextmanager
def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded  # its dataclasses look themselves up there
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules[name]


@pytest.fixture(scope="module")
def draw_arena(one_session):
    with script("draw_arena") as loaded:
        loaded.plan_of_digits = built_once(loaded.plan_of_digits)
        yield loaded


@pytest.mark.slow
def test_the_arena_is_what_the_script_draws(draw_arena):
    drawn = draw_arena.drawings()
    assert set(drawn) == {"arena-light.svg", "arena-dark.svg"}
    for name, text in drawn.items():
        assert (IMAGES / name).read_text() == text


@pytest.mark.slow
def test_the_arena_shows_all_peaks(draw_arena):
    text = (IMAGES / "arena-light.svg").read_text()
    assert re.findall(r'class="peak-label".*?>(\d+)<', text) == ["1536", "1248", "928"]
    disjoint, overlapping, by_rows = (
        [
            (part.name, part.end - part.offset)
            for part in draw_arena.shared_parts(draw_arena.plan_of_digits(options))
        ]
        for _, options in draw_arena.PANELS
    )
    assert disjoint == []
    assert overlapping == [
        ("conv2d, conv2d1", 448),
        ("depthwise_conv2d, fused_conv2d2_add", 480),
        ("fused_conv2d2_add, conv2d3", 320),
        ("conv2d3, max_pool", 256),
        ("max_pool, mean", 64),
    ]
    assert by_rows == [
        ("conv2d1, fused_conv2d2_add", 176),
        ("fused_conv2d2_add, max_pool", 224),
        ("max_pool, mean", 64),
    ]


@pytest.mark.slow
def test_the_memory_map_says_what_the_script_draws():
    # Not to the byte, which Vega's next release may change.
    def texts(drawing: str) -> list[str]:
        return [element.text for element in ElementTree.fromstring(drawing).iter() if element.text]

    with script("draw_memory_map") as draw_memory_map:
        drawn = draw_memory_map.drawings()
    assert set(drawn) == {"memory-map-light.svg", "memory-map-dark.svg"}
    for name, text in drawn.items():
        assert texts((IMAGES / name).read_text()) == texts(text)
    assert "peak 928 bytes = lower bound" in texts(text)


def test_the_way_of_the_data_names_packages():
    drawing = ElementTree.fromstring((IMAGES / "way-of-the-data.svg").read_text())
    texts = [element.text for element in drawing.iter() if element.get("class") == "package"]
    packages = [name for text in texts for name in text.split()]
    assert packages == [
        *("frontend/", "relax/transform/", "aot/", "planning/", "transform/"),
        *("codegen/", "boards/", "runtime/", "boards/"),
    ]
    for package in packages:
        assert (ROOT / "python/usmp" / package / "__init__.py").exists()


def test_every_image_is_used():
    pages = (ROOT / "README.md").read_text() + (ROOT / "docs/how-it-works.md").read_text()
    for image in IMAGES.iterdir():
        assert f"images/{image.name}" in pages
