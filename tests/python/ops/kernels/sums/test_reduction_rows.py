"""Pools and means of whole images by rows compute what they do channel by channel."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from ops.kernels.sums.test_pooling import AFTER, BEFORE, operator, pool, run
from usmp.objects.schedule import ROW_SCHEDULE_ATTR, SCHEDULE_ATTR
from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.select import select_kernel
from usmp.ops.quantized.pooling import rescaled_average_pool
from usmp.ops.quantized.reduction import mean, reduce_sum
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.window import Layout, Window
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

KINDS = {
    "portable": PORTABLE,
    "cortex-m4": CORES["cortex-m4"],
    "cortex-m55": CORES["cortex-m55"],
}
COARSER = Quantization("int8", (3.7,), (5,))


def whole(shape):
    """A window over all of an NHWC image."""
    image = (shape[1], shape[2])
    return Window(image, image, image, (1, 1), (0, 0), (1, 1))


def mean_of(axes, after=AFTER, function=mean):
    return lambda builder, x: function(builder, x, axes, BEFORE, after)


def rescaled(builder, x):
    shape = [int(extent) for extent in x.ty.shape]
    limits, layout = AFTER.limits(), Layout("NHWC")
    return rescaled_average_pool(builder, x, whole(shape), BEFORE, AFTER, limits, layout, False)


def rows_of(func, core):
    """The row schedule of the kernel of an operator."""
    return ROW_SCHEDULE_ATTR.of(select_kernel(OperatorCall(func, (None,)), core).func)


def loops(func):
    """The extents of the outermost loops."""
    return [int(s.extent) for s in tirx.stmt_list(func.body) if isinstance(s, tirx.For)]


def intrinsics(func):
    """The names of the tensor intrinsics."""
    return {intrinsic_call(stmt).args[0].value for stmt in nodes_of(func.body, tirx.AttrStmt)}


CASES = {
    "average pool": ((1, 6, 5, 8), pool("average_pool", whole((1, 6, 5, 8)))),
    "average pool, odd channels": ((1, 4, 3, 7), pool("average_pool", whole((1, 4, 3, 7)))),
    "average pool, one channel": ((1, 4, 3, 1), pool("average_pool", whole((1, 4, 3, 1)))),
    "average pool at another scale": ((1, 5, 2, 6), rescaled),
    "max pool": ((1, 4, 3, 7), pool("max_pool", whole((1, 4, 3, 7)))),
    "mean": ((1, 6, 5, 9), mean_of([1, 2])),
    "mean without vectors": ((1, 6, 5, 3), mean_of([1, 2])),
    "mean at a coarser scale": ((1, 6, 5, 18), mean_of([2, 1], COARSER)),
    "mean of one dimension": ((1, 7, 6), mean_of([1])),
    "mean of one column": ((1, 7, 1, 6), mean_of([1, 2])),
    "sum": ((6, 5), mean_of([0], COARSER, reduce_sum)),
}


@pytest.mark.parametrize("core", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("shape", "make"), CASES.values(), ids=CASES)
def test_rows_compute_what_the_operator_computes(shape, make, core):
    func = operator(shape, make)
    rows = rows_of(func, core)
    height = next(extent for extent in shape if extent > 1)
    channels = shape[-1]
    assert loops(rows) == ([height] if channels == 1 else [channels, height, channels])
    drawn = np.random.default_rng(0).integers(-128, 128, shape, np.int8)
    for data in (drawn, np.full(shape, -128, np.int8)):
        np.testing.assert_array_equal(run(rows, data), run(func, data))


def test_each_row_is_an_intrinsic():
    def names(make, core):
        return intrinsics(rows_of(operator((1, 6, 5, 8), make), core))

    window = whole((1, 6, 5, 8))
    for make in (pool("average_pool", window), mean_of([1, 2])):
        assert names(make, KINDS["cortex-m4"]) == {"tvmgen_sums_4"}
        assert names(make, KINDS["cortex-m55"]) == {"tvmgen_mve_add_pixels"}
    for name in ("cortex-m4", "cortex-m55"):
        assert names(pool("max_pool", window), KINDS[name]) == {"tvmgen_maxima_4"}


def test_rows_that_16_bits_cannot_sum_are_no_vectors():
    for columns, name in ((256, "tvmgen_mve_add_pixels"), (257, "tvmgen_sums_4")):
        func = operator((1, 2, columns, 4), mean_of([1, 2]))
        assert intrinsics(rows_of(func, KINDS["cortex-m55"])) == {name}


def test_the_schedule_says_what_it_is():
    func = operator((1, 6, 5, 8), mean_of([1, 2]))
    assert (
        SCHEDULE_ATTR.of(rows_of(func, PORTABLE)).tile == "1 row, an accumulator for each channel"
    )


@pytest.mark.parametrize("core", KINDS.values(), ids=KINDS)
def test_what_is_no_image_as_a_whole_has_none(core):
    # The outermost loop over images or rows of outputs is one over rows of the data.
    moving = Window((6, 5), (2, 5), (2, 5), (1, 1), (0, 0), (3, 1))
    padded = Window((6, 5), (6, 5), (1, 1), (1, 1), (1, 0), (3, 1))
    for shape, make in (
        ((2, 6, 5, 8), mean_of([1, 2])),
        ((2, 6, 5, 8), pool("average_pool", whole((1, 6, 5, 8)))),
        ((1, 6, 5, 8), pool("average_pool", moving)),
        ((1, 6, 5, 8), pool("average_pool", padded)),
        # Means of columns, of which there are several.
        ((1, 6, 5, 8), mean_of([1])),
    ):
        assert rows_of(operator(shape, make), core) is None
