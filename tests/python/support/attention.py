"""A small Relax module with one size that only the run knows."""

from __future__ import annotations

import tvm
from tvm import relax, tirx


def attention() -> tvm.IRModule:
    """softmax(data @ data^T) @ data of "length" rows, by operators of four kinds."""
    length = tirx.Var("length", "int64")
    data = relax.Var("data", relax.TensorType((length, 16), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            turned = builder.emit(relax.op.permute_dims(data))
            scores = builder.emit(relax.op.matmul(data, turned))
            weights = builder.emit(relax.op.nn.softmax(scores))
            result = builder.emit_output(relax.op.matmul(weights, data))
        builder.emit_func_output(result)
    return builder.get()
