"""Kernels: operators written for a core, with constants laid out for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx


@dataclass(frozen=True)
class Kernel:
    """What a call of an operator becomes.

    Parameters
    ----------
    func
        the PrimFunc.
    arguments
        what it takes before its outputs: the number of an argument of the operator, or a constant.
    schedule
        how it computes, in a few words.
    """

    func: tirx.PrimFunc
    arguments: tuple[int | np.ndarray, ...]
    schedule: str


def kernel(
    func: tirx.PrimFunc,
    body: tirx.Stmt,
    replaced: Mapping[tirx.Var, Sequence[tuple[tirx.Var, np.ndarray]]],
    schedule: str,
    count: int,
) -> Kernel:
    """A kernel with the parameters of the operator that it stands for.

    Parameters
    ----------
    func
        the operator.
    body
        of the kernel.
    replaced
        by parameter of the operator that the kernel lacks: parameters and constants in its place.
    schedule
        how it computes.
    count
        arguments that a call of the operator has.
    """
    params: list[tirx.Var] = []
    arguments: list[int | np.ndarray] = []
    for number, param in enumerate(func.params):
        others = replaced.get(param)
        params += [param] if others is None else [buffer for buffer, _ in others]
        if number < count:
            arguments += [number] if others is None else [values for _, values in others]
    made = tirx.PrimFunc(params, body).with_attrs(dict(func.attrs))
    return Kernel(made, tuple(arguments), schedule)
