"""Passes read and write the attributes that they declare; none is read that nobody writes."""

from __future__ import annotations

import ast
import re
import runpy
import shlex

import pytest

import usmp
from conftest import ROOT
from support.attribute_uses import observe
from support.entry_models import entry_model
from support.onnx_models import residual_cnn
from support.planner_contexts import planner_context
from usmp.driver.opt import opt
from usmp.objects.attributes.attribute import AttributeAccess
from usmp.outside_passes import BUILD, FRONTENDS, OUTPUT, USER

SCRIPT = runpy.run_path(str(ROOT / "scripts/write_attributes.py"))
ACCESSES = SCRIPT["accesses"]()
ATTRIBUTES = SCRIPT["all_attributes"]()
OUTSIDE = AttributeAccess("", uses=(USER, FRONTENDS, BUILD, OUTPUT))
"""What is no pass: importers, arguments of builds, what is made of the planned module."""

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
RUN = re.compile(r"^# RUN: (?:not )?usmp-opt (.*) \| filecheck %s$", re.MULTILINE)
DEFINITIONS = re.compile(r"objects/(attribute|attributes|annotations)\.py$")


def undeclared(uses) -> set[str]:
    """Return what ran and did something that it does not declare, in words."""
    found = set()
    for kind in ("reads", "writes"):
        for name, attributes in getattr(uses, kind).items():
            access = ACCESSES[name] if name else OUTSIDE
            declared = {a for each in SCRIPT["reached"](access) for a in getattr(each, kind)}
            found |= {f"{name} {kind} {a}" for a in attributes - declared}
    return found


BUILDS = {
    "board": lambda _: usmp.build(DIGITS, board="mps3-an547").files(),
    "streamed": lambda _: built(DIGITS, stream_inputs="image", debug="profile"),
    "small": lambda _: built(DIGITS, io_type="int8", code="small", debug="poison_dead_bytes"),
    "onnx": lambda folder: built(onnx_file(folder), max_extra_macs=50, use_workspace_io=True),
    "entries": lambda _: built(entry_model()),
}


def built(model, io_type: str = "float", **options):
    """Build a model with pass options, up to the files."""
    with planner_context(options):
        return usmp.build(model, io_type=io_type).files()


def onnx_file(folder):
    path = folder / "residual.onnx"
    path.write_bytes(residual_cnn())
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_builds_do_what_their_passes_declare(name, monkeypatch, tmp_path):
    uses = observe(monkeypatch)
    BUILDS[name](tmp_path)
    assert len(uses.reads) > 10
    assert undeclared(uses) == set()


@pytest.mark.slow
def test_passes_do_what_they_declare(monkeypatch, capfd):
    uses = observe(monkeypatch)
    for path in sorted((ROOT / "tests/filecheck").glob("*.py")):
        ((text),) = RUN.findall(path.read_text())
        opt.main([word.replace("%s", str(path)) for word in shlex.split(text) if word != "2>&1"])
    assert len(uses.reads) > 30
    assert undeclared(uses) == set()


def test_what_is_read_is_written():
    read, written = (
        {a for i in ACCESSES.values() for a in getattr(i, kind)} for kind in ("reads", "writes")
    )
    assert {str(a) for a in written ^ set(ATTRIBUTES)} == set()
    assert {str(a) for a in read ^ set(ATTRIBUTES)} == set()


def test_names_are_unique():
    assert len({a.name for a in ATTRIBUTES}) == len(ATTRIBUTES)


def test_the_table():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert page == SCRIPT["with_table"](page)
    assert all(f"\n| `{attribute}` |" in page for attribute in ATTRIBUTES)


def names_in_the_open(path) -> list[str]:
    """Return the lines in which a file takes an attribute by its name, around reader and writer."""
    tree = ast.parse(path.read_text())
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "name"
        and isinstance(node.value, ast.Name)
        and node.value.id.endswith("_ATTR")
    ]


def test_attributes_are_read_and_written_by_their_objects():
    found = [
        line
        for path in sorted((ROOT / "python/usmp").rglob("*.py"))
        for line in names_in_the_open(path)
    ]
    assert {line.rpartition(":")[0] for line in found} == {
        # The public name is a string.
        "python/usmp/objects/attributes/annotations.py",
        # Keys of functions that may be fused.
        "python/usmp/relax/transform/fusion/fuse_window_slices.py",
        # Attributes had other names once.
        "python/usmp/relax/transform/qdq/io_quantization.py",
    }
