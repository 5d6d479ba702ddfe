"""Operators that copy become copies of runs, which fill the output in its order."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import s_tir, te, tirx, topi
from tvm.ir import IRModule

from support.access_trace import trace
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators, ScheduleOperators
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.elements.copies import copy_kernel
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

M55 = CORES["cortex-m55"]
COPY, FILL = "tvmgen_copy", "tvmgen_fill"


def padded(before, after, value=0, dtype="int8"):
    data = te.placeholder((1, 3, 4, 5), dtype, "data")
    return [data], topi.nn.pad(data, before, after, tirx.const(value, dtype))


def joined(*widths):
    tensors = [te.placeholder((2, 3, width), "int8", "data") for width in widths]
    return tensors, topi.concatenate(tensors, 2)


def sliced(dtype, begin, end):
    data = te.placeholder((4, 5, 6), dtype, "data")
    return [data], topi.strided_slice(data, begin, end, [1, 1, 1])


def repeated():
    data = te.placeholder((1, 3, 2, 8), "int8", "data")
    return [data], te.compute((1, 6, 4, 8), lambda b, y, x, c: data[b, y // 2, x // 2, c])


def mirrored():
    data = te.placeholder((3, 4), "int16", "data")

    def element(y, x):
        return data[tirx.Select(y < 1, 1 - y, y - 1), x]

    return [data], te.compute((4, 4), element)


def permuted(*order):
    data = te.placeholder((2, 3, 4, 8), "int8", "data")
    return [data], topi.transpose(data, order)


CASES = {
    "padded rows": (
        padded((0, 1, 1, 0), (0, 0, 2, 0)),
        [(FILL, 35), *[(FILL, 5), (COPY, 20), (FILL, 10)]],
    ),
    "padded channels": (padded((0, 0, 0, 1), (0, 0, 0, 7), -7), [(FILL, 1), (COPY, 5), (FILL, 7)]),
    "floats": (padded((0, 1, 0, 0), (0, 0, 0, 0), 0, "float32"), [(FILL, 80), (COPY, 240)]),
    "joined": (joined(7, 4), [(COPY, 7), (COPY, 4)]),
    "three joined": (joined(3, 9, 8), [(COPY, 3), (COPY, 9), (COPY, 8)]),
    "rows": (sliced("int8", [1, 0, 0], [3, 5, 6]), [(COPY, 60)]),
    "columns": (sliced("int16", [1, 2, 0], [3, 5, 6]), [(COPY, 36)]),
    "parts of rows": (sliced("int32", [0, 2, 1], [4, 4, 3]), [(COPY, 8)]),
    "repeated": (repeated(), [(COPY, 8)]),
    "mirrored": (mirrored(), [(COPY, 8), (COPY, 24)]),
    "permuted": (permuted(0, 2, 1, 3), [(COPY, 8)]),
}
"""Operators, and the copies that are made of them: functions and bytes."""


def func_of(arguments, result):
    func = te.create_prim_func([*arguments, result]).with_attr("s_tir", True)
    return func.with_attr("global_symbol", "f")


def kernel_of(func, core=PORTABLE):
    return copy_kernel(OperatorCall(func, (None,) * (len(func.params) - 1)), core)


def copies(func):
    """The functions that copy, and the bytes of each copy."""
    calls = list(map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt)))
    return [
        (c.args[0].value, int(c.args[2 if c.args[0].value.endswith("fill") else 3])) for c in calls
    ]


def lowered(func):
    return LowerOperators()(ScheduleOperators()(IRModule({"f": func})))


def bytes_of(shape, dtype):
    return int(np.prod([int(e) for e in shape])) * tvm.DataType(str(dtype)).itemsize


def run(func):
    """The bytes that a PrimFunc makes of some data."""
    *inputs, output = func.params
    generator = np.random.default_rng(1)
    data = [Pointer(tuple(generator.bytes(bytes_of(x.shape, x.dtype)))) for x in inputs]
    result = [None] * bytes_of(output.shape, output.dtype)
    Interpreter(lowered(func), steps=200_000).call("f", [*data, Pointer(result)])
    return result


@pytest.mark.parametrize("name", CASES)
def test_runs_are_copied(name):
    (arguments, result), expected = CASES[name]
    func = func_of(arguments, result)
    kernel = kernel_of(func)
    assert kernel.arguments == tuple(range(len(arguments)))
    assert copies(kernel.func) == expected
    assert run(kernel.func) == run(func)


def test_the_schedule_says_how_many_elements_are_copied_at_once():
    assert SCHEDULE_ATTR.of(kernel_of(func_of(*CASES["rows"][0])).func).tile == "60 elements"


@pytest.mark.parametrize("name", CASES)
def test_the_output_may_lie_as_far_over_the_input_as_before(name):
    (arguments, result), _ = CASES[name]
    func = func_of(arguments, result)
    distances = []
    for variant in (func, kernel_of(func).func):
        mod = lowered(variant)
        *inputs, output = mod["f"].params
        sizes = [bytes_of(x.shape, x.dtype) for x in variant.params]
        traced = trace(mod, "f", [*(b"\1" * size for size in sizes[:-1]), sizes[-1]])
        distances.append([traced.distance(x, output) for x in inputs])
    assert distances[0] == distances[1]


def test_long_runs_are_copied_by_vectors():
    func = func_of(*sliced("int32", [1, 0, 0], [3, 5, 6]))
    assert copies(kernel_of(func, M55).func) == [("tvmgen_mve_copy", 240)]
    assert copies(kernel_of(func_of(*CASES["rows"][0]), M55).func) == [(COPY, 60)]
    rows = func_of(*padded((0, 4, 0, 0), (0, 0, 0, 0), 3))
    assert copies(kernel_of(rows, M55).func) == [("tvmgen_mve_fill", 80), (COPY, 60)]


def test_what_is_computed_is_not_copied():
    data = te.placeholder((4, 8), "int8", "data")
    for result in (topi.nn.relu(data), topi.add(data, data), topi.cast(data, "int32")):
        assert kernel_of(func_of([data], result)) is None
    assert kernel_of(func_of(*permuted(0, 3, 1, 2))) is None
    assert kernel_of(func_of(*padded((0, 1, 0, 0), (0, 0, 0, 0), 258, "int16"))) is None


def test_two_stages_are_not_copied():
    data = te.placeholder((4, 8), "int8", "data")
    twice = topi.concatenate([topi.nn.pad(data, (1, 0), (0, 0)), data], 0)
    func = func_of([data], twice)
    assert len(nodes_of(func.body, s_tir.SBlock)) == 3
    assert kernel_of(func) is None
