"""Spans of the operators that TVM's FuseOps and FuseOpsByPattern put into functions."""

from __future__ import annotations

from typing import Any, TypeAlias

from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.relax.static_shapes import main_function
from usmp.tir.model_operator import joined_span
from usmp.tir.spans import AnySpan, function_with_spans

Number: TypeAlias = "int"
"""What is computed, the same for equal calls of equal arguments."""


def with_grouped_spans(mod: IRModule, grouped: IRModule) -> IRModule:
    """`grouped`, which one of them made of `mod`: a call of a function has the spans
    of all operators in it.

    Functions that are equal are one, whatever operators of the model they come from, and FuseOps
    binds new variables. So calls are found again by what they compute.
    """
    known = _Numbers()
    spans: dict[Number, list[AnySpan]] = {}
    for var, value in _bindings(main_function(mod)):
        number = known.bind(var, value)
        if isinstance(value, Call) and value.span is not None:
            spans.setdefault(number, []).append(value.span)
    if not spans:
        return grouped
    main = main_function(grouped)
    for before, after in zip(main_function(mod).params, main.params, strict=True):
        known.numbers[after] = known.of(before)
    found: dict[Var, AnySpan] = {}
    for var, value in _bindings(main):
        computed = known.call(grouped, var, value)
        joined = joined_span(_next(spans, number) for number in computed)
        if joined is not None and isinstance(value, Call):
            found[var] = joined
    changed = IRModule(grouped.functions, attrs=grouped.attrs)
    changed.update_func(grouped.get_global_var("main"), function_with_spans(main, found))
    return changed


class _Numbers:
    """What variables of several functions stand for."""

    def __init__(self) -> None:
        self.numbers: dict[Var, Number] = {}
        self.functions: dict[Var, relax.Function] = {}
        self._interned: dict[tuple[Any, ...], Number] = {}

    def of(self, expr: relax.Expr) -> Number:
        """The number of an expression."""
        if isinstance(expr, Var) and expr in self.numbers:
            return self.numbers[expr]
        key: tuple[Any, ...]
        if isinstance(expr, Call):
            key = (_called(expr), *map(self.of, expr.args))
        elif isinstance(expr, relax.Tuple):
            key = ("tuple", *map(self.of, expr.fields))
        elif isinstance(expr, relax.TupleGetItem):
            key = ("item", self.of(expr.tuple_value), int(expr.index))
        else:
            key = ("itself", expr)
        return self._interned.setdefault(key, len(self._interned))

    def bind(self, var: Var, value: relax.Expr) -> Number:
        """Let a variable stand for a value, and return its number."""
        self.numbers[var] = self.of(value)
        return self.numbers[var]

    def call(self, mod: IRModule, var: Var, value: relax.Expr) -> list[Number]:
        """Bind a variable, and return all that is computed for it: by the function that it calls,
        if that is one of FuseOps."""
        if isinstance(value, relax.Function):
            self.functions[var] = value
            return []
        function = self._called_function(mod, value)
        if function is None:
            return [self.bind(var, value)]
        for param, argument in zip(function.params, value.args, strict=True):
            self.numbers[param] = self.of(argument)
        computed = [
            number for inner, made in _bindings(function) for number in self.call(mod, inner, made)
        ]
        self.numbers[var] = self.of(function.body.body)
        return computed

    def _called_function(self, mod: IRModule, value: relax.Expr) -> relax.Function | None:
        """The Relax function that a value is a call of, of the module or of a function in it."""
        if not isinstance(value, Call):
            return None
        if isinstance(value.op, GlobalVar):
            called = mod[value.op]
            return called if isinstance(called, relax.Function) else None
        return self.functions.get(value.op) if isinstance(value.op, Var) else None


def _next(spans: dict[Number, list[AnySpan]], number: Number) -> AnySpan | None:
    """The span of what is computed; of several alike, the first one that was not taken."""
    found = spans.get(number)
    if not found:
        return None
    return found.pop(0) if len(found) > 1 else found[0]


def _bindings(function: relax.Function) -> list[tuple[Var, relax.Expr]]:
    return [(b.var, b.value) for block in function.body.blocks for b in block.bindings]


def _called(call: Call) -> str:
    name = getattr(call.op, "name", None)
    return str(call.op.name_hint if name is None else name)
