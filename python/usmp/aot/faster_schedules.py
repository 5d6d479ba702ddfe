"""Passes over all PrimFuncs of a module also see those that attributes of others hold."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.objects.schedule import faster_schedules, with_faster_schedules
from usmp.support.unique_names import UniqueNames


def with_schedules(apply: Callable[[IRModule], IRModule], mod: IRModule) -> IRModule:
    """What passes make of a module, and of the faster schedules of its PrimFuncs as of these.

    Parameters
    ----------
    apply
        the passes, which look at one PrimFunc at a time.
    """
    names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
    changed = IRModule(mod.functions, attrs=mod.attrs)
    held: dict[GlobalVar, list[GlobalVar]] = {}
    for variable, func in mod.functions.items():
        if not isinstance(func, tirx.PrimFunc):
            continue
        faster = faster_schedules(func)
        if faster:
            held[variable] = [GlobalVar(names.unique(str(variable.name_hint))) for _ in faster]
            changed.update_func(variable, with_faster_schedules(func, ()))
            for other, schedule in zip(held[variable], faster, strict=True):
                changed.update_func(other, schedule)
    if not held:
        return apply(mod)
    lowered = apply(changed)
    functions = dict(lowered.functions.items())
    by_name = {str(variable.name_hint): variable for variable in functions}
    for variable, others in held.items():
        faster = tuple(functions.pop(by_name[str(other.name_hint)]) for other in others)
        same = by_name[str(variable.name_hint)]
        functions[same] = with_faster_schedules(functions[same], faster)
    return IRModule(functions, attrs=lowered.attrs)
