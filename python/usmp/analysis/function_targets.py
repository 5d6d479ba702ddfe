"""On which target does each PrimFunc run?"""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, IRModule
from tvm.target import Target

from usmp.analysis.calls import CallResolver


def function_targets(mod: IRModule) -> dict[str, Target | None]:
    """The target of each PrimFunc by name; None if nothing tells.

    A PrimFunc without the attribute `target` runs where its callers do, if these agree. So does a
    private one that has the target of the compiling machine: `tirx.transform.BindTarget` gives it
    to every private PrimFunc that a function for another CPU calls.
    """
    functions = {
        str(variable.name_hint): func
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
    }
    own = {
        name: func.attrs.get("target") if func.attrs else None for name, func in functions.items()
    }
    host = str(Target("llvm"))
    targets = {
        name: None if _is_private(functions[name]) and str(target) == host else target
        for name, target in own.items()
    }
    if None not in targets.values():
        return targets
    callers = _callers(functions, mod)
    changed = True
    while changed:
        changed = False
        for name in [name for name, target in targets.items() if target is None]:
            found = {str(targets[caller]): targets[caller] for caller in callers[name]}
            if len(found) == 1 and None not in found.values():
                (targets[name],) = found.values()
                changed = True
    return {name: target or own[name] for name, target in targets.items()}


def _is_private(func: tirx.PrimFunc) -> bool:
    return not func.attrs or func.attrs.get("global_symbol") is None


def _callers(functions: dict[str, tirx.PrimFunc], mod: IRModule) -> dict[str, set[str]]:
    calls = CallResolver(mod)
    callers: dict[str, set[str]] = {name: set() for name in functions}
    for name, func in functions.items():

        def on_call(call: Call, name: str = name) -> None:
            found = calls.resolve(call)
            if found is not None:
                callers[found.callee].add(name)

        tvm_ffi.structural_walk(func.body, (Call, on_call))
    return callers
