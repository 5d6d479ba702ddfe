"""A small transformer encoder in Relax, of any length of its sequence."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax, tirx

from support.storage_plans import allocated, lowered_as_fused, planned

WIDTH, HEADS, LAYERS = 64, 4, 2


def encoder(longest: int | None = None) -> tvm.IRModule:
    """`main` takes (sequence, WIDTH) float32 and returns as much; operators are fused.

    Parameters
    ----------
    longest
        of the sequences, for TVM's own planner; None says nothing.
    """
    random = np.random.default_rng(0)

    def weight(*shape: int) -> relax.Expr:
        return relax.const(random.standard_normal(shape).astype("float32") / np.float32(8))

    length = tirx.Var("length", "int64")
    data = relax.Var("data", relax.TensorType((length, WIDTH), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            value = data
            for _ in range(LAYERS):
                value = _layer(builder, value, length, weight)
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    mod = builder.get()
    if longest is not None:
        mod["main"] = mod["main"].with_attr("tir_var_upper_bound", {"length": longest})
    return relax.get_pipeline("zero")(mod)


def static_plan_bytes(longest: int) -> int:
    """Bytes of TVM's static plan of the intermediates for the longest sequence."""
    mod = planned(lowered_as_fused(encoder(longest)), relax.transform.StaticPlanBlockMemory())
    return allocated(mod).storage_bytes


def _layer(builder, data, length, weight):
    emit, op = builder.emit, relax.op
    head = WIDTH // HEADS

    def heads(value):
        split = emit(op.reshape(value, (length, HEADS, head)))
        return emit(op.permute_dims(split, [1, 0, 2]))

    query, key, content = (heads(emit(op.matmul(data, weight(WIDTH, WIDTH)))) for _ in range(3))
    scores = emit(op.matmul(query, emit(op.permute_dims(key, [0, 2, 1]))))
    scaled = emit(op.multiply(scores, relax.const(np.float32(head**-0.5))))
    mixed = emit(op.matmul(emit(op.nn.softmax(scaled)), content))
    joined = emit(op.reshape(emit(op.permute_dims(mixed, [1, 0, 2])), (length, WIDTH)))
    first = emit(op.add(data, emit(op.matmul(joined, weight(WIDTH, WIDTH)))))
    normal = _normalized(emit, first, weight)
    wide = emit(op.nn.relu(emit(op.matmul(normal, weight(WIDTH, 4 * WIDTH)))))
    second = emit(op.add(normal, emit(op.matmul(wide, weight(4 * WIDTH, WIDTH)))))
    return _normalized(emit, second, weight)


def _normalized(emit, value, weight):
    return emit(relax.op.nn.layer_norm(value, weight(WIDTH), weight(WIDTH), axes=[-1]))
