"""The search record of a module: its attribute `usmp.search`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tvm.ir import IRModule

from usmp.objects.attributes.attribute import Attribute, plain


@dataclass(frozen=True)
class Alternative:
    """A choice that was not taken.

    Parameters
    ----------
    value
        the choice as shown to users.
    why
        the reason: "larger", "equal" (as large, but not preferred), "slower" (not larger, but more
        instructions), "bound" (a lower bound proves that it is not smaller), "no plan" (none fits
        or none was found), "refused: ..." (with the reason), or "not asked" (planned only
        for the record, because the options do not ask for it).
    peak_bytes
        peak of all workspace pools in its plan, in bytes; None if there is no plan.
    bound_bytes
        a lower bound of the peak, if the choice was not planned.
    """

    value: str
    why: str
    peak_bytes: int | None = None
    bound_bytes: int | None = None


@dataclass(frozen=True)
class Compared:
    """The record of one stage of the search.

    Parameters
    ----------
    stage
        one of `usmp.names.STAGES`.
    taken
        the selected choice as shown to users.
    peak_bytes
        peak of all workspace pools in the compared plan, in bytes; None if there is no plan.
    alternatives
        the other choices, in the order in which they were planned.
    entry
        the entry that the choice is for; empty for choices of all entries together.
    details
        facts that only this stage has.
    """

    stage: str
    taken: str
    peak_bytes: int | None = None
    alternatives: tuple[Alternative, ...] = ()
    entry: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def _written(line: Compared) -> dict[str, Any]:
    alternatives = [_known(vars(alternative)) for alternative in line.alternatives]
    return _known({**vars(line), "alternatives": alternatives, "details": dict(line.details)})


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _read(line: Mapping[str, Any]) -> Compared:
    return Compared(
        str(line["stage"]),
        str(line["taken"]),
        _number(line, "peak_bytes"),
        tuple(_alternative(row) for row in line["alternatives"]),
        str(line["entry"]),
        plain(line["details"]),
    )


def _alternative(row: Mapping[str, Any]) -> Alternative:
    value, why = str(row["value"]), str(row["why"])
    return Alternative(value, why, _number(row, "peak_bytes"), _number(row, "bound_bytes"))


def _number(values: Mapping[str, Any], name: str) -> int | None:
    return int(values[name]) if name in values else None


SEARCH_ATTR: Attribute[Sequence[Compared]] = Attribute(
    "usmp.search",
    "IRModule",
    "what each stage of the search compared, as plain data",
    lambda lines: [_read(line) for line in lines],
    lambda lines: [_written(line) for line in lines],
)


def compared_of(mod: IRModule) -> list[Compared]:
    """Return the search record of a module, in the order of stages."""
    return list(SEARCH_ATTR.of(mod) or ())


def with_compared(mod: IRModule, lines: Iterable[Compared]) -> IRModule:
    """Return the module with more lines in its search record."""
    known = [*compared_of(mod), *lines]
    return SEARCH_ATTR.put(mod, known) if known else mod


def of_entry(mod: IRModule, entry: str) -> list[Compared]:
    """Return the search record of a module, with each line assigned to `entry`."""
    return [replace(line, entry=entry) for line in compared_of(mod)]


def details_of(mod: IRModule, stage: str) -> list[Mapping[str, Any]]:
    """Return the details of each line of a stage, without lines for single entries."""
    lines = compared_of(mod)
    return [line.details for line in lines if line.stage == stage and not line.entry]
