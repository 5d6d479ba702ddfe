"""How an operator is computed: the tiles of its loops, and what that takes on its core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from usmp.objects.attributes import (
    FASTER_SCHEDULES_ATTR,
    ROW_SCHEDULE_ATTR,
    SCHEDULE_ATTR,
)


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


def schedule_of(func: tirx.PrimFunc) -> Schedule | None:
    """The schedule of a PrimFunc; None if it has no tiles."""
    said = (func.attrs or {}).get(SCHEDULE_ATTR)
    if said is None:
        return None
    instructions = said.get("instructions")
    return Schedule(str(said["tile"]), None if instructions is None else int(instructions))


def with_schedule(func: tirx.PrimFunc, schedule: Schedule) -> tirx.PrimFunc:
    """`func` with this schedule."""
    return func.with_attr(SCHEDULE_ATTR, schedule.as_json())


def faster_schedules(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, ...]:
    """PrimFuncs that compute the same in larger tiles, the fastest first."""
    return tuple((func.attrs or {}).get(FASTER_SCHEDULES_ATTR, ()))


def with_faster_schedules(func: tirx.PrimFunc, faster: Sequence[tirx.PrimFunc]) -> tirx.PrimFunc:
    """`func` with these in the place of those it had."""
    if faster:
        return func.with_attr(FASTER_SCHEDULES_ATTR, list(faster))
    if FASTER_SCHEDULES_ATTR in (func.attrs or {}):
        return func.without_attr(FASTER_SCHEDULES_ATTR)
    return func


def row_schedule(func: tirx.PrimFunc) -> tirx.PrimFunc | None:
    """The PrimFunc that computes the same row by row; None if there is none but itself."""
    return (func.attrs or {}).get(ROW_SCHEDULE_ATTR)


def with_row_schedule(func: tirx.PrimFunc, rows: tirx.PrimFunc | None) -> tirx.PrimFunc:
    """`func` with this in the place of the one it had."""
    if rows is not None:
        return func.with_attr(ROW_SCHEDULE_ATTR, rows)
    if ROW_SCHEDULE_ATTR in (func.attrs or {}):
        return func.without_attr(ROW_SCHEDULE_ATTR)
    return func


def held_schedules(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, ...]:
    """All other PrimFuncs that compute the same: the faster ones, and the one by rows."""
    rows = row_schedule(func)
    return (*faster_schedules(func), *(() if rows is None else (rows,)))


def with_held_schedules(
    func: tirx.PrimFunc, like: tirx.PrimFunc, held: Sequence[tirx.PrimFunc]
) -> tirx.PrimFunc:
    """`func` with these, which stand for those of `like`."""
    number = len(faster_schedules(like))
    made = with_faster_schedules(func, held[:number])
    return with_row_schedule(made, held[number] if len(held) > number else None)
