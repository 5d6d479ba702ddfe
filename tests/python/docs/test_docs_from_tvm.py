"""What docs/from-tvm-0.18.md says of now is so."""

from __future__ import annotations

import re
import runpy
import shlex
from functools import reduce

import pytest

import usmp
import usmp.analysis
import usmp.transform
from conftest import ROOT
from support.small_digits import small_convolutions
from usmp.driver.tvmc import main
from usmp.tvm018 import DISABLED_PASSES, SECTIONS

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("one_session")]

PAGE = (ROOT / "docs/from-tvm-0.18.md").read_text()
BY_HAND = re.sub(r"<!-- names: .*?<!-- end -->", "", PAGE, flags=re.DOTALL)
ROWS = re.findall(r"^\| (.*) \| (.*) \|$", BY_HAND, re.MULTILINE)
"""What TVM 0.18 had, and what there is now."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "examples/digits").mkdir(parents=True)
    (tmp_path / "examples/digits/digits_int8.tflite").write_bytes(small_convolutions())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_of(archive) -> tuple[str, dict[str, int]]:
    memory = usmp.load_archive(archive).module("digits").metadata["memory"]
    sizes = {pool["name"]: pool["size_bytes"] for pool in memory["pools"]}
    return memory["algorithm"], sizes


@pytest.mark.slow
def test_the_build_and_the_command_make_the_same_plan(folder):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict = {}
    exec(code, names)
    in_python = plan_of("digits.tar")
    (command,) = re.findall(r"^    tvmc (.*)", PAGE.replace("\\\n", " "), re.MULTILINE)
    assert main(shlex.split(command)) == 0
    assert plan_of("digits.tar") == in_python
    algorithm, sizes = in_python
    assert algorithm == "hill_climb"
    assert set(sizes) == {"dtcm", "sram", "global_const_workspace"}
    assert 0 < sizes["dtcm"] <= 600
    of_the_factory = re.findall(r"\bfactory\.(\w+)", PAGE)
    assert len(of_the_factory) > 9
    for name in of_the_factory:
        assert hasattr(names["factory"], name)


def test_every_name_of_now_exists():
    named = [name for _, now in ROWS for name in re.findall(r"`usmp\.([\w.]+)", now)]
    assert len(named) == 2
    for name in named:
        assert reduce(getattr, name.split("."), usmp) is not None


def test_the_tables_are_those_of_the_code():
    script = runpy.run_path(str(ROOT / "scripts/write_old_names.py"))
    assert script["with_tables"](PAGE) == PAGE, "run scripts/write_old_names.py"
    assert sorted(re.findall(r"<!-- names: (.*) -->", PAGE)) == sorted(SECTIONS)


def test_every_name_in_the_tables_exists():
    passes = {name for row in DISABLED_PASSES for name in row.to}
    reasons = [row.reason for rows in SECTIONS.values() for row in rows]
    named = {name for text in reasons for name in re.findall(r"(?<![\w.])usmp(?:\.\w+)+", text)}
    for name in named - passes:
        assert reduce(getattr, name.split(".")[1:], usmp) is not None
