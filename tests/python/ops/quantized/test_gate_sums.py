"""The products of the gates of an LSTM are those of rows, by an intrinsic where data is int8."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators
from usmp.ops.dot_products import Run
from usmp.ops.quantized.gate_sums import GateSums, add_products, begin_sums
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.tensor_intrin import intrinsic_call


@pytest.mark.parametrize(
    ("dtype", "units", "intrinsic"),
    [("int8", 4, "tvmgen_dot_1x4"), ("int8", 1, "tvmgen_dot_1x1"), ("int16", 1, None)],
)
def test_sums_of_two_gates(dtype, units, intrinsic):
    generator = np.random.default_rng(3)
    data = generator.integers(-100, 100, 7).astype(dtype)
    weights = [generator.integers(-128, 128, (6, 7)).astype("int8") for _ in range(2)]
    x = tirx.decl_buffer((7,), dtype, "x")
    w = [tirx.decl_buffer((6, 7), "int8", f"w{gate}") for gate in range(2)]
    y = tirx.decl_buffer((2, units), "int32", "y")
    sums = GateSums.of(("a", "b"), "int32", units).of_data
    first = tirx.IntImm("int32", 1)
    statements = [
        *begin_sums(sums, lambda gate, n: tirx.IntImm("int32", 10 * gate + n)),
        *add_products(sums, Run(x, (tirx.IntImm("int32", 0),), 0), -5, w, first),
        *(tirx.BufferStore(y, sums[g][n], [g, n]) for g in range(2) for n in range(units)),
    ]
    func = tirx.PrimFunc([x, *w, y], sequence(statements)).with_attr("global_symbol", "f")
    calls = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    assert [call.args[0].value for call in calls] == [intrinsic] * 2 * (intrinsic is not None)
    result = [0] * (8 * units)
    interpreter = Interpreter(LowerOperators()(IRModule({"f": func})), steps=10_000)
    given = [Pointer(tuple(array.tobytes())) for array in (data, *weights)]
    interpreter.call("f", [*given, Pointer(result)])
    expected = [
        [
            10 * g + n + int(weights[g][1 + n].astype(int) @ (data.astype(int) + 5))
            for n in range(units)
        ]
        for g in range(2)
    ]
    assert np.frombuffer(bytes(result), np.int32).reshape(2, units).tolist() == expected
