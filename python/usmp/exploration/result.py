"""The result of one configuration of a sweep: plain data, equal on all machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from usmp.names import BALANCED, SMALL

BUILT, DOES_NOT_FIT, REFUSED, FAILED = "built", "does not fit", "refused", "failed"

OUTCOMES = (BUILT, DOES_NOT_FIT, REFUSED, FAILED)
"""Values of `Result.outcome`; `reason` explains all but `BUILT`. `FAILED` is a fault of usmp or of
the process, not of the configuration."""

COMPILED, ESTIMATED, NOT_LINKED, UNKNOWN = "compiled", "estimated", "not linked", "unknown"

CODE_KINDS = (COMPILED, ESTIMATED, NOT_LINKED, UNKNOWN)
"""Values of `Result.code`: compiled for the target; compiled for the host, as an estimate; compiled
for the target but not linked, so that only operators count; or unknown."""

SHARED_CODE = (BALANCED, SMALL)
"""Values of `Result.shared_code`, the one with more shared code last."""

COSTS = ("ram_bytes", "flash_bytes", "instructions")
"""The figures of a result that are compared; less is better."""


@dataclass(frozen=True)
class Result:
    """The result of building a configuration.

    Parameters
    ----------
    outcome
        one of `OUTCOMES`.
    reason
        reason of an outcome other than `BUILT`, one line.
    workspace_bytes, io_bytes, state_bytes
        RAM of a run without the stack, in bytes: workspace pools; inputs and outputs outside of
        these pools; the bytes of these pools that persist between runs.
    constant_bytes
        bytes of all constant pools.
    code_bytes
        bytes of machine code with its tables; None if `code` is `UNKNOWN`.
    code
        one of `CODE_KINDS`.
    compiler
        compiler that made the code.
    code_reason
        reason that the code is `NOT_LINKED` or `UNKNOWN`, one line.
    instructions
        approximate instructions of a run by the costs of the core, summed over the operators with
        known costs; None if no operator has known costs.
    operators, estimated_operators
        number of all operators, and number of operators with known instructions.
    shared_code
        value of `tir.usmp.code`, one of `SHARED_CODE`, if operators share code; None if none do.
        `instructions` leave out what shared code costs.
    macs
        multiply-accumulates of a run; None if they are unknown for an operator.
    algorithm
        algorithm that made the plan.
    is_optimal
        whether it is proved that no pool could be smaller; false if time ended the search.
    search_ended_by
        what ended the search for a plan (see `usmp.algorithms.search`); None without a search.
    """

    outcome: str
    reason: str | None = None
    workspace_bytes: int | None = None
    io_bytes: int | None = None
    state_bytes: int | None = None
    constant_bytes: int | None = None
    code_bytes: int | None = None
    code: str = UNKNOWN
    compiler: str | None = None
    code_reason: str | None = None
    instructions: int | None = None
    operators: int | None = None
    estimated_operators: int | None = None
    shared_code: str | None = None
    macs: int | None = None
    algorithm: str | None = None
    is_optimal: bool | None = None
    search_ended_by: str | None = None

    @property
    def ram_bytes(self) -> int | None:
        """Bytes of workspace pools, and of inputs and outputs outside of them."""
        if self.workspace_bytes is None or self.io_bytes is None:
            return None
        return self.workspace_bytes + self.io_bytes

    @property
    def flash_bytes(self) -> int | None:
        """Bytes of constants, and of code if they are known."""
        if self.constant_bytes is None:
            return None
        return self.constant_bytes + (self.code_bytes or 0)

    def as_json(self) -> dict[str, Any]:
        """Return all fields by name, and the sums `ram_bytes` and `flash_bytes`."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "ram_bytes": self.ram_bytes,
            "flash_bytes": self.flash_bytes,
            **{k: v for k, v in asdict(self).items() if k not in ("outcome", "reason")},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """Return a result from data that `as_json` returned.

        Raises
        ------
        ValueError
            the data are no result.
        """
        values: dict[str, Any] = {field.name: data.get(field.name) for field in fields(cls)}
        result = cls(**values)
        if result.outcome not in OUTCOMES or result.code not in CODE_KINDS:
            raise ValueError(f'no outcome "{result.outcome}", or no kind of code "{result.code}"')
        if result.shared_code not in (None, *SHARED_CODE):
            raise ValueError(f'no shared code "{result.shared_code}"')
        for name, kind in _KINDS.items():
            value = getattr(result, name)
            if value is not None and type(value) is not kind:
                raise ValueError(f"{name} is {type(value).__name__}, not {kind.__name__}")
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} is negative")
        if (result.outcome == BUILT) != (None not in (result.ram_bytes, result.flash_bytes)):
            raise ValueError(f'outcome "{result.outcome}" and figures contradict each other')
        return result


_TEXTS = ("reason", "compiler", "code_reason", "shared_code", "algorithm", "search_ended_by")
_KINDS: dict[str, type] = {
    field.name: str if field.name in _TEXTS else bool if field.name == "is_optimal" else int
    for field in fields(Result)
    if field.name not in ("outcome", "code")
}
