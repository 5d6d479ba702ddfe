"""The operators that a PrimFunc computes, for reports."""

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
        one of `usmp.ops.records.KINDS`, or the name of its PrimFunc if it has no record.
    macs
        number of multiply-accumulates; None if it is unknown.
    kernel, strides, dilations
        (height, width) of the kernel window, in elements; empty if it has none.
    """

    kind: str
    macs: int | None
    kernel: Pair = ()
    strides: Pair = ()
    dilations: Pair = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are not empty, by name."""
        known = vars(self).items()
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in known
            if value not in (None, ())
        }

    @classmethod
    def from_json(cls, value: Any) -> OperatorStep:
        """Return the operator from the result of `as_json`, or from its copy in an attribute."""
        pairs = ("kernel", "strides", "dilations")
        macs = value.get("macs")
        return cls(
            str(value["kind"]),
            None if macs is None else int(macs),
            *(tuple(int(e) for e in value[name]) if name in value else () for name in pairs),
        )
