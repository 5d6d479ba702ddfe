"""The target of each PrimFunc."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.memory.facts import module_facts
from usmp.tir.global_symbol import global_symbol


def function_targets(mod: IRModule) -> dict[str, Target | None]:
    """Return the target of each PrimFunc by name; None if it is unknown.

    A PrimFunc without the attribute `target` runs where its callers do, if these agree. So does a
    private PrimFunc with the target of the compiling machine, because `tirx.transform.BindTarget`
    sets that target on every private PrimFunc that a function for another CPU calls.
    """
    graph = module_facts(mod).graph
    own = {
        name: func.attrs.get("target") if func.attrs else None
        for name, func in graph.functions.items()
    }
    host = str(Target("llvm"))
    private = {name for name in own if global_symbol(graph.functions[name]) is None}
    targets = {
        name: None if name in private and str(target) == host else target
        for name, target in own.items()
    }
    pending = [name for name, target in targets.items() if target is None]
    while pending:
        name = pending.pop()
        caller_targets = {str(targets[caller]): targets[caller] for caller in graph.callers[name]}
        if len(caller_targets) == 1 and None not in caller_targets.values():
            (targets[name],) = caller_targets.values()
            pending += [callee for callee in graph.callees(name) if targets[callee] is None]
    return {name: target or own[name] for name, target in targets.items()}
