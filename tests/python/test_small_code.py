"""`tir.usmp.code`: the same results and plans, by fewer functions and less code."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support import public_models
from support.board_programs import require_board
from support.c_program import SANITIZERS, run_as_program
from support.compilers import require
from support.entry_models import entry_model
from support.levels import number
from usmp.boards.board import board_named
from usmp.boards.board_run import program_memory
from usmp.boards.emulator import EmulatedModule

pytestmark = pytest.mark.slow

MERGED = {
    "mlperf_ad01_int8": {"fully_connected1_shared": 2},
    "mlperf_kws_int8": {},
    "mlperf_strww_int8": {},
    "mlperf_resnet8_int8": {"conv2d3_shared": 2, "conv2d5_shared": 2},
    "mlperf_vww_96_int8": {
        "conv2d2_shared": 6,
        "conv2d7_shared": 4,
        "depthwise_conv2d1_shared": 3,
        "depthwise_conv2d6_shared": 5,
        "depthwise_conv2d_shared": 3,
    },
}
"""For a Cortex-M4: functions that are shared, and by how many."""


def build(path, code, target="c"):
    """With operators one after the other: what runs interleaved has code of its own."""
    return public_models.build(path, target, code=code, disabled_pass=("StreamOperators",))


def module_of(factory):
    return dict(factory.metadata["modules"]["default"])


@pytest.mark.parametrize("name", [*MERGED][: number(3, 5)])
def test_all_but_the_code_stays_as_it_is(shared_model, name):
    path, target = shared_model(name), "c -mcpu=cortex-m4"
    small, fast = (build(path, code, target) for code in ("small", "fast"))
    said = module_of(small)
    merged = said.pop("merged_functions")
    assert {shared: len(functions) for shared, functions in merged.items()} == MERGED[name]
    assert said.pop("shared_code") == "small"
    assert said == module_of(fast)
    assert small.header == fast.header
    if name == "mlperf_ad01_int8":
        again = public_models.build.__wrapped__(
            path, target, code="small", disabled_pass=("StreamOperators",)
        )
        assert again.source == small.source
    for shared, functions in merged.items():
        assert f"/* {', '.join(functions)} */\nstatic TVMGEN_NOINLINE void" in small.source
        for function in functions:
            call = rf"^static void tvmgen_default_{function}\([^)]*\) \{{\n  (\w+)\("
            (called,) = re.findall(call, small.source, re.MULTILINE)
            assert called == f"tvmgen_default_{shared}"
    assert small.source.count("#define TVMGEN_SMALL\n") == 1
    assert "TVMGEN_SMALL\n" not in fast.source


def test_by_default_what_rarely_runs_is_merged(shared_model):
    path, target = shared_model("mlperf_vww_96_int8"), "c -mcpu=cortex-m4"
    fast, balanced = build(path, "fast", target), build(path, "balanced", target)
    said = module_of(balanced)
    assert said.pop("merged_functions") == {
        "conv2d9_shared": ["conv2d9", "conv2d10", "conv2d11"],
        "depthwise_conv2d8_shared": [f"depthwise_conv2d{n}" for n in (8, 9, 10, 12)],
    }
    assert said.pop("shared_code") == "balanced"
    assert said == module_of(fast)
    assert (
        public_models.build(path, target, disabled_pass=("StreamOperators",)).source
        == balanced.source
    )
    assert "TVMGEN_SMALL\n" not in balanced.source


@pytest.mark.parametrize("name", ["mlperf_ad01_int8", "mlperf_kws_int8"])
def test_by_default_code_stays_fast_where_little_is_saved(shared_model, name):
    path, target = shared_model(name), "c -mcpu=cortex-m4"
    by_default = public_models.build(path, target, disabled_pass=("StreamOperators",))
    assert by_default.source == build(path, "fast", target).source


@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("mlperf_ad01_int8", "llvm"),
        ("mlperf_kws_int8", "c -mcpu=cortex-m4"),
        ("mlperf_ad01_int8", "c -mcpu=cortex-m55"),
        ("mlperf_strww_int8", "c"),
        ("mlperf_kws_int8", "c -mcpu=cortex-m55"),
    ][: number(3, 5)],
)
def test_results_are_those_of_fast_code(shared_model, name, target, tmp_path):
    require("gcc")
    path = shared_model(name)
    fast, small = build(path, "fast"), build(path, "small", target)
    bytes_in = sum(int(t.info.size_bytes) for t in fast.interface.inputs)
    data = np.random.default_rng(0).integers(0, 256, 2 * bytes_in, np.uint8).tobytes()
    flags = ["-Wno-cpp", *SANITIZERS] if target != "llvm" else ["-O1"]
    outputs = [
        run_as_program(factory, tmp_path / code, flags, data)
        for code, factory in (("fast", fast), ("small", small))
    ]
    assert outputs[0] == outputs[1]


def test_entries_share_functions_too():
    built = []
    for code in ("fast", "small"):
        with PassContext(config={"tir.usmp.code": code}, disabled_pass=["StreamOperators"]):
            built.append(usmp.build(entry_model()))
    fast, small = built
    said = module_of(small)
    said.pop("merged_functions")
    assert said.pop("shared_code") == "small"
    assert said == module_of(fast)


@pytest.mark.board
@pytest.mark.parametrize(
    ("board", "code_bytes", "more"),
    [("mps2-an386", 0.7, 1.37), ("mps3-an547", 1, 1.01), ("mps2-an385", 0.7, 1.25)][: number(2, 3)],
)
def test_code_and_instructions_on_boards(shared_model, board, code_bytes, more):
    require_board(board_named(board))
    model = usmp.import_model(shared_model("mlperf_ad01_int8"))
    taken = {}
    for code in ("fast", "small"):
        with PassContext(config={"tir.usmp.code": code}):
            factory = usmp.build(model, board=board)
        options = {"OPTIMIZATION": "-O2"}
        module = EmulatedModule(factory.files(), module_of(factory), factory.board, options)
        zeros = {
            str(t.info.name): np.zeros(tuple(map(int, t.info.shape)), str(t.info.dtype))
            for t in factory.interface.inputs
        }
        run = module.run([zeros])
        memory = program_memory(module.sections(), factory.board)
        outputs = [value.tobytes() for value in run.outputs[0].values()]
        taken[code] = (outputs, memory.code, run.instructions[0])
    fast, small = taken["fast"], taken["small"]
    assert small[0] == fast[0]
    assert small[1] <= code_bytes * fast[1]
    assert small[2] <= more * fast[2]
