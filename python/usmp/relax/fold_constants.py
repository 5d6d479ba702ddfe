"""Compute at compile time what depends on constants alone."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule

from usmp.analysis.nodes import nodes_of

_EXTERNAL = ("tirx.call_extern", "tirx.call_pure_extern")


def fold_constants(mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """A module pass: TVM's FoldConstant, but for operators that call C functions.

    TVM runs what it folds in this process, and there only the emitted C has these functions.
    """
    hidden = {
        variable: func
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc) and _calls_c(func)
    }
    folded = IRModule(mod.functions, attrs=mod.attrs)
    for variable in hidden:
        folded.update_func(variable, relax.ExternFunc(variable.name_hint))
    folded = relax.transform.FoldConstant()(folded)
    for variable, func in hidden.items():
        folded.update_func(variable, func)
    return folded


def _calls_c(func: tirx.PrimFunc) -> bool:
    """Whether the function calls another one that is written in C."""
    return any(getattr(call.op, "name", None) in _EXTERNAL for call in nodes_of(func.body, Call))
