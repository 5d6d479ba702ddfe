"""A Relax model that keeps three states between runs, and the same in numpy."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp import StateInfo

WEIGHTS = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
INITIAL = {
    "window": np.float32(0),
    "count": np.int8(-3),
    "total": np.arange(8, dtype=np.float32),
}


@I.ir_module
class _Operators:
    @T.prim_func(private=True, s_tir=True)
    def accumulate(total: T.Buffer((8,), "float32"), by: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("accumulate"):
                v = T.axis.spatial(8, i)
                total[v] = total[v] + by[v]


def streaming_model() -> IRModule:
    """Input x: float32[1, 8], outputs y and z.

    `window` is the last three inputs: read, then replaced by an operator. `count` goes up by one a
    run: its operator reads the old value. `total` is added to in place.
    """
    builder = relax.BlockBuilder()
    accumulate = builder.add_func(_Operators["accumulate"], "accumulate")
    window = relax.Var("window", relax.TensorType((3, 8), "float32"))
    x = relax.Var("x", relax.TensorType((1, 8), "float32"))
    count = relax.Var("count", relax.TensorType((2,), "int8"))
    total = relax.Var("total", relax.TensorType((8,), "float32"))
    with builder.function("main", [window, x, count, total]):
        with builder.dataflow():
            emit = builder.emit
            frames = emit(relax.op.concat([window, x], axis=0))
            mean = emit(relax.op.mean(frames, axis=[0]))
            weighted = emit(relax.op.matmul(mean, relax.const(WEIGHTS)))
            new_total = emit(
                relax.op.call_tir_inplace(
                    accumulate, (total, weighted), [0], relax.TensorType((8,), "float32")
                )
            )
            new_window = emit(relax.op.strided_slice(frames, [0], [1], [4]))
            new_count = emit(relax.op.add(count, relax.const(np.ones(2, np.int8))))
            product = emit(relax.op.multiply(new_total, mean))
            y = emit(relax.op.matmul(product, relax.const(WEIGHTS)))
            z = emit(relax.op.add(emit(relax.op.astype(count, "int32")), relax.const(7, "int32")))
            results = [y, new_window, z, new_total, new_count]
            results = [builder.emit_output(value) for value in results]
        builder.emit_func_output(relax.Tuple(results))
    mod = builder.get()
    places = {"window": 1, "count": 4, "total": 3}
    states = [StateInfo(n, p, tvm.runtime.tensor(INITIAL[n])) for n, p in places.items()]
    attributes = {"states": states, "output_names": ["y", "z"]}
    functions = {v: f for v, f in mod.functions.items() if v.name_hint != "main"}
    return IRModule({**functions, GlobalVar("main"): mod["main"].with_attrs(attributes)})


class Streaming:
    """What `streaming_model` computes, run after run."""

    def __init__(self) -> None:
        self.window = np.zeros((3, 8), np.float32)
        self.count = np.full(2, -3, np.int8)
        self.total = np.arange(8, dtype=np.float32)

    def run(self, x: np.ndarray) -> dict[str, np.ndarray]:
        frames = np.concatenate([self.window, x])
        mean = frames.mean(axis=0)
        self.total = self.total + mean @ WEIGHTS
        self.window = frames[1:]
        z = self.count.astype(np.int32) + 7
        self.count = self.count + np.int8(1)
        return {"y": (self.total * mean) @ WEIGHTS, "z": z}
