"""Passes over alternative schedules, which are attributes of PrimFuncs."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.objects.schedule import held_schedules, with_held_schedules
from usmp.support.text.unique_names import UniqueNames


def with_schedules(apply: Callable[[IRModule], IRModule], mod: IRModule) -> IRModule:
    """Apply passes to a module and to the alternative schedules of its PrimFuncs.

    Parameters
    ----------
    apply
        applies passes that rewrite one PrimFunc at a time.
    """
    names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
    changed = IRModule(mod.functions, attrs=mod.attrs)
    held: dict[GlobalVar, list[GlobalVar]] = {}
    for variable, func in mod.functions.items():
        if not isinstance(func, tirx.PrimFunc):
            continue
        schedules = held_schedules(func)
        if schedules:
            held[variable] = [GlobalVar(names.unique(str(variable.name_hint))) for _ in schedules]
            changed.update_func(variable, with_held_schedules(func, func, ()))
            for other, schedule in zip(held[variable], schedules, strict=True):
                changed.update_func(other, schedule)
    if not held:
        return apply(mod)
    lowered = apply(changed)
    functions = dict(lowered.functions.items())
    by_name = {str(variable.name_hint): variable for variable in functions}
    for variable, others in held.items():
        rewritten = [functions.pop(by_name[str(other.name_hint)]) for other in others]
        same, before = by_name[str(variable.name_hint)], mod[variable]
        functions[same] = with_held_schedules(functions[same], before, rewritten)
    return IRModule(functions, attrs=lowered.attrs)
