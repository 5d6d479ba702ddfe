"""Comments on operators in C: their computations, tiles and costs."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from usmp.codegen.c.text import comment_text
from usmp.objects.merged_functions import merged_functions
from usmp.objects.operator_step import OperatorStep
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule
from usmp.objects.target.cores import PORTABLE, core_of
from usmp.ops.operator_steps import steps_of


def operator_comment(func: tirx.PrimFunc, name: str) -> str:
    """Return the comment above an operator or a shared function; empty for an operator without a
    schedule.

    Parameters
    ----------
    func
        a PrimFunc of the planned module, with its target.
    name
        its name in the module.
    """
    schedule, merged = SCHEDULE_ATTR.of(func), merged_functions(func)
    if merged:
        return f"/* {comment_text(', '.join(merged))} */\n"
    if schedule is None:
        return ""
    core = core_of((func.attrs or {}).get("target"))
    where = "" if core == PORTABLE else f" on {core.name}"
    text = f"{_computed(steps_of(func, name))}; {_scheduled(schedule, where)}"
    return f"/* {comment_text(text)} */\n"


def _computed(steps: Sequence[OperatorStep]) -> str:
    """Return text such as "conv2d 3x3, strides 2x2 and relu: 1244160 MACs"."""
    counts = [step.macs for step in steps]
    kinds = " and ".join(map(_described, steps))
    if None in counts:
        return kinds
    return f"{kinds}: {sum(count for count in counts if count is not None)} MACs"


def _described(step: OperatorStep) -> str:
    parts = [step.kind]
    if step.kernel:
        parts[0] += f" {_by(step.kernel)}"
    for word, values in (("strides", step.strides), ("dilations", step.dilations)):
        if values and set(values) != {1}:
            parts.append(f"{word} {_by(values)}")
    return ", ".join(parts)


def _by(values: Sequence[int]) -> str:
    return "x".join(map(str, values))


def _scheduled(schedule: Schedule, where: str) -> str:
    tiles = f"tiles of {schedule.tile}"
    if schedule.instructions is None:
        return tiles
    return f"{tiles}, about {schedule.instructions} instructions{where}"
