"""The functions of docs/names.md exist."""

import importlib
import re

from conftest import ROOT


def test_every_function_exists():
    page = (ROOT / "docs/names.md").read_text()
    rows = [row.split("|")[2] for row in re.findall(r"^\| (?!-).*\|$", page, re.MULTILINE)[1:]]
    cells = [re.findall(r"`([\w.]+)`", row) for row in rows]
    assert len(cells) == 10
    for first, *more in cells:
        module, _, name = first.rpartition(".")
        if first == "json.dumps":
            continue
        try:
            holder = importlib.import_module(f"usmp.{first}")
        except ImportError:
            holder = importlib.import_module(f"usmp.{module}")
            assert hasattr(holder, name)
        assert all(hasattr(holder, other) for other in more)
