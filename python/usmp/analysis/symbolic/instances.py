"""Instances of a module with symbolic sizes: copies with constant sizes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import prod
from operator import mul
from typing import Any

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule, PointerType, Var

from usmp.analysis.memory.call_graph import CallGraph
from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import FactStore
from usmp.analysis.symbolic.extents import value_of
from usmp.objects.symbolic_size import SymbolicSize, symbolic_sizes
from usmp.tir.identity import identity
from usmp.tir.nodes import nodes_of
from usmp.tir.size_expressions import in_int32

Sizes = Mapping[str, int]
"""The values of symbolic sizes in a run, by name."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A module in which sizes are constants.

    Parameters
    ----------
    mod
        the module, with the same statements as the module with symbolic sizes.
    allocations
        each AllocBuffer of `mod`, with its AllocBuffer in the module with symbolic sizes.
    """

    mod: IRModule
    allocations: dict[tirx.AllocBuffer, tirx.AllocBuffer]


def combinations_of(sizes: list[SymbolicSize]) -> int | None:
    """Return the number of combinations of sizes; None if a size has no upper bound."""
    counts = [
        None if size.upper_bound is None else size.upper_bound - size.lower_bound + 1
        for size in sizes
    ]
    return None if None in counts else prod(count for count in counts if count is not None)


def upper_bounds(sizes: list[SymbolicSize]) -> dict[str, int]:
    """Return the upper bounds of sizes, by name; sizes without one are left out."""
    return {str(s.name): s.upper_bound for s in sizes if s.upper_bound is not None}


def all_sizes(sizes: list[SymbolicSize]) -> Iterator[dict[str, int]]:
    """Yield all combinations of sizes with upper bounds, the largest first."""
    ranges = [range(size.upper_bound or 0, size.lower_bound - 1, -1) for size in sizes]
    for values in product(*ranges):
        yield {str(size.name): value for size, value in zip(sizes, values, strict=True)}


@dataclass(frozen=True)
class InstanceStore:
    """A cache of instances of PrimFuncs of any modules, and of facts about them."""

    functions: dict[Hashable, tirx.PrimFunc] = field(default_factory=dict)
    distances: dict[Hashable, np.ndarray] = field(default_factory=dict)
    """Safe distances between parameters of PrimFuncs, at each size."""
    facts: FactStore = field(default_factory=FactStore)
    kept: list[tirx.PrimFunc] = field(default_factory=list)
    """PrimFuncs that keys identify by address, kept alive so that no address is used again."""

    def instance(self, func: tirx.PrimFunc, known: Mapping[Var, int]) -> tirx.PrimFunc:
        """Return the PrimFunc with parameters replaced by constants; it still takes them."""
        if not known:
            return func
        key = identity(func), tuple((str(var.name), value) for var, value in known.items())
        if key not in self.functions:
            self.kept.append(func)
            self.functions[key] = _with_values(func, known)
        return self.functions[key]


class Instances:
    """The instances of a module for all sizes.

    Parameters
    ----------
    mod
        the module with symbolic sizes.
    main
        the name of the main function, which takes the sizes.
    store
        a cache of instances of PrimFuncs.

    Raises
    ------
    ValueError
        recursion.
    """

    def __init__(self, mod: IRModule, main: str, store: InstanceStore) -> None:
        self.sizes = symbolic_sizes(mod[main])
        """The sizes that the main function takes."""
        self._mod = mod
        self._main = main
        self._store = store
        self._graph = CallGraph(prim_funcs(mod))
        self._order = list(reversed(self._graph.callees_first(main)))
        self._stmts = {name: _allocations(mod[name].body) for name in self._order}
        self._parameters = self._expressions()

    def extents(self) -> dict[tirx.AllocBuffer, tirx.Expr]:
        """Return the number of elements of each AllocBuffer, as an expression of the sizes.

        AllocBuffers with strides, or that depend on other values, are left out."""
        elements = {}
        for name, stmts in self._stmts.items():
            known = {str(var.name): value for var, value in self._parameters[name].items()}
            for stmt in stmts:
                if len(stmt.buffer.strides):
                    continue
                with suppress(ValueError):
                    extents = [in_int32(extent, known) for extent in stmt.buffer.shape]
                    elements[stmt] = reduce(mul, extents, tirx.IntImm("int32", 1))
        return elements

    def _expressions(self) -> dict[str, dict[Var, tirx.Expr]]:
        """Return the scalar parameters of each PrimFunc, as expressions of the sizes.

        Parameters that differ between calls, or depend on other values, are left out."""
        expressions: dict[str, dict[Var, tirx.Expr | None]] = {name: {} for name in self._order}
        expressions[self._main] = {p: p for p in self._mod[self._main].params if _is_scalar(p)}
        for name in self._order:
            known = {
                str(v.name): value for v, value in expressions[name].items() if value is not None
            }
            for call in self._graph.resolved(name):
                if call is None:
                    continue
                params = self._graph.functions[call.callee].params
                for param, argument in zip(params, self._graph.calls.passed(call), strict=False):
                    if _is_scalar(param):
                        value = _value(argument, known)
                        seen = expressions[call.callee].setdefault(param, value)
                        if value is None or not tvm_ffi.structural_equal(seen, value):
                            expressions[call.callee][param] = None
        return {
            name: {var: value for var, value in values.items() if value is not None}
            for name, values in expressions.items()
        }

    def at(self, sizes: Sizes) -> Instance:
        """Return the instance of the module for these sizes.

        A parameter that differs between calls of a PrimFunc stays symbolic.

        Parameters
        ----------
        sizes
            values of some or all sizes that the main function takes.
        """
        mod = IRModule(self._mod.functions, attrs=self._mod.attrs)
        allocations: dict[tirx.AllocBuffer, tirx.AllocBuffer] = {}
        for name in self._order:
            func = self._instance(name, sizes)
            mod.update_func(self._mod.get_global_var(name), func)
            pairs = zip(_allocations(func.body), self._stmts[name], strict=True)
            allocations.update(pairs)
        return Instance(mod, allocations)

    def functions_at(self, name: str, sizes: Sizes) -> dict[str, tirx.PrimFunc]:
        """Return the instances of a PrimFunc and its callees at any depth, for these sizes."""
        names = self._graph.callees_first(name)
        return {callee: self._instance(callee, sizes) for callee in names}

    def key_of(self, name: str) -> tuple[Hashable, ...]:
        """Return a key that determines the instances of a PrimFunc and its callees."""
        names = self._graph.callees_first(name)
        self._store.kept.extend(self._mod[callee] for callee in names)
        functions = tuple(
            (
                callee,
                identity(self._mod[callee]),
                tuple((str(v.name), str(value)) for v, value in self._parameters[callee].items()),
            )
            for callee in names
        )
        sizes = tuple((str(s.name), s.lower_bound, s.upper_bound) for s in self.sizes)
        return functions, sizes

    def _instance(self, name: str, sizes: Sizes) -> tirx.PrimFunc:
        known = {}
        for param, expression in self._parameters[name].items():
            with suppress(ValueError):
                known[param] = int(value_of(expression, sizes))
        return self._store.instance(self._mod[name], known)


def _is_scalar(param: Var) -> bool:
    return not tirx.is_buffer_var(param) and not isinstance(param.ty, PointerType)


def _value(argument: tirx.Expr, known: Mapping[str, tirx.Expr]) -> tirx.Expr | None:
    try:
        return in_int32(argument, known)
    except ValueError:
        return None


def _allocations(body: tirx.Stmt) -> list[tirx.AllocBuffer]:
    return nodes_of(body, tirx.AllocBuffer)


def _with_values(func: tirx.PrimFunc, known: Mapping[Var, int]) -> tirx.PrimFunc:
    """Return the PrimFunc with parameters replaced by constants; it still takes them."""
    replaced: dict[Var, tirx.Expr] = {
        var: tirx.IntImm(str(var.ty.dtype), value) for var, value in known.items()
    }

    def fold(expr: Any) -> tirx.Expr:
        return tvm_ffi.structural_map(expr, _folding(lambda var: replaced.get(var, var)))

    def on_buffer(stmt: tirx.DeclBuffer | tirx.AllocBuffer) -> None:
        buffer = stmt.buffer
        if all(isinstance(extent, tirx.IntImm) for extent in buffer.shape):
            return
        replaced[buffer] = tirx.decl_buffer(
            [fold(extent) for extent in buffer.shape],
            str(buffer.dtype),
            buffer.name,
            data_alignment=int(buffer.data_alignment),
            scope=buffer.scope(),
        )

    tvm_ffi.structural_walk(func.body, ((tirx.DeclBuffer, tirx.AllocBuffer), on_buffer))
    return func.with_body(fold(func.body))


def _folding(on_variable: Callable[[Var], tirx.Expr]) -> list[tuple[Any, Callable[[Any], Any]]]:
    """Return the callbacks that replace variables and fold constants."""
    return [
        (Var, on_variable),
        (tirx.Add, lambda expr: expr.a + expr.b),
        (tirx.Sub, lambda expr: expr.a - expr.b),
        (tirx.Mul, lambda expr: expr.a * expr.b),
        (tirx.FloorDiv, lambda expr: tirx.floordiv(expr.a, expr.b)),
        (tirx.FloorMod, lambda expr: tirx.floormod(expr.a, expr.b)),
        (tirx.Max, lambda expr: tirx.max(expr.a, expr.b)),
        (tirx.Min, lambda expr: tirx.min(expr.a, expr.b)),
        (tirx.Cast, lambda expr: expr.value.astype(str(expr.ty.dtype))),
    ]
