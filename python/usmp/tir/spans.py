"""Calls in Relax, and functions, keep the span of what they were made from, whatever passes make of
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import BaseFunc, Call, IRModule, SequentialSpan, Span, Var

from usmp.tir.model_operator import is_of_model, joined_span, single_spans
from usmp.tir.nodes import nodes_of

AnySpan: TypeAlias = "Span | SequentialSpan"
Spans: TypeAlias = "dict[Var, AnySpan]"
"""Variables of a Relax function -> the span of what is bound to them."""

Visit = TypeVar("Visit", bound=Callable[[Any, Call], relax.Expr])


def with_span(expr: relax.Expr, span: AnySpan | None) -> relax.Expr:
    """The same call, of another source; what is no call is itself."""
    if not isinstance(expr, Call):
        return expr
    return Call(expr.op, expr.args, expr.attrs, expr.ty_args, span, expr.ty)


def keeps_span(visit: Visit) -> Visit:
    """Let a mutator's `visit_call_` give the span of a call to what it returns in its place.

    What it binds on the way there gets it from `functions_with_spans`, also where the type of the
    result is another one, so that TVM binds another variable.
    """

    @wraps(visit)
    def visit_call(self: Any, call: Call) -> relax.Expr:
        made = visit(self, call)
        if isinstance(made, Call) and not is_of_model(made.span) and is_of_model(call.span):
            return with_span(made, call.span)
        return made

    return visit_call  # type: ignore[return-value]


def functions_with_spans(before: IRModule, after: IRModule) -> IRModule:
    """`after`, which a pass made of `before`, with spans of calls and functions that the pass has
    lost.

    A pass that replaces what a variable is bound to binds the same variable again, if its type is
    the same, after what it computes on the way there. So a call without a span has the one that was
    that of its variable, or else that of the next call that has one, or else of the last one. Spans
    that are in no call then are those of what became part of another operator: they join those of
    the first calls behind them that are left.
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
    """The same function, Relax or TIR, of these operators of the model file."""
    if span is None:
        return function
    if isinstance(function, tirx.PrimFunc):
        parts = (function.params, function.body, function.ret_type, function.attrs)
        return tirx.PrimFunc(*parts, span)
    made = (function.params, function.body, function.ret_ty, function.is_pure, function.attrs)
    return relax.Function(*made, span)


def with_all_spans(mod: IRModule) -> IRModule:
    """The module; calls without a span have that of the next call that has one, or of the last."""
    changed = {
        variable: function_with_spans(function, found)
        for variable, function in mod.functions.items()
        if _has_body(function) and (found := _lacking(function, {}))
    }
    return IRModule({**mod.functions, **changed}, attrs=mod.attrs) if changed else mod


def bound_spans(function: relax.Function) -> Spans:
    """The spans of calls that variables are bound to."""
    return {
        binding.var: binding.value.span
        for binding in _calls(function)
        if is_of_model(binding.value.span)
    }


def function_with_spans(function: relax.Function, spans: Spans) -> relax.Function:
    """The same function; the calls that these variables are bound to have these spans."""
    calls = {b.value: spans[b.var] for b in _calls(function) if b.var in spans}

    def on_call(call: Call) -> Call:
        return with_span(call, calls[call]) if call in calls else call

    changed: relax.Function = tvm_ffi.structural_map(function, (Call, on_call))
    return changed


def _with_lost_spans(old: BaseFunc, new: BaseFunc) -> BaseFunc:
    """`new`, which was made of `old`, with the spans of that which it lacks."""
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
    """The spans of calls in `new` that have none yet, or to which others belong too."""
    found = _lacking(new, known)
    now = {**bound_spans(new), **found}
    present = _sources(now.values())
    if _sources(known.values()) <= present:
        return found
    gone = Absorbed()
    for binding in _bindings(old):
        var, own = binding.var, known.get(binding.var)
        is_lost = own is not None and not _sources([own]) <= present
        read = nodes_of(binding.value, Var)
        if var in now:
            joined = joined_span([*gone.of(read), own if is_lost else None])
            if joined is not None:
                found[var] = now[var] = joined_or(now[var], joined)
        else:
            gone.add(var, own if is_lost else None, read)
    return found


class Absorbed:
    """Spans of what runs nothing by itself any more, until something that runs reads it."""

    def __init__(self) -> None:
        self._known: dict[Var, tuple[AnySpan | None, tuple[Var, ...]]] = {}

    def add(self, var: Var, span: AnySpan | None, read: Iterable[Var]) -> None:
        """Note that a variable has this span, and all that these variables have."""
        self._known[var] = span, tuple(each for each in read if each in self._known)

    def of(self, read: Iterable[Var]) -> list[AnySpan]:
        """The spans of what stands behind variables, each variable once."""
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
    """All these spans as one."""
    joined = joined_span([span, *others])
    assert joined is not None
    return joined


def _lacking(function: relax.Function, known: Spans) -> Spans:
    """The spans of calls that have none."""
    found: Spans = {}
    waiting: list[Var] = []
    last = None
    for binding in _bindings(function):
        is_call = isinstance(binding.value, Call)
        own = binding.value.span if is_call and is_of_model(binding.value.span) else None
        span = known.get(binding.var) if own is None else own
        if own is None and is_call:
            waiting.append(binding.var)
        if span is not None:
            found.update((var, span) for var in waiting)
            waiting, last = [], span
    if last is not None:
        found.update((var, last) for var in waiting)
    return found


def _sources(spans: Iterable[AnySpan]) -> set[str]:
    return {str(one.source_name.name) for span in spans for one in single_spans(span)}


def _calls(function: relax.Function) -> list[relax.VarBinding]:
    return [binding for binding in _bindings(function) if isinstance(binding.value, Call)]


def _bindings(function: relax.Function) -> list[relax.VarBinding]:
    return [
        binding
        for block in function.body.blocks[:]
        for binding in block.bindings[:]
        if isinstance(binding, relax.VarBinding)
    ]


def _has_body(function: object) -> bool:
    return isinstance(function, relax.Function) and isinstance(function.body, relax.SeqExpr)
