"""Kernels: operators written for a core, with constants in the layout of their loops."""

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
    """A PrimFunc that replaces an operator, and the arguments of its call.

    Parameters
    ----------
    func
        the PrimFunc, with its schedule and faster ones (see `usmp.objects.schedule`).
    arguments
        the arguments before the outputs: numbers of arguments of the model's call, or constants.
    """

    func: tirx.PrimFunc
    arguments: tuple[int | np.ndarray, ...]


@dataclass(frozen=True)
class TiledBody:
    """The body of a kernel, and its schedule."""

    body: tirx.Stmt
    schedule: Schedule


def kernel(
    call: OperatorCall,
    bodies: Sequence[TiledBody],
    replaced: Mapping[tirx.Var, Sequence[tuple[tirx.Var, np.ndarray]]],
    rows: TiledBody | None = None,
) -> Kernel:
    """Return a kernel with the parameters of the operator that it replaces.

    Parameters
    ----------
    call
        the call of the operator.
    bodies
        alternative bodies. The last one has the smallest tiles, so that its outputs may overwrite
        most of its inputs. Other bodies are dropped unless they are faster than the last one.
    replaced
        parameter of the operator that the kernel lacks -> the parameters that replace it, each
        with its constant.
    rows
        a body whose outermost loop is over rows, for operators that run interleaved (see
        `usmp.transform.StreamOperators`); None without such a body, or if `bodies[-1]` is one.
    """
    params: list[tirx.Var] = []
    arguments: list[int | np.ndarray] = []
    for number, param in enumerate(call.func.params):
        pairs = replaced.get(param)
        params += [param] if pairs is None else [buffer for buffer, _ in pairs]
        if number < len(call.constants):
            argument = [call.arguments[number]]
            arguments += argument if pairs is None else [values for _, values in pairs]
    attributes = dict(call.func.attrs)

    def build(tiled: TiledBody) -> tirx.PrimFunc:
        func = tirx.PrimFunc(params, tiled.body).with_attrs(attributes)
        return SCHEDULE_ATTR.put(func, tiled.schedule)

    smallest, *faster = map(build, [bodies[-1], *_faster(bodies)])
    func = with_faster_schedules(smallest, faster)
    return Kernel(func if rows is None else with_row_schedule(func, build(rows)), tuple(arguments))


def _faster(bodies: Sequence[TiledBody]) -> list[TiledBody]:
    """Return the bodies that are faster than the last one, the fastest first."""
    *others, smallest = ((tiled.schedule.instructions or 0, tiled) for tiled in bodies)
    faster = [other for other in others if other[0] < smallest[0]]
    return [tiled for _, tiled in sorted(faster, key=lambda other: other[0])]
