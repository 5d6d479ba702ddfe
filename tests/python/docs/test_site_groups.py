"""The navigation of the site, and the tables of README.md and docs/index.md that agree with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join, normpath
from typing import Any

import pytest
import yaml

from conftest import ROOT

NAVIGATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
GROUPS = {name: group for entry in NAVIGATION for name, group in entry.items()}


def pages(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(part)


def test_every_page_is_in_one_group():
    listed = list(pages(NAVIGATION))
    documents = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    assert len(listed) == len(set(listed))
    assert set(documents) <= set(listed)
    # A group is small enough to be read at a glance.
    assert all(len(group) <= 7 for group in GROUPS.values())


@pytest.mark.parametrize("document", ["README.md", "docs/index.md"])
def test_the_tables_have_the_groups(document):
    table = (ROOT / document).read_text().split("| | pages |\n|---|---|\n")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| (.*?) \| (.*) \|$", table, re.MULTILINE))
    assert list(rows) == list(GROUPS)
    for group, cell in rows.items():
        links = [link.partition("#")[0] for link in re.findall(r"\]\((.*?)\)", cell)]
        paths = [normpath(join(document, "..", link)) for link in links]
        own = [path.removeprefix("docs/") for path in paths if path.startswith("docs/")]
        assert links and set(own) <= set(pages(GROUPS[group])), group
