"""Products of matrices by kernels compute what they do without."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from ops.kernels.sums.test_pooling import RescalingInterpreter
from support.kernel_models import check_functions_and_loops, check_outputs, check_schedule
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators, ScheduleOperators
from usmp.objects.schedule import faster_schedules
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.products.matmul import matmul_kernel
from usmp.ops.quantized.matmul import batch_matmul
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

M4 = CORES["cortex-m4"]
FIRST, SECOND = Quantization("int8", (0.05,), (-3,)), Quantization("int8", (0.04,), (7,))
WITHOUT_ZERO_POINT = Quantization("int8", (0.04,), (0,))
AFTER = Quantization("int8", (0.9,), (5,))


def operator(left, right, transposed, second=SECOND, dtype="int8"):
    """The PrimFunc of a product."""
    builder = relax.BlockBuilder()
    x, y = (
        relax.Var(name, relax.TensorType(shape, dtype))
        for name, shape in (("x", left), ("y", right))
    )
    with builder.function("main", [x, y]):
        builder.emit_func_output(batch_matmul(builder, x, y, (FIRST, second, AFTER), transposed))
    (func,) = (f for f in builder.get().functions.values() if isinstance(f, tirx.PrimFunc))
    return func.with_attr("global_symbol", "f")


def run(func, arguments):
    """What a PrimFunc computes."""
    mod = LowerOperators()(ScheduleOperators()(IRModule({"f": func})))
    result = [0] * int(np.prod(func.params[-1].shape))
    interpreter = RescalingInterpreter(mod, steps=1_000_000)
    interpreter.call("f", [*(Pointer(tuple(a.tobytes())) for a in arguments), Pointer(result)])
    return np.frombuffer(bytes(value & 255 for value in result), np.int8)


def symbols(func):
    """The tensor intrinsics."""
    return {intrinsic_call(s).args[0].value for s in nodes_of(func.body, tirx.AttrStmt)}


CASES = {
    "columns": ((2, 3, 4), (2, 4, 5), (False, False), SECOND, {1, 4}),
    "one batch": ((2, 3, 4), (1, 4, 5), (False, False), SECOND, {1, 4}),
    "matrices": ((3, 7), (7, 4), (False, False), WITHOUT_ZERO_POINT, {4}),
    "four axes": ((2, 2, 3, 5), (2, 2, 5, 2), (False, False), SECOND, {1}),
    "transposed": ((2, 3, 4), (2, 5, 4), (False, True), SECOND, {"1x1", "1x2", "2x1", "2x2"}),
    "transposed, even": ((4, 9), (6, 9), (False, True), WITHOUT_ZERO_POINT, {"2x2"}),
}


@pytest.mark.parametrize("name", CASES)
def test_products_are_those_of_the_operator(name):
    left, right, transposed, second, tiles = CASES[name]
    func = operator(left, right, transposed, second)
    kernel = matmul_kernel(OperatorCall(func, (None, None)), M4)
    assert kernel.arguments == (0, 1)
    generator = np.random.default_rng(len(name))
    data = [generator.integers(-128, 128, shape, np.int8) for shape in (left, right)]
    fastest = [kernel.func, *faster_schedules(kernel.func)]
    for found in fastest:
        np.testing.assert_array_equal(run(found, data), run(func, data))
    names = {f"tvmgen_{'dot' if transposed[1] else 'columns'}_{tile}" for tile in tiles}
    if second is SECOND:
        assert {s for s in symbols(fastest[-1]) if "sum" in s} != set()
    assert {s for s in symbols(fastest[-1]) if "sum" not in s} == names


def test_a_constant_is_transposed_at_compile_time():
    func = operator((2, 3, 4), (2, 4, 5), (False, False))
    generator = np.random.default_rng(0)
    left, right = (generator.integers(-128, 128, s, np.int8) for s in ((2, 3, 4), (2, 4, 5)))
    kernel = matmul_kernel(OperatorCall(func, (None, right)), M4)
    first, turned = kernel.arguments
    assert first == 0
    np.testing.assert_array_equal(turned, right.transpose(0, 2, 1))
    np.testing.assert_array_equal(run(kernel.func, (left, turned)), run(func, (left, right)))


def test_what_has_no_kernel():
    for left, right, transposed in (
        ((2, 4, 3), (2, 4, 5), (True, False)),
        ((1, 33000), (33000, 1), (False, False)),
    ):
        call = OperatorCall(operator(left, right, transposed), (None, None))
        assert matmul_kernel(call, M4) is None


MODELS = [
    ("batch_matmul_plain", "cortex-m4", "1 row x 4 columns"),
    ("batch_matmul_adjoint_second", "cortex-m3", "columns"),
    ("batch_matmul_broadcast", "cortex-m55", "1 row x 4 columns"),
    ("batch_matmul_four_axes", "cortex-m3", "1 row x 4 columns"),
    ("batch_matmul_constant", "cortex-m55", "columns"),
]


@pytest.mark.slow
@pytest.mark.models
def test_functions_and_loops():
    check_functions_and_loops((name, core) for name, core, _ in MODELS)


@pytest.mark.models
@pytest.mark.parametrize(("name", "core", "schedule"), MODELS)
def test_schedules(name, core, schedule):
    check_schedule(name, core, schedule)


@pytest.mark.models
@pytest.mark.parametrize("name", ["batch_matmul_plain", "batch_matmul_constant"])
def test_outputs(name):
    check_outputs(name, "cortex-m55")
