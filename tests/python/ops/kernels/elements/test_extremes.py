"""Greater and lesser elements have a kernel if enough of them follow each other, and the same
bytes."""

from __future__ import annotations

import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from support.kernel_models import check_functions_and_loops, check_outputs, check_schedule
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.elements.extremes import extremes_kernel
from usmp.ops.quantized.arithmetic import maximum, minimum
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

QUANTIZATIONS = {name: Quantization(name, (0.5,), (0,)) for name in ("int8", "int16")}


def kernel_of(operator, first, second, dtype="int8"):
    builder = relax.BlockBuilder()
    variables = [relax.Var(n, relax.TensorType(s, dtype)) for n, s in (("a", first), ("b", second))]
    with builder.function("main", variables):
        builder.emit_func_output(operator(builder, *variables, QUANTIZATIONS[dtype]))
    mod: IRModule = builder.get()
    (func,) = (f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc))
    return extremes_kernel(OperatorCall(func, (None, None)), CORES["cortex-m4"])


@pytest.mark.parametrize(("operator", "least"), [(maximum, 0), (minimum, 1)])
@pytest.mark.parametrize(
    ("second", "elements"), [((4, 3, 10), [120]), ((10,), [10]), ((4, 3, 1), [10, 10])]
)
def test_elements_of_a_call(operator, least, second, elements):
    func = kernel_of(operator, (4, 3, 10), second).func
    *fills, call = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    assert call.args[0].value == "tvmgen_extremes"
    assert [int(fill.args[2]) for fill in fills] + [int(call.args[4])] == elements
    assert int(call.args[5]) == least


def test_others_stay():
    assert kernel_of(maximum, (4, 3, 7), (4, 1, 7)) is None
    assert kernel_of(maximum, (4, 3, 10), (4, 3, 10), "int16") is None


CASES = [
    (name, core)
    for name in ("maximum_same_shape", "minimum_broadcast_one_number")
    for core in ("cortex-m3", "cortex-m4")
]


@pytest.mark.models
def test_functions_and_loops():
    check_functions_and_loops(CASES)


@pytest.mark.models
@pytest.mark.parametrize(("name", "core"), CASES)
def test_models_have_the_kernel(name, core):
    check_schedule(name, core, "tvmgen_extremes(")


@pytest.mark.models
def test_outputs():
    check_outputs("minimum_broadcast_one_number", "cortex-m4")
