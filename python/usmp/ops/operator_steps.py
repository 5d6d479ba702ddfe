"""What a PrimFunc computes, for people who read reports: kind, window, multiply-accumulates.

The body of a PrimFunc says it until it is fused; from then on it is an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from usmp.objects.attributes import ACCELERATOR_FUNCTION_ATTR, OPERATOR_STEPS_ATTR
from usmp.ops.macs import macs_of
from usmp.ops.records import QuantizedOp, operators_of
from usmp.ops.records.products import Conv2d, DepthwiseConv2d, TransposeConv2d
from usmp.ops.records.windowed import PoolOp

Pair = tuple[int, ...]


@dataclass(frozen=True)
class OperatorStep:
    """One of the operators that a PrimFunc computes.

    Parameters
    ----------
    kind
        one of `usmp.ops.records.KINDS`; of an operator without a record, the name of its PrimFunc.
    macs
        its multiply-accumulates; None if they are not known.
    kernel, strides, dilations
        (height, width) of its window; empty if it has none.
    """

    kind: str
    macs: int | None
    kernel: Pair = ()
    strides: Pair = ()
    dilations: Pair = ()

    def as_json(self) -> dict[str, Any]:
        """What is known of it, by name."""
        known = vars(self).items()
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in known
            if value not in (None, ())
        }

    @classmethod
    def from_json(cls, value: Any) -> OperatorStep:
        """What `as_json` gave, also if an attribute held it since."""
        pairs = ("kernel", "strides", "dilations")
        macs = value.get("macs")
        return cls(
            str(value["kind"]),
            None if macs is None else int(macs),
            *(tuple(int(e) for e in value[name]) if name in value else () for name in pairs),
        )


def steps_of(func: tirx.PrimFunc, name: str) -> tuple[OperatorStep, ...]:
    """The steps of a PrimFunc that has them, or that is not fused or scheduled yet.

    Parameters
    ----------
    name
        of the PrimFunc.
    """
    attributes = func.attrs or {}
    if OPERATOR_STEPS_ATTR in attributes:
        return tuple(OperatorStep.from_json(step) for step in attributes[OPERATOR_STEPS_ATTR])
    if ACCELERATOR_FUNCTION_ATTR in attributes:
        operators = attributes[ACCELERATOR_FUNCTION_ATTR].operators
        return tuple(OperatorStep(str(operator.name), None) for operator in operators)
    recorded = [records[0] for records in operators_of(func)]
    if len(recorded) == 1:
        return (OperatorStep(recorded[0].kind, macs_of(func), *_window(recorded[0], func)),)
    return (OperatorStep(name, macs_of(func)),)


def with_steps(func: tirx.PrimFunc, steps: Iterable[OperatorStep]) -> tirx.PrimFunc:
    """`func` with these steps."""
    return func.with_attr(OPERATOR_STEPS_ATTR, [step.as_json() for step in steps])


def _window(operator: QuantizedOp, func: tirx.PrimFunc) -> tuple[Pair, Pair, Pair]:
    """Kernel, strides and dilations."""
    if isinstance(operator, PoolOp):
        return operator.kernel, operator.strides, operator.dilations
    if not isinstance(operator, Conv2d | DepthwiseConv2d | TransposeConv2d):
        return (), (), ()
    weight = tuple(int(extent) for extent in func.params[1].shape)
    kernel = weight[:2] if isinstance(operator, DepthwiseConv2d) else weight[1:3]
    dilations = () if isinstance(operator, TransposeConv2d) else operator.dilations
    return kernel, operator.strides, dilations
