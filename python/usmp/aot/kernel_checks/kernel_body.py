"""The bodies of kernels, each beside the operator that it replaces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tvm_ffi
from tvm import tirx

from usmp.objects.schedule import SCHEDULE_ATTR, held_schedules
from usmp.ops.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False)
class ReplacedOperator:
    """A call of an operator that a kernel replaces.

    Parameters
    ----------
    title
        the operators of the model file that it computes, else the name of its PrimFunc.
    func
        what it calls, in block form.
    constants
        the arguments of the call that are constants; None for the others.
    """

    title: str
    func: tirx.PrimFunc
    constants: tuple[np.ndarray | None, ...]

    @cached_property
    def digest(self) -> str:
        """The same text for operators that compute the same from the same constants."""
        return _digest(self.func, (c for c in self.constants if c is not None))

    @property
    def outputs(self) -> list[tirx.Var]:
        """The parameters that are written."""
        return list(self.func.params)[len(self.constants) :]


@dataclass(frozen=True, eq=False)
class KernelBody:
    """One of the PrimFuncs that a build may choose for an operator.

    Parameters
    ----------
    operator
        that it replaces.
    core
        the name of the core that it is for.
    kernel
        that it belongs to, which has its arguments.
    func
        itself, in block form.
    """

    operator: ReplacedOperator
    core: str
    kernel: Kernel
    func: tirx.PrimFunc

    @cached_property
    def digest(self) -> str:
        """The same text for bodies that compute the same in the place of the same operator, for
        whichever core they are."""
        return self.operator.digest + _digest(self.func, self.constants)

    @property
    def constants(self) -> list[np.ndarray]:
        """The arguments that the operator does not have."""
        return [argument for argument in self.kernel.arguments if not isinstance(argument, int)]

    @property
    def title(self) -> str:
        """The tiles, the operator and the core."""
        schedule = SCHEDULE_ATTR.of(self.func)
        tiles = f" in tiles of {schedule.tile}" if schedule else ""
        return f"the kernel of {self.operator.title} for {self.core}{tiles}"


def bodies_of(operator: ReplacedOperator, core: str, kernel: Kernel) -> list[KernelBody]:
    """Return all that a build may choose from: the kernel and its other schedules."""
    funcs = (kernel.func, *held_schedules(kernel.func))
    return [KernelBody(operator, core, kernel, func) for func in funcs]


def _digest(func: tirx.PrimFunc, constants: Iterable[np.ndarray]) -> str:
    code = tvm_ffi.structural_hash([*func.params, func.body], map_free_vars=True)
    found = hashlib.sha256(str(code).encode())
    for array in constants:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
