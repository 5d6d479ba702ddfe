"""Links between the documents lead to files and headings that exist."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from conftest import ROOT


def documents() -> list[str]:
    """List the tracked documents."""
    command = ["git", "ls-files", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def without_code(path: Path) -> str:
    return re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives the headings."""
    headings = re.findall(r"^#+ (.*)$", without_code(path), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


def targets_of(document: Path) -> list[str]:
    """List where the links of a document lead, but for other sites."""
    text = without_code(document)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="(.*?)"', text)
    return [target for target in targets if not re.match(r"https?:|mailto:", target)]


def leads_somewhere(document: Path, target: str) -> bool:
    path, mark, anchor = target.partition("#")
    found = (document.parent / path) if path else document
    is_checked = mark and found.suffix == ".md"
    return found.exists() and (not is_checked or anchor in anchors(found))


def test_links_lead_somewhere():
    names = documents()
    assert {"README.md", "docs/tutorial.md", "rfcs/0001-design.md"} <= set(names)
    links = [(name, target) for name in names for target in targets_of(ROOT / name)]
    assert len(links) > 300
    assert [link for link in links if not leads_somewhere(ROOT / link[0], link[1])] == []


def test_links_that_lead_nowhere():
    readme = ROOT / "README.md"
    assert not leads_somewhere(readme, "docs/none.md")
    assert not leads_somewhere(readme, "docs/tutorial.md#none")
    assert not leads_somewhere(readme, "#none")
