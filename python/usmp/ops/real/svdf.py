"""SVDF of float32: a layer of filters over features and then over time.

The sums over features of the last inputs are a state; `usmp.ops.quantized.svdf` is the integer
layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.recurrent import Activation
from usmp.ops.statements import Local, call_in_place, loop

_ZERO = tirx.FloatImm("float32", 0)


@dataclass(frozen=True)
class FloatSvdf:
    """The constants of a layer; each unit has a group of consecutive filters.

    Parameters
    ----------
    features
        (filters, features) of float32.
    time
        (filters, memory); the weight of the newest input is last.
    bias
        (units), or None.
    units
        number of units, a divisor of the number of filters.
    activation
        activation of the output.
    """

    features: np.ndarray
    time: np.ndarray
    bias: np.ndarray | None
    units: int
    activation: Activation


def float_svdf(
    builder: relax.BlockBuilder, data: relax.Expr, state: relax.Expr, layer: FloatSvdf
) -> tuple[relax.Expr, relax.Expr]:
    """Append a call that computes the output, (batch, units), and the next state.

    Parameters
    ----------
    data
        (batch, features) of float32.
    state
        (batch, filters * memory), filter by filter.
    """
    batch, features = shape_of(data)
    filters, memory = layer.time.shape
    arguments: list[tuple[str, relax.Expr | np.ndarray]] = [
        ("state", state),
        ("data", data),
        ("feature_weight", layer.features),
        # The filters of a unit and their memory are consecutive, so that one loop sums them.
        ("time_weight", layer.time.reshape(layer.units, -1)),
    ]
    if layer.bias is not None:
        arguments.append(("bias", layer.bias))

    def body(
        state: tirx.Buffer,
        data: tirx.Buffer,
        weight: tirx.Buffer,
        time: tirx.Buffer,
        *others: tirx.Buffer,
    ) -> tirx.Stmt:
        *biases, output = others

        def remember(row: tirx.Expr, f: tirx.Expr) -> Iterator[tirx.Stmt]:
            total, start = Local.of("total", "float32"), f * memory

            def move(m: tirx.Var) -> tirx.Stmt:
                return tirx.BufferStore(state, state[row, start + m + 1], [row, start + m])

            yield from total.declared(_ZERO)
            yield loop("k", features, lambda k: total.add(data[row, k] * weight[f, k]))
            yield loop("m", memory - 1, move)
            yield tirx.BufferStore(state, total.get(), [row, start + (memory - 1)])

        def weigh(row: tirx.Expr, u: tirx.Expr) -> Iterator[tirx.Stmt]:
            total, taps = Local.of("total", "float32"), filters * memory // layer.units
            yield from total.declared(_ZERO)
            yield loop("k", taps, lambda k: total.add(state[row, u * taps + k] * time[u, k]))
            if biases:
                yield total.add(biases[0][u])
            yield tirx.BufferStore(output, layer.activation.of(total.get()), [row, u])

        def of_row(row: tirx.Expr) -> list[tirx.Stmt]:
            return [
                loop("f", filters, lambda f: remember(row, f)),
                loop("u", layer.units, lambda u: weigh(row, u)),
            ]

        return loop("b", batch, of_row)

    written = [("output", relax.TensorType((batch, layer.units), "float32"))]
    after, output = call_in_place(builder, "svdf", body, arguments, [0], written)
    return output, after
