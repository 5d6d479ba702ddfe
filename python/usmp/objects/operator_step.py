"""One of the operators that a PrimFunc computes, for people who read reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
