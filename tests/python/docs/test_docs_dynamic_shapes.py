"""What docs/dynamic-shapes.md shows works as it stands there."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

pytestmark = pytest.mark.cc

PAGE = (ROOT / "docs/dynamic-shapes.md").read_text()


def block(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return text


@pytest.mark.slow
def test_the_python_prints_what_stands_there(capsys):
    exec(compile(block("python"), "docs/dynamic-shapes.md", "exec"), {})
    assert capsys.readouterr().out == block("text")
