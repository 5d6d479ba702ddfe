"""benchmarks/kernels.py: what it reads, recorded figures and loops in assembly, and its tables."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from types import ModuleType

import pytest
from rich.table import Table

from conftest import ROOT
from support.board_programs import require_board
from support.small_digits import small_convolutions
from usmp.boards.board import board_named
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import OperatorProfile


def load(name: str) -> ModuleType:
    """A module of benchmarks/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"benchmarks/{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


cmsis_nn, inner_loops = load("cmsis_nn"), load("inner_loops")
load("random_inputs")
kernels = load("kernels")
MODELS = [f"mlperf_{name}_int8" for name in ("ad01", "kws", "resnet8", "strww", "vww_96")]


@dataclass(frozen=True)
class Operator:
    kinds: Sequence[str]
    macs: int | None


def test_layers_add_up_to_the_whole():
    for model, core in product(MODELS, ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m55"]):
        layers = cmsis_nn.layers_of(model, core)
        assert [layer.index for layer in layers] == list(range(len(layers))), (model, core)
        rest = cmsis_nn.total_of(model, core) - sum(layer.instructions for layer in layers)
        assert layers and 0 <= rest <= 20, (model, core)


def test_no_figures():
    assert cmsis_nn.layers_of("digits_int8", "cortex-m4") == ()
    assert cmsis_nn.layers_of("mlperf_kws_int8", "cortex-m33") == ()
    assert cmsis_nn.total_of("mlperf_kws_int8", "cortex-m33") == 0


def indices(operators, layers) -> list[list[int]]:
    return [[layer.index for layer in of_one] for of_one in cmsis_nn.matched(operators, layers)]


def test_fused_and_reordered_operators():
    """The shortcut of a block may run before or after its other convolutions."""
    layers = cmsis_nn.layers_of("mlperf_resnet8_int8", "cortex-m4")
    operators = [
        Operator(["conv2d 3x3"], 442368),
        Operator(["conv2d 3x3"], 2359296),
        Operator(["conv2d 3x3", "add"], 2359296),
        Operator(["conv2d 1x1 s2"], 131072),
        Operator(["conv2d 3x3 s2"], 1179648),
        Operator(["conv2d 3x3", "add"], 2359296),
        Operator(["reshape"], 0),
        Operator(["softmax"], 0),
    ]
    assert indices(operators, layers) == [[0], [1], [2, 3], [6], [4], [5, 7], [], [14]]
    matched = cmsis_nn.matched(operators, layers)
    assert [cmsis_nn.kind_of(of_one) for of_one in matched[:4]] == [
        "first conv",
        "conv kxk",
        "conv kxk + add",
        "conv 1x1",
    ]


def test_layers_in_another_order_are_known_by_their_work():
    layers = cmsis_nn.layers_of("mlperf_strww_int8", "cortex-m4")
    chosen = [layers[index] for index in (7, 1, 5, 3)]
    operators = [Operator(["conv2d 1x1"], layer.macs) for layer in chosen]
    assert indices(operators, layers) == [[7], [1], [5], [3]]


def test_layers_with_fewer_channels_are_known_by_their_order():
    layers = cmsis_nn.layers_of("mlperf_ad01_int8", "cortex-m4")
    operators = [Operator(["fully_connected"], layer.macs - 8) for layer in layers]
    assert indices(operators, layers) == [[index] for index in range(10)]


ASSEMBLY = """
\t.type\ttvmgen_default_conv2d, %function
tvmgen_default_conv2d.isra.0:
\tpush\t{r4, lr}
.L2:
\tmov\tr4, #0
.L3:
\t.loc 1 7 3
\tldrsb\tr3, [r1], #1
\tmla\tr0, r3, r2, r0
\tit\teq
\tmoveq\tr0, r1\t@ comment
\tbne\t.L3
\tsubs\tr5, #1
\tbne\t.L2
\tpop\t{r4, pc}
tvmgen_default_dense:
1: smlad r4, r5, r6, r4; smlabb r4, r5, r6, r4
   subs r0, #1
   bne 1b
.L9:
   vldrb.8 q0, [r0], #16
   vmladava.s8 r4, q0, q1
   le lr, .L9
   cbz r0, .L10
.L10:
   bx lr
"""


def test_loops_without_loops_in_them():
    functions = inner_loops.functions_of(ASSEMBLY)
    assert list(functions) == ["tvmgen_default_conv2d", "tvmgen_default_dense"]
    assert list(inner_loops.inner_loops(functions["tvmgen_default_conv2d"])) == [
        ["ldrsb\tr3, [r1], #1", "mla\tr0, r3, r2, r0", "moveq\tr0, r1\t@ comment"]
    ]
    assert list(inner_loops.inner_loops(functions["tvmgen_default_dense"])) == [
        ["smlad r4, r5, r6, r4", "smlabb r4, r5, r6, r4", "subs r0, #1"],
        ["vldrb.8 q0, [r0], #16", "vmladava.s8 r4, q0, q1"],
    ]


def test_functions_that_are_called():
    lines = ["f:", "\tbl\tfirst.isra.0", "\tbne\t.L3", "\tb.w\tsecond", "\tblx\tr3", "\tbl first"]
    assert inner_loops.calls_of(lines) == ["first", "second"]


MACS = {
    "mla r0, r1, r2, r3": 1,
    "smlatt r0, r1, r2, r3": 1,
    "smlad r0, r1, r2, r3": 2,
    "smladx\tr0, r1, r2, r3": 2,
    "smlald r0, r1, r2, r3": 2,
    "vmladava.s8 r0, q1, q2": 16,
    "vmlava.s16 r0, q1, q2": 8,
    "vmlaldava.s32 r0, r1, q1, q2": 4,
    "vmullb.s8 q0, q1, q2": 8,
    "vmla.s16 q0, q1, r2": 8,
    "vfma.f32\tq0, q1, r2": 4,
    "vfma.f32\ts0, s1, s2": 1,
    "smull r0, r1, r2, r3": 0,
    "smmulr r0, r1, r2": 0,
    "mls r0, r1, r2, r3": 0,
    "ldr r0, [r1]": 0,
}


def test_multiply_accumulates_of_an_instruction():
    assert {text: inner_loops.macs_of([text]) for text in MACS} == MACS


def test_cores_without_a_model():
    assert inner_loops.why_not("cortex-m3") == "llvm-mca has no model of the pipeline of cortex-m3"
    assert inner_loops.why_not("") == "llvm-mca has no model of the pipeline of this RISC-V"


def test_where_llvm_mca_is_not_installed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert inner_loops.why_not("cortex-m4") == "llvm-mca is not installed"


AN386, AN505 = board_named("mps2-an386"), board_named("mps2-an505")
LAYERS = cmsis_nn.layers_of("mlperf_strww_int8", "cortex-m4")[-2:]


def measured(model, board, instructions, theirs):
    """Of a model with the last two layers of the other one, one half of them as good."""
    operators = [
        OperatorProfile(i, "default", (f"f{i}",), (kind,), (), (), macs, layer.instructions / 2)
        for i, (kind, macs, layer) in enumerate(
            zip(("fully_connected", "softmax"), (96, 0), LAYERS, strict=True)
        )
    ]
    layers = [[layer] for layer in LAYERS] if theirs else [[], []]
    cycles = {"tvmgen_default_f0": 1.5}
    return kernels.Measured(model, board, instructions, operators, layers, theirs, cycles)


def cells(table: Table) -> list[list[str]]:
    return [list(row) for row in zip(*(column.cells for column in table.columns), strict=True)]


RESULTS = [
    measured("first", AN386, 50, 100),
    measured("first", AN505, 7, 0),
    measured("second", AN386, 800, 100),
    measured("second", AN505, 8, 0),
]


def test_the_table_of_models():
    table = kernels.model_table(RESULTS)
    headings = [str(column.header) for column in table.columns]
    assert headings == ["model", "cortex-m4", "/ CMSIS-NN", "cortex-m33", "/ CMSIS-NN"]
    assert cells(table) == [
        ["first", "50", "0.50", "7", ""],
        ["second", "800", "8.00", "8", ""],
        ["geometric mean", "", "2.00", "", ""],
    ]


def test_the_table_of_kinds():
    table = kernels.kind_table(RESULTS)
    assert [str(column.header) for column in table.columns] == ["kind", "cortex-m4"]
    assert cells(table) == [["fully connected", "0.50"], ["softmax", "0.50"]]


def test_the_table_of_operators():
    assert cells(kernels.operator_table(RESULTS[0])) == [
        ["8", "fully connected", "32->3", "96", "268", "2.80", "537", "5.59", "0.50", "1.50"],
        ["9", "softmax", "3", "", "619", "", "1238", "", "0.50", ""],
        ["", "whole model", "", "96", "50", "0.52", "100", "", "0.50", ""],
    ]
    (first, *_) = cells(kernels.operator_table(RESULTS[1]))
    assert first == ["", "fully_connected", "", "96", "268", "2.80", "", "", "", "1.50"]


@pytest.mark.slow
@pytest.mark.board
def test_a_model_on_a_board():
    """What operators take is what the whole model takes, but for what GCC inlines."""
    require_board(AN386)
    model = import_tflite(small_convolutions())
    result = kernels.measured("convolutions", model, AN386, "c", False)
    together = sum(operator.cost for operator in result.operators)
    assert together == pytest.approx(result.instructions, rel=0.1)
    assert (result.layers, result.cmsis_nn) == ([[]] * len(result.operators), 0)
