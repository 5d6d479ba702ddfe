"""`streamed_main`: the statements of a main function, as operators that may run interleaved."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import ModuleFacts, facts_of_functions, module_facts
from usmp.analysis.memory.main_statements import main_statements
from usmp.objects.attributes.annotations import LIVE_THROUGHOUT_ATTR, STATE_TENSOR_ATTR
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
)
from usmp.objects.schedule import ROW_SCHEDULE_ATTR
from usmp.planning.streaming.operator_loop import OperatorLoop, operator_loop
from usmp.planning.streaming.segment import MainOperator
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.tir.nodes import nodes_of


def streamed_main(
    mod: IRModule,
    preserve_inputs: bool = False,
    like: StreamedMain | None = None,
    more_percent: float = 0.0,
) -> StreamedMain | None:
    """Return the operators of a main function; None if the effect of a statement is unknown.

    Parameters
    ----------
    more_percent
        see `StreamedMain`.
    like
        operators of a module with some of the same PrimFuncs, whose loops are reused.

    Raises
    ------
    ValueError
        a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    facts = module_facts(mod)
    main = main_statements(facts)
    if main is None:
        return None
    functions = prim_funcs(mod)
    known = {o.func: o.loop for o in ([] if like is None else like.operators) if o.loop}
    loops = {
        name: known.get(functions[name]) or _loop_of(name, functions[name], facts)
        for name in {statement.callee for statement in main.statements}
        if name is not None
    }
    operators = []
    for statement in main.statements:
        name = statement.callee
        memories = {a.index: a.memory for a in statement.arguments if a.byte_offset == 0}
        loop = None if name is None or statement.effect else loops[name]
        func = None if name is None else functions[name]
        operators.append(MainOperator(statement, func, loop, memories))
    return StreamedMain(mod, facts, operators, main.memories, preserve_inputs, more_percent)


def _loop_of(name: str, func: tirx.PrimFunc, facts: ModuleFacts) -> OperatorLoop | None:
    """Return the loop of a PrimFunc's row schedule, or of the PrimFunc without one; None if it is
    no loop, is not computed by its TIR, or has memory that persists."""
    is_other = ACCELERATOR_FUNCTION_ATTR.is_on(func) or EXTERN_KERNELS_ATTR.is_on(func)
    if is_other or _keeps_memory(func):
        return None
    rows = ROW_SCHEDULE_ATTR.of(func)
    own = facts.of(name) if rows is None else facts_of_functions({name: rows}).of(name)
    return own.once("operator_loop", operator_loop)


def _keeps_memory(func: tirx.PrimFunc) -> bool:
    """Return whether a PrimFunc has memory whose content persists between calls."""
    return any(
        STATE_TENSOR_ATTR.is_on(stmt) or LIVE_THROUGHOUT_ATTR.is_on(stmt)
        for stmt in nodes_of(func.body, tirx.AllocBuffer)
    )
