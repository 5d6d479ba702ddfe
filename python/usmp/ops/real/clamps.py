"""Clamps of floats that propagate NaN.

TVM's clamps turn NaN into the lower bound. PyTorch, ONNX Runtime and the reference kernels of
TFLite return NaN, so that a broken sensor is seen in the output.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax, te, tirx
from tvm.ir import Call, Expr

from usmp.ops.emit import dtype_of
from usmp.tir.dtypes import is_float


def clamp(data: Expr, low: float, high: float) -> Expr:
    """Clamp floats between two bounds; each may be infinite."""
    if (low, high) == (0.0, math.inf):
        return relax.op.nn.relu(data)
    return relax.op.clip(data, float(low), float(high))


def _clamp(low: float, high: float) -> Callable[[te.Tensor], te.Tensor]:
    """Return a TE function that clamps and propagates NaN. Bounds are the first operands, because
    min and max in C and in LLVM return the second operand if one is NaN."""

    def compute(data: te.Tensor) -> te.Tensor:
        dtype = str(data.dtype)

        def element(*i: tirx.Var) -> tirx.Expr:
            value = data[i]
            if high < math.inf:
                value = tirx.min(tirx.FloatImm(dtype, high), value)
            return tirx.max(tirx.FloatImm(dtype, low), value) if low > -math.inf else value

        return te.compute(data.shape, element, "clamp")

    return compute


def _legalize(
    builder: relax.BlockBuilder, call: Call, bounds: Callable[[Call], tuple[float, float]]
) -> Expr:
    name = call.op.name.rpartition(".")[2]
    if not is_float(dtype_of(call.args[0])):
        return call.op.get_attr("FLegalize")(builder, call)
    low, high = bounds(call)
    return builder.call_te(_clamp(low, high), call.args[0], primfunc_name_hint=name)


def _legalize_relu(builder: relax.BlockBuilder, call: Call) -> Expr:
    return _legalize(builder, call, lambda _: (0.0, math.inf))


def _legalize_relu6(builder: relax.BlockBuilder, call: Call) -> Expr:
    return _legalize(builder, call, lambda _: (0.0, 6.0))


def _legalize_clip(builder: relax.BlockBuilder, call: Call) -> Expr:
    return _legalize(builder, call, lambda clip: (_number(clip.args[1]), _number(clip.args[2])))


def _number(value: Expr) -> float:
    return float(value.value)


LEGALIZE_CLAMPS = {
    "relax.nn.relu": _legalize_relu,
    "relax.nn.relu6": _legalize_relu6,
    "relax.clip": _legalize_clip,
}
"""Relax operator -> its legalization, for `relax.transform.LegalizeOps`."""
