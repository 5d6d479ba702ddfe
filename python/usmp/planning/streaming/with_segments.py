"""A module in which operators of `__tvm_main__` run interleaved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, TupleType

from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.main_statements import DECLARATIONS
from usmp.analysis.memory.memories import Memory
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.planning.main_function import with_main
from usmp.planning.streaming.segment import Segment
from usmp.planning.streaming.streamed_function import StreamedFunction
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.model_operator import joined_span
from usmp.tir.nodes import nodes_of, sequence


def with_segments(
    main: StreamedMain, segments: Mapping[tuple[int, int], tuple[Segment, StreamedFunction]]
) -> IRModule:
    """Return the module of `main` with a PrimFunc for each segment, without unused PrimFuncs.

    Parameters
    ----------
    segments
        segments and their PrimFuncs, by positions of the first operator and the one after the last.
    """
    mod = main.mod
    names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
    functions = dict(mod.functions.items())
    statements = [operator.statement.stmt for operator in main.operators]
    dropped = {m for segment, _ in segments.values() for m in segment.inside}
    for (start, stop), (segment, function) in sorted(segments.items(), reverse=True):
        first, last = (segment.operators[i].statement.callee for i in (0, -1))
        variable = GlobalVar(names.unique(f"{first}_to_{last}"))
        functions[variable] = function.func
        span = joined_span(s.value.span for s in statements[start:stop] if _is_call(s))
        call = Call(variable, list(function.arguments), span=span, ret_ty=TupleType([]))
        statements[start:stop] = [tirx.Evaluate(call)]
    func = mod[MAIN_FUNCTION_NAME]
    declarations = list(_declarations(func, dropped))
    changed = IRModule(functions, attrs=mod.attrs)
    main = func.with_body(sequence([*declarations, *statements]), func.span)
    return _without_unused(with_main(changed, main), mod)


def _is_call(stmt: tirx.Stmt) -> bool:
    return isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, Call)


def _declarations(func: tirx.PrimFunc, memories: Iterable[Memory]) -> Iterator[tirx.Stmt]:
    """Yield the declarations of a main function, without some memories and views of them."""
    dropped = set(memories)
    for stmt in tirx.stmt_list(func.body):
        if not isinstance(stmt, DECLARATIONS):
            continue
        variable = stmt.var if isinstance(stmt, tirx.Bind) else stmt.buffer
        if not dropped.isdisjoint([variable, *nodes_of(stmt, tirx.Var)]):
            dropped.add(variable)
            continue
        yield stmt


def _without_unused(mod: IRModule, before: IRModule) -> IRModule:
    """Return `mod` without the PrimFuncs that were called before and that nothing calls now."""
    unused = _called(before) - _called(mod)
    functions = {v: f for v, f in mod.functions.items() if str(v.name_hint) not in unused}
    return IRModule(functions, attrs=mod.attrs)


def _called(mod: IRModule) -> set[str]:
    graph = module_facts(mod).graph
    return {callee for name in graph.functions for callee in graph.callees(name)}
