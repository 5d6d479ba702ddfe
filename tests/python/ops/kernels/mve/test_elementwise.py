"""Sums and products that stand alone: how many elements a call computes."""

from __future__ import annotations

import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.objects.cores import CORES
from usmp.ops.kernels.mve.elementwise import mve_elementwise_kernel
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.ops.quantized.arithmetic import add, multiply_elements, subtract
from usmp.ops.quantized.parameters import Quantization
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

FIRST, SECOND, OUTPUT = (
    Quantization("int8", (s,), (z,)) for s, z in ((0.5, -3), (0.7, 4), (40, 5))
)


def kernel_of(operator, first, second, core="cortex-m55"):
    builder = relax.BlockBuilder()
    variables = [
        relax.Var(n, relax.TensorType(s, "int8")) for n, s in (("a", first), ("b", second))
    ]
    with builder.function("main", variables):
        quantizations = (FIRST, SECOND, OUTPUT)
        result = operator(builder, *variables, quantizations, OUTPUT.limits())
        builder.emit_func_output(result)
    mod: IRModule = builder.get()
    (func,) = (f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc))
    return mve_elementwise_kernel(OperatorCall(func, (None, None)), CORES[core])


def call_of(kernel):
    (call,) = map(intrinsic_call, nodes_of(kernel.func.body, tirx.AttrStmt))
    return call.args[0].value, int(call.args[4])


@pytest.mark.parametrize(
    ("second", "elements"), [((2, 3, 20), 120), ((20,), 20), ((1, 3, 20), 60), ((3, 20), 60)]
)
def test_elements_of_a_call(second, elements):
    assert call_of(kernel_of(add, (2, 3, 20), second)) == ("tvmgen_mve_add", elements)
    assert call_of(kernel_of(multiply_elements, (2, 3, 20), second)) == (
        "tvmgen_mve_multiply",
        elements,
    )


def test_others_stay():
    assert kernel_of(add, (2, 3, 20), (2, 3, 20), "cortex-m7") is None
    assert kernel_of(add, (2, 3, 20), (2, 3, 1)) is None
    assert kernel_of(add, (2, 3, 5), (2, 1, 5)) is None
    assert kernel_of(subtract, (2, 3, 20), (2, 3, 20)) is None
