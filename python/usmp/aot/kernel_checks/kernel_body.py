"""The bodies of kernels, with the operators that they replace."""

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
        operators of the model file, or else the name of the PrimFunc.
    func
        the called PrimFunc, in block form.
    constants
        constant arguments of the call; None for other arguments.
    """

    title: str
    func: tirx.PrimFunc
    constants: tuple[np.ndarray | None, ...]

    @cached_property
    def digest(self) -> str:
        """A text that is equal for operators of equal code and constants."""
        return _digest(self.func, (c for c in self.constants if c is not None))

    @property
    def outputs(self) -> list[tirx.Var]:
        """The output parameters."""
        return list(self.func.params)[len(self.constants) :]


@dataclass(frozen=True, eq=False)
class KernelBody:
    """A PrimFunc that a build may choose for an operator.

    Parameters
    ----------
    operator
        the operator that it replaces.
    core
        name of the core.
    kernel
        its kernel, which has the arguments.
    func
        the PrimFunc, in block form.
    """

    operator: ReplacedOperator
    core: str
    kernel: Kernel
    func: tirx.PrimFunc

    @cached_property
    def digest(self) -> str:
        """A text that is equal for bodies of equal code and operator, for any core."""
        return self.operator.digest + _digest(self.func, self.constants)

    @property
    def constants(self) -> list[np.ndarray]:
        """The constants that only the kernel has."""
        return [argument for argument in self.kernel.arguments if not isinstance(argument, int)]

    @property
    def title(self) -> str:
        """The operator, the core and the tiles, for messages."""
        schedule = SCHEDULE_ATTR.of(self.func)
        tiles = f" in tiles of {schedule.tile}" if schedule else ""
        return f"the kernel of {self.operator.title} for {self.core}{tiles}"


def bodies_of(operator: ReplacedOperator, core: str, kernel: Kernel) -> list[KernelBody]:
    """Return the bodies that a build may choose from: the kernel and its other schedules."""
    funcs = (kernel.func, *held_schedules(kernel.func))
    return [KernelBody(operator, core, kernel, func) for func in funcs]


def _digest(func: tirx.PrimFunc, constants: Iterable[np.ndarray]) -> str:
    code = tvm_ffi.structural_hash([*func.params, func.body], map_free_vars=True)
    content_hash = hashlib.sha256(str(code).encode())
    for array in constants:
        content_hash.update(np.ascontiguousarray(array).tobytes())
    return content_hash.hexdigest()
