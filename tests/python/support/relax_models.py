"""Small Relax models: one with weights that are parameters, and its result by numpy; an image's."""

from __future__ import annotations

from functools import cache

import numpy as np
from tvm import relax
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import relax as R

from usmp.relax.bind_params import bind_params

generator = np.random.default_rng(0)
PARAMS = {
    "w": generator.standard_normal((16, 64)).astype(np.float32),
    "v": generator.standard_normal((64, 16)).astype(np.float32),
}
X = generator.standard_normal((1, 16)).astype(np.float32)


@I.ir_module
class Attention:
    @R.function
    def main(
        x: R.Tensor((1, 16), "float32"),
        w: R.Tensor((16, 64), "float32"),
        v: R.Tensor((64, 16), "float32"),
    ):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.softmax(a)
            c = R.matmul(b, v)
            d = R.nn.softmax(c)
            e = R.matmul(d, w)
            f = R.nn.softmax(e)
            R.output(f)
        return f


@cache
def bound_attention() -> IRModule:
    """`Attention` with `PARAMS`: one module, for builds that share what they have in common."""
    return bind_params(Attention, PARAMS)


def attention(x: np.ndarray = X, scale: float = 1) -> np.ndarray:
    """What `Attention` computes with `PARAMS` times `scale`."""
    w, v = scale * PARAMS["w"], scale * PARAMS["v"]
    return _softmax(_softmax(_softmax(x @ w) @ v) @ w)


def _softmax(values: np.ndarray) -> np.ndarray:
    exponents = np.exp(values - values.max())
    return exponents / exponents.sum()


def two_convolutions(channels: int = 8) -> IRModule:
    """Two float convolutions and a mean, images with channels first."""
    values = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorType((1, 3, 12, 10), "float32"))
    builder = relax.BlockBuilder()

    def conv(data: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
        kernel = relax.const(values.normal(size=shape).astype(np.float32))
        return builder.emit(relax.op.nn.conv2d(data, kernel, padding=1))

    with builder.function("main", [x]):
        with builder.dataflow():
            y = conv(x, (channels, 3, 3, 3))
            y = conv(y, (channels, channels, 3, 3))
            result = builder.emit_output(relax.op.mean(y, [2, 3]))
        builder.emit_func_output(result)
    return builder.get()
