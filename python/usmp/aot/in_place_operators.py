"""Variants of operators that overwrite an argument with a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.analysis.memory.facts import ModuleFacts, module_facts
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
)
from usmp.objects.schedule import with_faster_schedules, with_row_schedule


@dataclass(frozen=True)
class InPlaceOperators:
    """The in-place variants of a module's operators.

    Parameters
    ----------
    mod
        a module of flat operator PrimFuncs.
    """

    mod: IRModule
    _made: dict[tuple[str, int, int], tirx.PrimFunc | None] = field(default_factory=dict)

    def overwriting(self, operator: GlobalVar, argument: int, result: int) -> tirx.PrimFunc | None:
        """Return a PrimFunc that overwrites an argument with the result, without the result's
        parameter.

        Return None if an element could be overwritten before its last read, or if `operator` is not
        in the module, because it is an in-place variant already.

        Parameters
        ----------
        operator
            variable of the operator in the module.
        argument, result
            indices of two parameters, pointers to tensors of one type.
        """
        key = str(operator.name_hint), argument, result
        if operator not in self.mod.functions:
            return None
        if key not in self._made:
            func = self.mod[operator]
            is_safe = _may_overwrite(func, key, module_facts(self.mod))
            self._made[key] = _overwriting(func, argument, result) if is_safe else None
        return self._made[key]


def _may_overwrite(func: tirx.PrimFunc, key: tuple[str, int, int], facts: ModuleFacts) -> bool:
    """Return whether each element of the argument is read before the result overwrites it."""
    name, argument, result = key
    if ACCELERATOR_FUNCTION_ATTR.is_on(func) or EXTERN_KERNELS_ATTR.is_on(func):
        return False  # External functions compute it, and take both pointers.
    params = func.params
    return facts.of(name).overlap.relative_distance(params[argument], params[result]) <= 0


def _overwriting(func: tirx.PrimFunc, argument: int, result: int) -> tirx.PrimFunc:
    """Return the operator with the result at the address of an argument."""
    pointers: Mapping[tirx.Var, tirx.Var] = {func.params[result]: func.params[argument]}
    body = tvm_ffi.structural_map(func.body, (tirx.Var, lambda var: pointers.get(var, var)))
    params = [param for index, param in enumerate(func.params) if index != result]
    changed = tirx.PrimFunc(params, body, func.ret_type, func.attrs, func.span)
    # Alternative schedules may read elements that this one has overwritten.
    return with_row_schedule(with_faster_schedules(changed, ()), None)
