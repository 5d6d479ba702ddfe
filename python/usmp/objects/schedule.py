"""How an operator is computed: the tiles of its loops, and what that takes on its core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from usmp.objects.attribute import Attribute


@dataclass(frozen=True)
class Schedule:
    """The tiles that an operator is computed in.

    Parameters
    ----------
    tile
        what is computed at once, as "2 pixels x 2 channels".
    instructions
        about how many instructions a run takes, by the costs of the core; None if not known.
    """

    tile: str
    instructions: int | None = None

    def as_json(self) -> dict[str, Any]:
        """What is known of it, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Schedule:
        """What `as_json` gave, also if an attribute held it since."""
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
    """PrimFuncs that compute the same in larger tiles, the fastest first."""
    return FASTER_SCHEDULES_ATTR.of(func) or ()


def with_faster_schedules(func: tirx.PrimFunc, faster: Sequence[tirx.PrimFunc]) -> tirx.PrimFunc:
    """`func` with these in the place of those it had."""
    if faster:
        return FASTER_SCHEDULES_ATTR.put(func, faster)
    return FASTER_SCHEDULES_ATTR.removed(func)


def with_row_schedule(func: tirx.PrimFunc, rows: tirx.PrimFunc | None) -> tirx.PrimFunc:
    """`func` with this in the place of the one it had."""
    if rows is not None:
        return ROW_SCHEDULE_ATTR.put(func, rows)
    return ROW_SCHEDULE_ATTR.removed(func)


def held_schedules(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, ...]:
    """All other PrimFuncs that compute the same: the faster ones, and the one by rows."""
    rows = ROW_SCHEDULE_ATTR.of(func)
    return (*faster_schedules(func), *(() if rows is None else (rows,)))


def with_held_schedules(
    func: tirx.PrimFunc, like: tirx.PrimFunc, held: Sequence[tirx.PrimFunc]
) -> tirx.PrimFunc:
    """`func` with these, which stand for those of `like`."""
    number = len(faster_schedules(like))
    made = with_faster_schedules(func, held[:number])
    return with_row_schedule(made, held[number] if len(held) > number else None)
