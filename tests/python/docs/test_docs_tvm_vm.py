"""What docs/tvm-vm.md shows works as it stands there, and describes all options."""

from __future__ import annotations

import inspect
import re

import pytest

import usmp
from conftest import ROOT

PAGE = (ROOT / "docs/tvm-vm.md").read_text()


def block(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return text


@pytest.mark.slow
def test_the_python_prints_what_stands_there(capsys):
    exec(compile(block("python"), "docs/tvm-vm.md", "exec"), {})
    assert capsys.readouterr().out == block("text")


def test_every_option_is_described():
    section = PAGE.split("\n## Options\n")[1].split("\n## ")[0]
    assert re.findall(r"^- `(\w+)`", section, re.MULTILINE) == list(
        inspect.signature(usmp.get_vm_pipeline).parameters
    )
