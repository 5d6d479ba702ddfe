"""The site of the documents builds without a warning and has every public name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

from conftest import ROOT
from support.browser import started_browser

pytest.importorskip("mkdocs", reason="make docs installs MkDocs")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site; strict, so that a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_document_is_a_page(site):
    documents = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    rfcs = {path.relative_to(ROOT) for path in ROOT.glob("rfcs/*.md")}
    assert len(rfcs) >= 11
    for path in documents | rfcs:
        assert (site / path.with_suffix(".html")).exists(), path
    for name in ("changelog", "contributing", "security", "solver-sources", "examples/index"):
        assert (site / f"{name}.html").exists(), name


def test_links_lead_to_pages_of_the_site(site):
    for page in site.rglob("*.html"):
        for link in re.findall(r'href="([^"#:]+\.md)[#"]', page.read_text()):
            pytest.fail(f"{page.relative_to(site)} links to {link}")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 1920])
def test_tables_and_samples_of_100_columns_fit_the_screen(site, width):
    cut = """() => [...document.querySelectorAll(".md-typeset__scrollwrap, pre > code")]
      .filter((part) => part.scrollWidth > part.clientWidth + 1)
      .filter((part) => part.tagName !== "CODE"
        || part.textContent.split("\\n").every((line) => line.length <= 100))
      .map((part) => part.textContent)"""
    with started_browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        for name in ("benchmarks", "tvmc", "explore", "reference/usmp"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate(cut) == [], name


REFERENCE = sorted((ROOT / "docs/reference").glob("*.md"))


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_every_public_name_is_in_the_reference(site, page):
    (package,) = re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)
    module = import_module(package)
    modules = {found.name for found in iter_modules(module.__path__)}
    text = (site / "reference" / f"{page.stem}.html").read_text()
    named = set(re.findall(rf'<h2 id="{re.escape(package)}\.(\w+)"', text))
    # The parser takes a name that is both for the module.
    assert set(module.__all__) - modules <= named
    assert named <= set(module.__all__)
