"""Which operators are sums of products that are rescaled as kernels do it."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import Call, GenericConst

import usmp
from usmp.ops import quantized
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.constants.pack_constants import with_packed_constants
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Rounding,
    Window,
)
from usmp.relax.transform import FuseOperators
from usmp.tir.nodes import nodes_of

FINE, COARSE = (Quantization("int8", (scale,), (0,)) for scale in (0.1, 0.3))
LIMITS = OutputLimits("int8", -128, 127)
WINDOW = Window((3, 3), (1, 1), (1, 1), (1, 1), (0, 0), (3, 3))


@pytest.mark.parametrize(("rounding", "is_one"), [(Rounding.TWICE, True), (Rounding.ONCE, False)])
def test_only_the_rescaling_of_the_sum_counts_not_that_of_a_fused_operator(rounding, is_one):
    rescale = Rescale((QuantizedMultiplier(3 << 29, -5),), FINE, LIMITS, rounding)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 3, 3, 4), "int8"))
    weight = np.arange(8, dtype=np.int8).reshape(2, 1, 1, 4)
    bias = np.array([3, 4], np.int32)
    with builder.function("main", [x]):
        with builder.dataflow():
            ends = (WINDOW, FINE, rescale, Layout("NHWC"), FINE)
            y = builder.emit(quantized.conv2d(builder, x, weight, bias, *ends))
            z = builder.emit_output(quantized.relu(builder, y, FINE, COARSE, LIMITS))
        builder.emit_func_output(z)
    mod = FuseOperators()(builder.get())
    (call,) = (c for c in nodes_of(mod["main"].body, Call) if c.op.name == "relax.call_tir")
    constants = (a.value.numpy() if isinstance(a, GenericConst) else None for a in call.args[1])
    operator = with_packed_constants(OperatorCall(mod[call.args[0]], tuple(constants)))
    assert (operator.weighted is not None) == is_one


@pytest.mark.cc
@pytest.mark.parametrize("depth", [3, 4, 8, 12, 28, 31])
def test_c_of_a_product_of_known_size_compiles_without_warnings(depth):
    """GCC warned of the loop for the last columns, of which there are none."""
    rescale = Rescale((QuantizedMultiplier(3 << 29, -5),), FINE, LIMITS)
    weight = np.random.default_rng(0).integers(-127, 128, (4, depth)).astype(np.int8)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, depth), "int8"))
    with builder.function("main", [x]):
        with builder.dataflow():
            call = quantized.fully_connected(builder, x, weight, None, FINE, FINE, rescale)
            y = builder.emit_output(call)
        builder.emit_func_output(y)
    data = np.arange(depth, dtype=np.int8)[None, :]
    (found,) = usmp.build(builder.get()).load().run({"x": data}).values()
    sums = data.astype(np.int64) @ weight.T.astype(np.int64)
    expected = [rescale.factors[0].apply(int(total)) for total in sums[0]]
    assert found.tolist() == [[min(max(value, -128), 127) for value in expected]]
