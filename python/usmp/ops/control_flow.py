"""Loops and choices of a model, as operators whose bodies are Relax modules.

A call is that of a PrimFunc which computes nothing yet: its attribute `control_flow` says what
`LowerControlFlow` makes of it. Until then passes take it for an operator that nothing is known of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.objects.attribute import Attribute
from usmp.ops.statements import call_in_place

MOST_TRIPS = 2**31 - 1
"""Of a loop: C counts them in 32 bits."""


@dataclass(frozen=True)
class ControlFlow:
    """What a PrimFunc of control flow computes.

    The parameters of the PrimFunc are, in this order, the carried tensors, the scanned ones, the
    others that bodies read, and the results that it does not carry. The `main` of each body takes
    the same, one row of each scanned tensor, and no results.

    Parameters
    ----------
    bodies
        of a loop, its body, whose results are the carried tensors after the iteration, then a row
        of each other result; of a loop with a condition that, too, which gives a bool. Of a choice
        what computes the results if its first tensor, a bool, is true, and what does if not; it is
        no parameter of theirs.
    trips
        how often a loop runs; -1 as long as its condition is true, 0 for a choice.
    carried
        how many tensors each iteration takes from the one before, and replaces.
    scanned
        of how many tensors each iteration takes one row, along the outermost axis.
    counts
        whether the body takes the number of the iteration first, one int64.
    """

    bodies: tuple[IRModule, ...]
    trips: int = 0
    carried: int = 0
    scanned: int = 0
    counts: bool = False

    @property
    def is_choice(self) -> bool:
        """Whether one of two bodies runs, once."""
        return self.trips == 0

    def as_attribute(self) -> dict[str, Any]:
        """As the attribute of the PrimFunc."""
        return {
            "bodies": list(self.bodies),
            "trips": self.trips,
            "carried": self.carried,
            "scanned": self.scanned,
            "counts": int(self.counts),
        }

    @staticmethod
    def of_attribute(found: Mapping[str, Any]) -> ControlFlow:
        """What `as_attribute` gave."""
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
        what the PrimFunc is called in the emitted C.
    arguments
        tensors, in the order of its parameters.
    results
        the types of those that it does not carry.

    Returns
    -------
    list[relax.Expr]
        What the carried tensors have become, then the other results.
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
