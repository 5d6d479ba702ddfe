"""Pools and means by kernels compute what they do without, in tiles of four channels."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, te, tirx
from tvm.ir import IRModule

from ops.kernels.images.test_conv2d import WINDOWS
from support.levels import seeds
from support.tir_arithmetic import wrap
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.aot.transform import LowerOperators, ScheduleOperators
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.select import select_kernel
from usmp.ops.kernels.sums.sums_over_axes import sums_over_axes_kernel
from usmp.ops.quantized.pooling import average_pool, max_pool, rescaled_average_pool
from usmp.ops.quantized.reduction import mean, reduce_sum
from usmp.ops.quantized.rescaling.fixed_point import QuantizedMultiplier
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.records import operators_of, with_operators
from usmp.ops.window import Layout, Window
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

BEFORE = Quantization("int8", (0.5,), (-3,))
AFTER = Quantization("int8", (0.7,), (5,))
DSP = CORES["cortex-m4"]
POOLS = {"average_pool": average_pool, "max_pool": max_pool}


class RescalingInterpreter(Interpreter):
    """It has the functions that rescale, and those that define sums."""

    def extern(self, name, values):
        if name == "tvmgen_add_int32":
            return wrap(sum(values), "int32")
        if name == "tvmgen_subtract_int32":
            return wrap(values[0] - values[1], "int32")
        if name == "tvmgen_multiply_by_quantized_multiplier":
            return QuantizedMultiplier(values[1], values[2]).apply(values[0])
        if name == "tvmgen_multiply_high":
            return (values[0] * values[1] + 2**30) >> 31
        assert name == "tvmgen_rescale_record"
        value, multiplier, right, rounding = values
        high = (value * multiplier + 2**30) >> 31
        return (high - (high < 0) + ((rounding << right) >> 1)) >> right


def operator(shape, make):
    """The PrimFunc of an operator on int8."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "int8"))
    with builder.function("main", [x]):
        builder.emit_func_output(make(builder, x))
    (func,) = (f for f in builder.get().functions.values() if isinstance(f, tirx.PrimFunc))
    return func.with_attr("global_symbol", "f")


def run(func, data):
    """What a PrimFunc computes of the data."""
    mod = LowerOperators()(ScheduleOperators()(IRModule({"f": func})))
    result = [0] * int(np.prod(func.params[1].shape))
    interpreter = RescalingInterpreter(mod, steps=1_000_000)
    interpreter.call("f", [Pointer(tuple(data.tobytes())), Pointer(result)])
    return np.frombuffer(bytes(value & 255 for value in result), np.int8)


def intrinsics(func):
    """The names and numbers of taps of the tensor intrinsics."""
    calls = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    return [(call.args[0].value, call.args[3]) for call in calls]


def check(shape, make):
    """The kernel of an operator, which computes the same."""
    func = operator(shape, make)
    kernel = select_kernel(OperatorCall(func, (None,)), DSP)
    assert kernel.arguments == (0,)
    assert SCHEDULE_ATTR.of(kernel.func).tile.endswith("4 channels")
    for seed in seeds(1, 2):
        data = np.random.default_rng(seed).integers(-128, 128, shape, np.int8)
        np.testing.assert_array_equal(run(kernel.func, data), run(func, data))
    return kernel.func


def pool(kind, window, layout="NHWC"):
    """Makes a pool."""

    def make(builder, x):
        return POOLS[kind](builder, x, window, BEFORE.limits(), Layout(layout), BEFORE)

    return make


def cases():
    """Windows without dilation; those of a mean are not all beside the data."""
    for kind in POOLS:
        for name, window in WINDOWS.items():
            if window.dilations == (1, 1) and (kind == "max_pool" or 0 not in window.tap_counts()):
                yield pytest.param(kind, window, id=f"{kind}, {name}")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "window"), list(cases()))
def test_pools_compute_what_the_operator_computes(kind, window):
    func = check((2, *window.data, 6), pool(kind, window))
    names = {name for name, _ in intrinsics(func)}
    assert names == {"tvmgen_sums_4" if kind == "average_pool" else "tvmgen_maxima_4"}


