"""What is known of one configuration of a sweep: plain data, the same wherever it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

BUILT, DOES_NOT_FIT, REFUSED, FAILED = "built", "does not fit", "refused", "failed"

OUTCOMES = (BUILT, DOES_NOT_FIT, REFUSED, FAILED)
"""Values of `Result.outcome`: of what is not built, `reason` says why. A failure is not the
fault of the configuration: usmp or the process that built it failed."""

COMPILED, ESTIMATED, NOT_LINKED, UNKNOWN = "compiled", "estimated", "not linked", "unknown"

CODE_KINDS = (COMPILED, ESTIMATED, NOT_LINKED, UNKNOWN)
"""Values of `Result.code`: by a compiler for the target, by the one of a host, the operators alone
by one for the target, or not at all."""

COSTS = ("ram_bytes", "flash_bytes", "instructions")
"""The figures of a result that are compared; less is better."""


@dataclass(frozen=True)
class Result:
    """A configuration that was tried.

    Parameters
    ----------
    outcome
        one of `OUTCOMES`.
    reason
        of an outcome that is not `BUILT`, one line.
    workspace_bytes, io_bytes, state_bytes
        RAM that runs take, but for the stack: workspace pools; inputs and outputs that the
        application has outside of them; what of the pools is kept between runs.
    constant_bytes
        of all constant pools.
    code_bytes
        machine code with its tables; None if `code` is `UNKNOWN`.
    code
        one of `CODE_KINDS`.
    compiler
        what the bytes of the code are from.
    code_reason
        why the code is `NOT_LINKED` or `UNKNOWN`, one line.
    instructions
        about how many instructions a run takes by the costs of the core, of the operators for
        which these are known; None if for none.
    operators, estimated_operators
        how many there are, and of how many the instructions are known.
    macs
        multiply-accumulates of a run; None if they are not known of all operators.
    algorithm
        that made the plan.
    is_optimal
        whether it is proved that no pool could be smaller; false if time ended the search.
    search_ended_by
        what ended the search for the plan, as in metadata; None if the algorithm does not search.
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
    macs: int | None = None
    algorithm: str | None = None
    is_optimal: bool | None = None
    search_ended_by: str | None = None

    @property
    def ram_bytes(self) -> int | None:
        """Workspace pools, and inputs and outputs outside of them."""
        if self.workspace_bytes is None or self.io_bytes is None:
            return None
        return self.workspace_bytes + self.io_bytes

    @property
    def flash_bytes(self) -> int | None:
        """Constants, and the code as far as it is known."""
        if self.constant_bytes is None:
            return None
        return self.constant_bytes + (self.code_bytes or 0)

    def as_json(self) -> dict[str, Any]:
        """Every field by name, and the two sums."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "ram_bytes": self.ram_bytes,
            "flash_bytes": self.flash_bytes,
            **{k: v for k, v in asdict(self).items() if k not in ("outcome", "reason")},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """The result that `as_json` described.

        Raises
        ------
        ValueError
            it is none.
        """
        values: dict[str, Any] = {field.name: data.get(field.name) for field in fields(cls)}
        result = cls(**values)
        if result.outcome not in OUTCOMES or result.code not in CODE_KINDS:
            raise ValueError(f'no outcome "{result.outcome}", or no kind of code "{result.code}"')
        for name, kind in _KINDS.items():
            value = getattr(result, name)
            if value is not None and type(value) is not kind:
                raise ValueError(f"{name} is {type(value).__name__}, not {kind.__name__}")
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} is negative")
        if (result.outcome == BUILT) != (None not in (result.ram_bytes, result.flash_bytes)):
            raise ValueError(f'outcome "{result.outcome}" and figures contradict each other')
        return result


_TEXTS = ("reason", "compiler", "code_reason", "algorithm", "search_ended_by")
_KINDS: dict[str, type] = {
    field.name: str if field.name in _TEXTS else bool if field.name == "is_optimal" else int
    for field in fields(Result)
    if field.name not in ("outcome", "code")
}
