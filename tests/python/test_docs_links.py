"""Links between the documents lead to files and headings that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

_TRACKED = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, check=True, text=True
)
DOCUMENTS = [name for name in _TRACKED.stdout.splitlines() if (ROOT / name).exists()]


def without_code(path: Path) -> str:
    return re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives the headings."""
    headings = re.findall(r"^#+ (.*)$", without_code(path), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    document = ROOT / name
    text = without_code(document)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="(.*?)"', text)
    for target in targets:
        if re.match(r"https?:|mailto:", target):
            continue
        path, mark, anchor = target.partition("#")
        found = (document.parent / path) if path else document
        assert found.exists(), target
        if mark and found.suffix == ".md":
            assert anchor in anchors(found), target


def test_the_documents_are_found():
    assert {"README.md", "docs/tutorial.md", "rfcs/0001-design.md"} <= set(DOCUMENTS)
