"""docs/model-library-format.md: every key of metadata.json is explained, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tvm.ir import Call, GlobalVar, IRModule
from tvm.ir.transform import PassContext
from tvm_ffi import structural_map

import usmp
from conftest import ROOT
from support.accelerator_models import CONV2D, registered
from support.dynamic_programs import Net, built
from support.entry_models import entry_model
from support.library_files import library_files
from support.planner_views import WithScratch, plan, with_io
from support.python_here import run_python
from support.small_digits import small_convolutions, small_digits
from support.state_models import streaming_model
from support.symbolic_models import build_symbolic
from support.updated_models import updating_model
from usmp import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.codegen.interface.module_interface import interface_of
from usmp.codegen.metadata import metadata
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects.attributes.compared import Alternative, Compared, with_compared
from usmp.objects.attributes.module_attributes import (
    FLOAT_OPERATORS_ATTR,
    NOT_COMPARED_ATTR,
    PRUNED_CHANNELS_ATTR,
)
from usmp.passes import with_prim_funcs
from usmp.reference_build import ReferenceBuild, with_reference
from usmp.tir.model_operator import ModelOperator, model_operator
from usmp.tir.spans import with_span

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("digits_session"), pytest.mark.slow]

PAGE = (ROOT / "docs/model-library-format.md").read_text()
BY_NAME = {
    "modules": "<module>",
    "inputs": "<tensor>",
    "outputs": "<tensor>",
    "workspace_pools": "<pool>",
    "constant_pools": "<pool>",
    "float_operators": "<operator>",
    "overlaps": "<buffer>",
    "states": "<state>",
    "sizes": "<size>",
    "peak_bytes": "<pool>",
    "live_bytes": "<pool>",
    "attributes": "<attribute>",
    "estimated_access_cycles_by_pool": "<pool>",
}
"""What stands in the place of names."""


PRUNED = {
    "channels": 1,
    "weights_size_bytes_before": 9,
    "weights_size_bytes": 6,
    "macs_before": 18,
    "macs": 12,
}
CHAIN = {"operators": ["conv2d", "add"], "strips": 2, "macs_before": 18, "macs": 20}
STRIPPED = {"peak_bytes": 5, "macs_before": 18, "macs": 20, "chains": [CHAIN]}
STRIPS = {
    "max_extra_macs": 20.0,
    **STRIPPED,
    "unsplit_peak_bytes": 7,
    "choices": [STRIPPED],
}


def documented() -> set[str]:
    """The keys of the tables, with what the heading says they belong to."""
    keys = set()
    for section in PAGE.split("## metadata.json")[1].split("\n### ")[1:]:
        heading, rows = section.split("\n", 1)
        owner = re.findall(r"`(.*)`", heading)
        for cell in re.findall(r"^\| (`[^|]*)\|", rows, re.MULTILINE):
            for key in re.findall(r"`([^`]+)`", cell):
                path = ".".join([*owner, key])
                assert path not in keys, f"{path} is explained twice"
                keys.add(path)
    return keys


def name_in(path: str, key: str) -> str:
    """The key, or what stands in the place of names."""
    if path.endswith(".state_layout.pools"):
        return "<pool>"
    return BY_NAME.get(path.rpartition(".")[2], key)


def found_in(value: object, path: str) -> Iterator[str]:
    """The path of every key; names become `<...>`, indices `[]`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            named = name_in(path, key)
            step = f"{path}.{named}" if path else named
            yield step
            yield from found_in(inner, step)
    elif isinstance(value, list):
        for inner in value:
            yield from found_in(inner, f"{path}[]")


