"""Loops and choices of a model, as operators whose bodies are Relax modules.

Such an operator is a PrimFunc without code: `LowerControlFlow` generates the code from its
attribute `control_flow`. Until then, passes treat it as an opaque operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.objects.attributes.attribute import Attribute
from usmp.ops.statements import call_in_place

MOST_TRIPS = 2**31 - 1
"""Most iterations of a loop, because C counts them in 32 bits."""


@dataclass(frozen=True)
class ControlFlow:
    """The loop or choice of a PrimFunc.

    The parameters of the PrimFunc are, in this order, the carried tensors, the scanned tensors,
    other tensors that bodies read, and the results that are not carried. The `main` of each body
    has the same parameters without results, and with one row of each scanned tensor.

    Parameters
    ----------
    bodies
        for a loop, the body and, if there is one, the condition. The body returns the next carried
        tensors, then a row of each other result; the condition returns a bool. For a choice, the
        bodies for true and for false; the first tensor, a bool, selects one, and is not passed on.
    trips
        iterations of a loop; -1 if it runs while its condition is true; 0 for a choice.
    carried
        number of tensors that each iteration updates.
    scanned
        number of tensors that iterations read row by row, along the outermost axis.
    counts
        whether the first parameter of the body is the index of the iteration, one int64.
    """

    bodies: tuple[IRModule, ...]
    trips: int = 0
    carried: int = 0
    scanned: int = 0
    counts: bool = False

    @property
    def is_choice(self) -> bool:
        """Whether this is a choice, which runs one of its two bodies once."""
        return self.trips == 0

    def as_attribute(self) -> dict[str, Any]:
        """Return the control flow as the value of the attribute `control_flow`."""
        return {
            "bodies": list(self.bodies),
            "trips": self.trips,
            "carried": self.carried,
            "scanned": self.scanned,
            "counts": int(self.counts),
        }

    @staticmethod
    def of_attribute(found: Mapping[str, Any]) -> ControlFlow:
        """Return the control flow of a value of `as_attribute`."""
        return ControlFlow(
            tuple(found["bodies"]),
            int(found["trips"]),
            int(found["carried"]),
            int(found["scanned"]),
            bool(found["counts"]),
        )


CONTROL_FLOW_ATTR: Attribute[ControlFlow] = Attribute(
    "control_flow",
    "PrimFunc of a loop or a choice",
    "what the loop or choice of the model is, until `LowerControlFlow` writes it",
    ControlFlow.of_attribute,
    ControlFlow.as_attribute,
)


def call_control_flow(
    builder: relax.BlockBuilder,
    name: str,
    flow: ControlFlow,
    arguments: Sequence[relax.Expr],
    results: Sequence[relax.TensorType],
) -> list[relax.Expr]:
    """Append a loop or a choice.

    Parameters
    ----------
    name
        name of the PrimFunc in the emitted C.
    arguments
        tensors, in the order of the parameters of the PrimFunc.
    results
        types of the results that are not carried.

    Returns
    -------
    list[relax.Expr]
        The updated carried tensors, then the other results.
    """
    return call_in_place(
        builder,
        name,
        lambda *_: tirx.Evaluate(tirx.IntImm("int32", 0)),
        [(f"x{index}", argument) for index, argument in enumerate(arguments)],
        range(flow.carried),
        [(f"y{index}", ty) for index, ty in enumerate(results)],
        attributes=CONTROL_FLOW_ATTR.entry(flow),
    )
