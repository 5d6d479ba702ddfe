"""Schedules of operators that reduce the rows of an image one after the other."""

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from ops.kernels.sums.test_pooling import RescalingInterpreter
from support.counted_stores import is_update, stores
from support.tir_memory import Pointer
from usmp.aot.transform.lower_operators import LowerOperators
from usmp.aot.transform.schedule_operators import ScheduleOperators
from usmp.objects.schedule import ROW_SCHEDULE_ATTR
from usmp.ops.quantized.pooling import average_pool
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.window import Layout, Window
from usmp.relax.transform.fusion.fuse_operators import FuseOperators

WHOLE = {"pool_size": (4, 3), "strides": (4, 3), "layout": "NHWC"}
SMALL = (1, 4, 3, 5)
WINDOW = Window((4, 3), (4, 3), (4, 3), (1, 1), (0, 0), (1, 1))
INT16 = Quantization("int16", (0.5,), (0,))
REDUCED = {
    "mean": (lambda b, x: relax.op.mean(x, [1, 2]), SMALL, "float32"),
    "mean that keeps axes": (lambda b, x: relax.op.mean(x, [1, 2], True), SMALL, "float32"),
    "mean of a signal": (lambda b, x: relax.op.mean(x, [1]), (1, 9, 5), "float32"),
    "mean of one row": (lambda b, x: relax.op.mean(x, [1, 2]), (1, 1, 9, 5), "float32"),
    "mean of rows": (lambda b, x: relax.op.mean(x, [1]), SMALL, "float32"),
    "average pool": (lambda b, x: relax.op.nn.avg_pool2d(x, **WHOLE), SMALL, "float32"),
    "average pool and relu": (
        lambda b, x: relax.op.nn.relu(b.emit(relax.op.nn.avg_pool2d(x, **WHOLE))),
        SMALL,
        "float32",
    ),
    "adaptive average pool": (
        lambda b, x: relax.op.nn.adaptive_avg_pool2d(x, (1, 1), "NHWC"),
        SMALL,
        "float32",
    ),
    "max pool": (lambda b, x: relax.op.nn.max_pool2d(x, **WHOLE), SMALL, "uint8"),
    "max": (lambda b, x: relax.op.max(x, [1, 2]), SMALL, "float32"),
    "sum": (lambda b, x: relax.op.sum(x, [0]), (4, 5), "int32"),
    "average pool of int16": (
        lambda b, x: average_pool(b, x, WINDOW, INT16.limits(), Layout("NHWC"), INT16),
        SMALL,
        "int16",
    ),
}


def last_operator(mod):
    """The PrimFunc that a model ends with, with the schedules that it has."""
    lowered = LowerOperators()(ScheduleOperators()(FuseOperators()(mod)))
    return [func for func in lowered.functions.values() if isinstance(func, tirx.PrimFunc)][-1]


def run_on(func, data):
    """The bytes that a PrimFunc of one input computes."""
    (output,) = (s for s in tirx.stmt_list(func.body) if is_view_of(s, func.params[-1]))
    size = int(output.buffer.shape[0]) * np.dtype(str(output.buffer.dtype)).itemsize
    result = [None] * size
    mod = IRModule({"f": func.with_attr("global_symbol", "f")})
    RescalingInterpreter(mod, steps=100_000).call(
        "f", [Pointer(tuple(data.tobytes())), Pointer(result)]
    )
    return result


def is_view_of(stmt, param):
    return isinstance(stmt, tirx.DeclBuffer) and stmt.data.same_as(param)


@pytest.mark.parametrize("name", REDUCED)
def test_rows_of_an_image_are_reduced_one_after_the_other(name, model, random_array):
    body, shape, dtype = REDUCED[name]
    func = last_operator(model(body, ("x", shape, dtype)))
    rows = ROW_SCHEDULE_ATTR.of(func)
    outermost = [int(s.extent) for s in tirx.stmt_list(rows.body) if isinstance(s, tirx.For)]
    assert outermost[1:-1] == [next(extent for extent in shape if extent > 1)]
    assert stores(rows, is_update) == stores(func, is_update)
    data = random_array(*shape, dtype=dtype)
    assert run_on(rows, data) == run_on(func, data)


NOT_BY_ROWS = {
    "images": (lambda b, x, r: relax.op.mean(x, [1, 2]), (2, 4, 3, 5)),
    "channels first": (lambda b, x, r: relax.op.mean(x, [2, 3]), SMALL),
    "a window that moves": (
        lambda b, x, r: relax.op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1, 1, 1), layout="NHWC"),
        (1, 8, 8, 3),
    ),
    "two reductions": (lambda b, x, r: relax.op.variance(x, [1, 2]), SMALL),
    "weights": (lambda b, x, r: relax.op.matmul(x, relax.const(r(8, 5))), (1, 8)),
    "no reduction": (lambda b, x, r: relax.op.nn.relu(x), SMALL),
}


@pytest.mark.parametrize("name", NOT_BY_ROWS)
def test_others_have_no_schedule_by_rows(name, model, random_array):
    body, shape = NOT_BY_ROWS[name]
    mod = model(lambda b, x: body(b, x, random_array), ("x", shape, "float32"))
    assert ROW_SCHEDULE_ATTR.of(last_operator(mod)) is None
