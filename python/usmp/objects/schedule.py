"""Schedules of operators: the tiles of their loops, and the instructions that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from usmp.objects.attributes.attribute import Attribute


@dataclass(frozen=True)
class Schedule:
    """The tile in which an operator is computed.

    Parameters
    ----------
    tile
        the output elements that are computed at once, such as "2 pixels x 2 channels".
    instructions
        estimated number of instructions of a run on the core; None if unknown.
    """

    tile: str
    instructions: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are not None, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Schedule:
        """Return the schedule from the result of `as_json`, or from its copy in an attribute."""
        instructions = value.get("instructions")
        return Schedule(str(value["tile"]), None if instructions is None else int(instructions))


SCHEDULE_ATTR: Attribute[Schedule] = Attribute(
    "schedule",
    "PrimFunc of a kernel",
    "the tiles that it computes in, and about how many instructions it takes",
    Schedule.from_json,
    Schedule.as_json,
)

FASTER_SCHEDULES_ATTR: Attribute[Sequence[tirx.PrimFunc]] = Attribute(
    "faster_schedules",
    "PrimFunc of a kernel",
    "until `usmp.ChooseSchedules`, PrimFuncs with the same parameters that compute the same in "
    "larger tiles, the fastest first",
    tuple,
    list,
)

ROW_SCHEDULE_ATTR: Attribute[tirx.PrimFunc] = Attribute(
    "row_schedule",
    "PrimFunc of a kernel",
    "until `usmp.StreamOperators`, a PrimFunc with the same parameters that computes the same with "
    "an outermost loop over rows. The rows are those of its input or output, for operators that "
    "run interleaved",
)


def faster_schedules(func: tirx.PrimFunc) -> Sequence[tirx.PrimFunc]:
    """Return the equivalent PrimFuncs with larger tiles, the fastest first."""
    return FASTER_SCHEDULES_ATTR.of(func) or ()


def with_faster_schedules(func: tirx.PrimFunc, faster: Sequence[tirx.PrimFunc]) -> tirx.PrimFunc:
    """Return `func` with `faster` in place of its faster schedules."""
    if faster:
        return FASTER_SCHEDULES_ATTR.put(func, faster)
    return FASTER_SCHEDULES_ATTR.removed(func)


def with_row_schedule(func: tirx.PrimFunc, rows: tirx.PrimFunc | None) -> tirx.PrimFunc:
    """Return `func` with another row schedule (`ROW_SCHEDULE_ATTR`), or without one."""
    if rows is not None:
        return ROW_SCHEDULE_ATTR.put(func, rows)
    return ROW_SCHEDULE_ATTR.removed(func)


def held_schedules(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, ...]:
    """Return all alternatives of `func`: the faster schedules, and the row schedule if any."""
    rows = ROW_SCHEDULE_ATTR.of(func)
    return (*faster_schedules(func), *(() if rows is None else (rows,)))


def with_held_schedules(
    func: tirx.PrimFunc, like: tirx.PrimFunc, held: Sequence[tirx.PrimFunc]
) -> tirx.PrimFunc:
    """Return `func` with the alternatives `held`, in the order of `held_schedules(like)`."""
    number = len(faster_schedules(like))
    faster = with_faster_schedules(func, held[:number])
    return with_row_schedule(faster, held[number] if len(held) > number else None)
