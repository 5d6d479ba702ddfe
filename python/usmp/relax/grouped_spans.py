"""Spans for calls of functions into which FuseOps and FuseOpsByPattern group operators."""

from __future__ import annotations

from typing import Any, TypeAlias

from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.relax.static_shapes import main_function
from usmp.tir.model_operator import joined_span
from usmp.tir.spans import AnySpan, function_with_spans

Number: TypeAlias = "int"
"""The value number of an expression, equal for equal calls of equal arguments."""


def with_grouped_spans(mod: IRModule, grouped: IRModule) -> IRModule:
    """Return `grouped`, which FuseOps or FuseOpsByPattern made of `mod`, with spans.

    A call of a grouped function gets the spans of all operators in it. Calls are matched by value
    numbers, because FuseOps binds new variables and merges equal functions.
    """
    known = _Numbers()
    spans: dict[Number, list[AnySpan]] = {}
    for var, value in _bindings(main_function(mod)):
        computed = known.call(mod, var, value)
        if computed and isinstance(value, Call) and value.span is not None:
            spans.setdefault(computed[-1], []).append(value.span)
    if not spans:
        return grouped
    main = main_function(grouped)
    for before, after in zip(main_function(mod).params, main.params, strict=True):
        known.numbers[after] = known.of(before)
    joined_spans: dict[Var, AnySpan] = {}
    for var, value in _bindings(main):
        computed = known.call(grouped, var, value)
        joined = joined_span(_next(spans, number) for number in computed)
        if joined is not None and isinstance(value, Call):
            joined_spans[var] = joined
    changed = IRModule(grouped.functions, attrs=grouped.attrs)
    changed.update_func(grouped.get_global_var("main"), function_with_spans(main, joined_spans))
    return changed


class _Numbers:
    """Value numbers of the variables of several functions."""

    def __init__(self) -> None:
        self.numbers: dict[Var, Number] = {}
        self.functions: dict[Var, relax.Function] = {}
        self._interned: dict[tuple[Any, ...], Number] = {}

    def of(self, expr: relax.Expr) -> Number:
        """Return the number of an expression."""
        if isinstance(expr, Var) and expr in self.numbers:
            return self.numbers[expr]
        key: tuple[Any, ...]
        if isinstance(expr, Call):
            key = (expr.op, *map(self.of, expr.args))
        elif isinstance(expr, relax.Tuple):
            key = ("tuple", *map(self.of, expr.fields))
        elif isinstance(expr, relax.TupleGetItem):
            key = ("item", self.of(expr.tuple_value), int(expr.index))
        else:
            key = ("itself", expr)
        return self._interned.setdefault(key, len(self._interned))

    def bind(self, var: Var, value: relax.Expr) -> Number:
        """Give a variable the number of its value, and return the number."""
        self.numbers[var] = self.of(value)
        return self.numbers[var]

    def call(self, mod: IRModule, var: Var, value: relax.Expr) -> list[Number]:
        """Bind a variable, and return the numbers of all calls that compute its value. For a call
        of a grouped function, these are the calls in the function."""
        if isinstance(value, relax.Function):
            self.functions[var] = value
            return []
        function = self._called_function(mod, value)
        if function is None:
            return [self.bind(var, value)]
        for param, argument in zip(function.params, value.args, strict=True):
            self.numbers[param] = self.of(argument)
        computed = [
            number
            for inner, result in _bindings(function)
            for number in self.call(mod, inner, result)
        ]
        self.numbers[var] = self.of(function.body.body)
        return computed

    def _called_function(self, mod: IRModule, value: relax.Expr) -> relax.Function | None:
        """Return the Relax function (global or local) that a value calls, or None."""
        if not isinstance(value, Call):
            return None
        if isinstance(value.op, GlobalVar):
            called = mod[value.op]
            return called if isinstance(called, relax.Function) else None
        return self.functions.get(value.op) if isinstance(value.op, Var) else None


def _next(spans: dict[Number, list[AnySpan]], number: Number) -> AnySpan | None:
    """Return the next span of a value number, and remove it unless it is the last one."""
    waiting = spans.get(number)
    if not waiting:
        return None
    return waiting.pop(0) if len(waiting) > 1 else waiting[0]


def _bindings(function: relax.Function) -> list[tuple[Var, relax.Expr]]:
    return [(b.var, b.value) for block in function.body.blocks for b in block.bindings]