@pytest.mark.slow
@pytest.mark.parametrize("counts_padding", [False, True])
def test_means_at_another_scale(counts_padding):
    window = WINDOWS["same" if not counts_padding else "valid"]

    def make(builder, x):
        return rescaled_average_pool(
            builder, x, window, BEFORE, AFTER, AFTER.limits(), Layout("NHWC"), counts_padding
        )

    check((1, *window.data, 5), make)


@pytest.mark.parametrize("kind", POOLS)
def test_rows_that_follow_each_other_are_one_run(kind):
    func = check((1, 5, 3, 8), pool(kind, Window((5, 3), (4, 3), (1, 1), (1, 1), (0, 0), (2, 1))))
    assert [int(taps) for _, taps in intrinsics(func)] == [12]
    func = check((1, 5, 3, 8), pool(kind, Window((5, 3), (4, 2), (1, 1), (1, 1), (0, 0), (2, 2))))
    assert [int(taps) for _, taps in intrinsics(func)] == [2]


def test_what_has_no_kernel():
    window = Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5))

    def padded(builder, x):
        limits, layout = AFTER.limits(), Layout("NHWC")
        return rescaled_average_pool(
            builder, x, window, BEFORE, AFTER, limits, layout, counts_padding=True
        )

    def last(builder, x):
        return mean(builder, x, [2, 3], BEFORE, AFTER)

    def apart(builder, x):
        return mean(builder, x, [0, 2], BEFORE, AFTER)

    dilated = Window((4, 5), (2, 2), (1, 1), (2, 2), (0, 0), (2, 3))
    for make in (padded, last, apart, pool("max_pool", dilated)):
        assert select_kernel(OperatorCall(operator((1, 4, 5, 6), make), (None,)), DSP) is None
    channels_first = pool("max_pool", window, "NCHW")
    assert select_kernel(OperatorCall(operator((1, 6, 4, 5), channels_first), (None,)), DSP) is None


@pytest.mark.parametrize("function", [mean, reduce_sum])
@pytest.mark.parametrize(
    ("shape", "axes", "taps"),
    [
        ((2, 3, 4, 6), [1, 2], 12),
        ((2, 3, 4, 5), [2, 1], 12),
        ((3, 5), [0], 3),
        ((2, 3, 4, 2), [1], 3),
    ],
)
def test_sums_over_axes_that_follow_each_other(function, shape, axes, taps):
    func = check(shape, lambda builder, x: function(builder, x, axes, BEFORE, AFTER))
    assert [(name, int(n)) for name, n in intrinsics(func)] == [("tvmgen_sums_4", taps)]


def test_the_greatest_of_four_channels_at_a_time_is_faster_with_an_instruction_only():
    window = Window((4, 4), (2, 2), (2, 2), (1, 1), (0, 0), (2, 2))
    func = operator((1, 4, 4, 8), pool("max_pool", window))
    assert select_kernel(OperatorCall(func, (None,)), PORTABLE) is None
    assert select_kernel(OperatorCall(func, (None,)), DSP) is not None


@pytest.mark.parametrize("step", [1, 2])
def test_means_of_data_that_a_view_of_other_elements_was_fused_with(step):
    plain = operator((1, 3, 4, 8), lambda b, x: mean(b, x, [1, 2], BEFORE, AFTER))
    data = te.placeholder((1, 3 * step, 4, 8), "int8", "data")
    rows = te.compute((1, 3, 4, 8), lambda b, y, x, c: data[b, y * step, x, c], "rows")
    y, x = te.reduce_axis((0, 3), "y"), te.reduce_axis((0, 4), "x")
    total = te.compute((1, 8), lambda b, c: te.sum(rows[b, y, x, c].astype("int32"), [y, x]))
    result = te.compute((1, 8), lambda b, c: (total[b, c] // 12).astype("int8"))
    func = with_operators(te.create_prim_func([data, result]), operators_of(plain))
    assert (sums_over_axes_kernel(OperatorCall(func, (None,)), PORTABLE) is None) == (step != 1)
