"""Restoration of the spans of Relax calls and functions that passes lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import BaseFunc, Call, IRModule, SequentialSpan, Span, Var

from usmp.tir.model_operator import is_of_model, joined_span, single_spans
from usmp.tir.nodes import nodes_of, variable_bindings

AnySpan: TypeAlias = "Span | SequentialSpan"
Spans: TypeAlias = "dict[Var, AnySpan]"
"""For variables of a Relax function, the span of the call that is bound to them."""

Visit = TypeVar("Visit", bound=Callable[[Any, Call], relax.Expr])


def with_span(expr: relax.Expr, span: AnySpan | None) -> relax.Expr:
    """Return a call with another span; other expressions are returned unchanged."""
    if not isinstance(expr, Call):
        return expr
    return Call(expr.op, expr.args, expr.attrs, expr.ty_args, span, expr.ty)


def keeps_span(visit: Visit) -> Visit:
    """Let a mutator's `visit_call_` copy the span of a call to the call that replaces it.

    `functions_with_spans` restores the spans of further calls that the mutator binds. The decorator
    is needed where the replacement has another type, because TVM then binds a new variable.
    """

    @wraps(visit)
    def visit_call(self: Any, call: Call) -> relax.Expr:
        result = visit(self, call)
        if isinstance(result, Call) and not is_of_model(result.span) and is_of_model(call.span):
            return with_span(result, call.span)
        return result

    return visit_call  # type: ignore[return-value]


def functions_with_spans(before: IRModule, after: IRModule) -> IRModule:
    """Return `after`, the result of a pass on `before`, with the spans that the pass has lost.

    A pass that replaces a call binds intermediate results, and then the same variable to the
    replacement if types are equal. So a call without a span gets the old span of its variable, else
    the span of the first call with one that needs its result, else that of the last call with one
    before it. Spans that no call has then belong to operators that were fused into others. Such a
    span joins the spans of the first remaining consumers of its operator.
    """
    changed = {}
    named = {str(variable.name_hint): function for variable, function in before.functions.items()}
    for variable, function in after.functions.items():
        old = named.get(str(variable.name_hint))
        if old is None or old.same_as(function):
            continue
        kept = _with_lost_spans(old, function)
        if not kept.same_as(function):
            changed[variable] = kept
    if not changed:
        return after
    return IRModule({**after.functions, **changed}, attrs=after.attrs)


def with_function_span(function: BaseFunc, span: AnySpan | None) -> BaseFunc:
    """Return a Relax or TIR function with a span; unchanged if `span` is None."""
    if span is None:
        return function
    if isinstance(function, tirx.PrimFunc):
        parts = (function.params, function.body, function.ret_type, function.attrs)
        return tirx.PrimFunc(*parts, span)
    fields = (function.params, function.body, function.ret_ty, function.is_pure, function.attrs)
    return relax.Function(*fields, span)


def with_all_spans(mod: IRModule) -> IRModule:
    """Return the module with the spans of their readers for calls without one."""
    changed = {
        variable: function_with_spans(function, spans)
        for variable, function in mod.functions.items()
        if _has_body(function) and (spans := _lacking(function, {}))
    }
    return IRModule({**mod.functions, **changed}, attrs=mod.attrs) if changed else mod


def bound_spans(function: relax.Function) -> Spans:
    """Return the spans of calls, by the variables that the calls are bound to."""
    return {
        binding.var: binding.value.span
        for binding in _calls(function)
        if is_of_model(binding.value.span)
    }


def function_with_spans(function: relax.Function, spans: Spans) -> relax.Function:
    """Return the function with the spans in `spans` at the calls that variables are bound to."""
    calls = {b.value: spans[b.var] for b in _calls(function) if b.var in spans}

    def on_call(call: Call) -> Call:
        return with_span(call, calls[call]) if call in calls else call

    changed: relax.Function = tvm_ffi.structural_map(function, (Call, on_call))
    return changed


def _with_lost_spans(old: BaseFunc, new: BaseFunc) -> BaseFunc:
    """Return `new`, the result of a pass on `old`, with the spans that the pass has lost."""
    if _has_body(old) and _has_body(new):
        known = bound_spans(old)
        spans = _completed(old, known, new) if known else {}
        new = function_with_spans(new, spans) if spans else new
    if (
        new.span is None
        and is_of_model(old.span)
        and isinstance(new, tirx.PrimFunc | relax.Function)
    ):
        return with_function_span(new, old.span)
    return new


def _completed(old: relax.Function, known: Spans, new: relax.Function) -> Spans:
    """Return the spans of calls in `new` that have lost their span or absorbed another call."""
    completed = _lacking(new, known)
    now = {**bound_spans(new), **completed}
    present = _sources(now.values())
    if _sources(known.values()) <= present:
        return completed
    gone = Absorbed()
    for binding in variable_bindings(old):
        var, own = binding.var, known.get(binding.var)
        is_lost = own is not None and not _sources([own]) <= present
        read = nodes_of(binding.value, Var)
        if var in now:
            joined = joined_span([*gone.of(read), own if is_lost else None])
            if joined is not None:
                completed[var] = now[var] = joined_or(now[var], joined)
        else:
            gone.add(var, own if is_lost else None, read)
    return completed


class Absorbed:
    """Spans of calls that were fused into others, until a remaining call reads their results."""

    def __init__(self) -> None:
        self._known: dict[Var, tuple[AnySpan | None, tuple[Var, ...]]] = {}

    def add(self, var: Var, span: AnySpan | None, read: Iterable[Var]) -> None:
        """Record the span of a variable, and the variables in `read` whose spans it inherits."""
        self._known[var] = span, tuple(source for source in read if source in self._known)

    def of(self, read: Iterable[Var]) -> list[AnySpan]:
        """Return the recorded spans of variables and of the variables behind them, each once."""
        pending, seen, spans = list(read), set[Var](), list[AnySpan]()
        while pending:
            var = pending.pop()
            if var in seen or var not in self._known:
                continue
            seen.add(var)
            span, behind = self._known[var]
            spans += [] if span is None else [span]
            pending += behind
        return spans


def joined_or(span: AnySpan, *others: AnySpan) -> AnySpan:
    """Return one span that joins all these spans."""
    joined = joined_span([span, *others])
    assert joined is not None
    return joined


def _lacking(function: relax.Function, known: Spans) -> Spans:
    """Return spans for the calls without one: of the first call with a span that needs their
    result, or else of the last call with one before them, or in the function."""
    spans: dict[Var, AnySpan | None] = {}
    unread: dict[Var, list[Var]] = {}
    last = None
    for binding in variable_bindings(function):
        var, is_call = binding.var, isinstance(binding.value, Call)
        own = binding.value.span if is_call and is_of_model(binding.value.span) else None
        span = known.get(var) if own is None else own
        pending = nodes_of(binding.value, Var) if unread else []
        if own is None:
            unread[var], pending = pending, [var]
            if is_call:
                spans[var] = last
        if span is None:
            continue
        while pending:
            source = pending.pop()
            if source in unread:
                pending += unread.pop(source)
                if source in spans:
                    spans[source] = span
        last = span
    if last is None:
        return {}
    return {var: last if span is None else span for var, span in spans.items()}


def _sources(spans: Iterable[AnySpan]) -> set[str]:
    return {str(single.source_name.name) for span in spans for single in single_spans(span)}


def _calls(function: relax.Function) -> list[relax.VarBinding]:
    return [binding for binding in variable_bindings(function) if isinstance(binding.value, Call)]


def _has_body(function: object) -> bool:
    return isinstance(function, relax.Function) and isinstance(function.body, relax.SeqExpr)