def written(folder: Path) -> Iterator[dict]:
    """Metadata of models that together have every key."""
    digits, path = import_tflite(small_convolutions()), folder / "model.tflite"
    path.write_bytes(small_convolutions())
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        yield usmp.build(path).metadata
    # Operators that run interleaved have no choice of tiles.
    with PassContext(disabled_pass=["StreamOperators"]):
        yield usmp.build(digits).metadata
    with PassContext(config={"tir.usmp.debug": ["profile"], "tir.usmp.code": "small"}):
        yield usmp.build(digits).metadata
    small = import_tflite(small_digits())
    yield usmp.build(small, compare_workspace_io=True).metadata
    with PassContext(config={"tir.usmp.stream_inputs": "image"}):
        yield usmp.build(digits).metadata
    with PassContext(config={"tir.usmp.stream_inputs": "image:hop=2", "tir.usmp.code": "fast"}):
        yield usmp.build(digits).metadata
    yield usmp.build(small, board="mps2-an385", reference=True).metadata
    place = {"alignment": 32, "pool_offset": 3, "address": 0x2000_0000}
    timed = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(read_latency_cycles=4, **place))
    yield usmp.build(small, workspace_memory_pools=WorkspaceMemoryPools([timed])).metadata
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        ccm = WorkspacePoolInfo("ccm", ["c"], PoolInfoProperties(io="no"))
        pools = WorkspaceMemoryPools([ccm, WorkspacePoolInfo("sram", ["c"])])
        yield usmp.build(small, workspace_memory_pools=pools, io_memory_pool="sram").metadata
    yield usmp.build(streaming_model()).metadata
    yield usmp.build(updating_model()).metadata
    yield build_symbolic().metadata
    with registered(CONV2D):
        yield usmp.build(digits, "accel,c").metadata
    unavailable = ReferenceBuild({"unavailable": "it cannot be built"})
    yield with_reference(usmp.build(small), unavailable).metadata
    yield built(Net).metadata
    yield usmp.build(entry_model(), concurrent=[("tell", "plain")]).metadata
    scratch = plan(with_io(WithScratch)).with_attr(FLOAT_OPERATORS_ATTR.name, {"cos": 1})
    live = {"importer_live_bytes": 3, "live_bytes": 2, "least_live_bytes": 1}
    sizes = {"channels_first_peak_bytes": 2, "channels_last_peak_bytes": 1}
    others = (Alternative("a", "larger", 9), Alternative("b", "bound", None, 8))
    lines = [
        Compared("order", "as imported", 1, others, entry="one", details=live),
        Compared("strips", "none", details=STRIPS),
        Compared("layout", "NHWC", details={"layout": "NHWC", **sizes}),
    ]
    scratch = with_compared(scratch, lines).with_attr(PRUNED_CHANNELS_ATTR.name, PRUNED)
    scratch = scratch.with_attr(NOT_COMPARED_ATTR.name, ["order"])
    scratch = with_origin(scratch, model_operator(0, "Cos", ["x"], [], "cos", graph=1))
    yield metadata(scratch, interface_of(scratch, "net"))


def with_origin(mod: IRModule, operator: ModelOperator) -> IRModule:
    """The module, in which every call of a PrimFunc is for an operator of a model file."""

    def on_call(call: Call) -> Call:
        is_operator = isinstance(call.op, GlobalVar)
        return with_span(call, operator.as_span()) if is_operator else call

    return with_prim_funcs(
        mod, lambda func: func.with_body(structural_map(func.body, (Call, on_call)))
    )


def test_every_key_is_explained(tmp_path):
    found = {path for content in written(tmp_path) for path in found_in(content, "")}
    found = {path.replace("].outputs.<tensor>.", "].inputs.<tensor>.") for path in found}
    explained = documented()
    prefixes = {key[: match.start()] for key in explained for match in re.finditer(r"\.|\[\]", key)}
    assert sorted(found - explained - prefixes) == [], "not in docs/model-library-format.md"
    assert sorted(explained - found) == [], "in docs/model-library-format.md only"


def test_the_examples_run(tmp_path):
    """One after the other, as a reader types them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = "".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    lines = run_python(text, tmp_path).splitlines()
    assert lines[0] == "left image [1, 8, 8, 1] int8 0.003921568859368563 -128"
    assert lines[1].startswith("left probabilities [1, 10] int8 0.00390625 -128")
    assert "right global_workspace 928 bytes, aligned to 16" in lines
    assert any(line.startswith("Memory of digits_int8, module left (") for line in lines)
    extracted = tmp_path / "firmware/model"
    written = {str(p.relative_to(extracted)) for p in extracted.rglob("*") if p.is_file()}
    assert written == set(usmp.load_archive(tmp_path / "models.tar").files)
    assert len(written) == 7 + len(library_files("left", "right"))
    for path in written:
        assert f"`{re.sub('left|right', '<module>', path).replace('lib0', 'lib<N>')}`" in PAGE
