"""A recurrent layer in one direction, as a PrimFunc with a loop over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from tvm import relax, tirx

from usmp.ops.recurrent.cells import Cell, CellStep
from usmp.ops.recurrent.placed import Placed, Row
from usmp.ops.statements import call_in_place, fill, loop
from usmp.tir.nodes import sequence

Tensor: TypeAlias = "relax.Expr | np.ndarray"


@dataclass(frozen=True)
class Weights:
    """The weights of a layer in one direction, gate after gate.

    Parameters
    ----------
    data_weight
        (gates * units, features) of float32.
    hidden_weight
        (gates * units, units).
    bias, hidden_bias
        (gates * units), or None; added to the products of the data and of the hidden state.
    """

    data_weight: Tensor
    hidden_weight: Tensor
    bias: Tensor | None = None
    hidden_bias: Tensor | None = None


def recurrent_layer(
    builder: relax.BlockBuilder,
    cell: Cell,
    data: Placed,
    weights: Weights,
    states: Sequence[Placed],
    output: Placed | None,
    backwards: bool = False,
) -> tuple[list[relax.Expr], relax.Expr | None]:
    """Append a call of a PrimFunc that runs the steps in a loop.

    Parameters
    ----------
    data
        the sequence, of float32, with axes t, b and u.
    states
        hidden state, and for an LSTM the cell state, before the first step: axes b, u and perhaps
        d. They are updated in place. A state that is only a type is created, and is 0 before the
        first step.
    output
        tensor for the hidden state after each step: axes t, b, u and perhaps d; other directions
        are not changed. If it is only a type, it is created; None if nothing reads the output.
    backwards
        whether to run from the last step to the first.

    Returns
    -------
    tuple[list[relax.Expr], relax.Expr | None]
        The states after the last step, and the output.
    """
    places = dict(zip(("hidden", "cell"), states, strict=False))
    if output is not None:
        places["output"] = output
    created = {name: place for name, place in places.items() if place.is_to_be_made}
    existing = {name: place.tensor for name, place in places.items() if name not in created}
    constants = {name: value for name, value in vars(weights).items() if value is not None}
    arguments = [*existing.items(), ("data", data.tensor), *constants.items()]
    written = [(name, place.type) for name, place in created.items()]
    names = [name for name, _ in [*arguments, *written]]

    def body(*buffers: tirx.Buffer) -> tirx.Stmt:
        by_name = dict(zip(names, buffers, strict=True))
        zero = tirx.FloatImm("float32", 0)
        zeros = [fill(by_name[name], zero) for name in created if name != "output"]
        steps = _all_steps(cell, data, states, output, by_name, backwards)
        return sequence([*zeros, *steps])

    results = call_in_place(builder, cell.name, body, arguments, range(len(existing)), written)
    after = dict(zip([*existing, *created], results, strict=True))
    return [after[name] for name in places if name != "output"], after.get("output")


def _all_steps(
    cell: Cell,
    data: Placed,
    states: Sequence[Placed],
    output: Placed | None,
    buffers: dict[str, tirx.Buffer],
    backwards: bool,
) -> list[tirx.Stmt]:
    steps, batch, units = data.extent("t"), data.extent("b"), states[0].extent("u")
    scratch = [
        tirx.decl_buffer((units,), "float32", f"scratch{number}")
        for number in range(cell.scratch_rows(output is not None))
    ]

    def step(t: tirx.Var, b: tirx.Var) -> list[tirx.Stmt]:
        def row(name: str, placed: Placed) -> Row:
            position = steps - 1 - t if backwards else t
            place = {"t": position, "b": b, "d": tirx.IntImm("int32", placed.direction)}
            return Row(buffers[name], placed.axes, place)

        return cell.step(
            CellStep(
                units,
                data.extent("u"),
                row("data", data),
                buffers["data_weight"],
                buffers["hidden_weight"],
                buffers.get("bias"),
                buffers.get("hidden_bias"),
                [row(n, state) for n, state in zip(("hidden", "cell"), states, strict=False)],
                None if output is None else row("output", output),
                [Row(buffer, "u", {}) for buffer in scratch],
            )
        )

    loops = loop("t", steps, lambda t: loop("b", batch, lambda b: step(t, b)))
    return [*map(tirx.AllocBuffer, scratch), loops]
