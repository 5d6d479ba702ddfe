"""Kernels: operators written for a core, with constants laid out for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.objects.schedule import (
    SCHEDULE_ATTR,
    Schedule,
    with_faster_schedules,
    with_row_schedule,
)
from usmp.ops.kernels.call.operator_call import OperatorCall


@dataclass(frozen=True)
class Kernel:
    """What a call of an operator becomes.

    Parameters
    ----------
    func
        the PrimFunc, with its schedule and those that are faster (see `usmp.objects.schedule`).
    arguments
        what it takes before its outputs: an argument of the model's call, by its number, or a
        constant.
    """

    func: tirx.PrimFunc
    arguments: tuple[int | np.ndarray, ...]


@dataclass(frozen=True)
class TiledBody:
    """The body of a kernel, and how it computes."""

    body: tirx.Stmt
    schedule: Schedule


def kernel(
    call: OperatorCall,
    bodies: Sequence[TiledBody],
    replaced: Mapping[tirx.Var, Sequence[tuple[tirx.Var, np.ndarray]]],
    rows: TiledBody | None = None,
) -> Kernel:
    """A kernel with the parameters of the operator that it stands for.

    Parameters
    ----------
    call
        of the operator.
    bodies
        ways to compute it; at the end the one whose outputs may lie over most of its inputs: the
        smallest tiles. Others are left out if they are not faster.
    replaced
        by parameter of the operator that the kernel lacks: parameters and constants in its place.
    rows
        a way whose outermost loop is over rows, for operators that run interleaved, if that of the
        smallest tiles is not (see `usmp.transform.StreamOperators`).
    """
    params: list[tirx.Var] = []
    arguments: list[int | np.ndarray] = []
    for number, param in enumerate(call.func.params):
        others = replaced.get(param)
        params += [param] if others is None else [buffer for buffer, _ in others]
        if number < len(call.constants):
            own = [call.arguments[number]]
            arguments += own if others is None else [values for _, values in others]
    attributes = dict(call.func.attrs)

    def made(tiled: TiledBody) -> tirx.PrimFunc:
        func = tirx.PrimFunc(params, tiled.body).with_attrs(attributes)
        return SCHEDULE_ATTR.put(func, tiled.schedule)

    smallest, *faster = map(made, [bodies[-1], *_faster(bodies)])
    func = with_faster_schedules(smallest, faster)
    return Kernel(func if rows is None else with_row_schedule(func, made(rows)), tuple(arguments))


def _faster(bodies: Sequence[TiledBody]) -> list[TiledBody]:
    """Those that are faster than the last one, the fastest first."""
    *others, smallest = ((tiled.schedule.instructions or 0, tiled) for tiled in bodies)
    faster = [other for other in others if other[0] < smallest[0]]
    return [tiled for _, tiled in sorted(faster, key=lambda other: other[0])]
