"""A module with symbolic sizes, as it is where a run is given certain ones."""

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
"""Symbolic sizes by name -> what a run is given."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A module in which sizes are constants.

    Parameters
    ----------
    mod
        the module; its statements are those of the one with symbolic sizes, one by one.
    allocations
        its AllocBuffers -> those of the module with symbolic sizes.
    """

    mod: IRModule
    allocations: dict[tirx.AllocBuffer, tirx.AllocBuffer]


def combinations_of(sizes: list[SymbolicSize]) -> int | None:
    """How many sizes runs may be given; None if there is no bound."""
    counts = [
        None if size.upper_bound is None else size.upper_bound - size.lower_bound + 1
        for size in sizes
    ]
    return None if None in counts else prod(count for count in counts if count is not None)


def upper_bounds(sizes: list[SymbolicSize]) -> dict[str, int]:
    """The largest sizes that runs may be given; without those that have no bound."""
    return {str(s.name): s.upper_bound for s in sizes if s.upper_bound is not None}


def all_sizes(sizes: list[SymbolicSize]) -> Iterator[dict[str, int]]:
    """All of them, the largest first.

    Parameters
    ----------
    sizes
        that have upper bounds.
    """
    ranges = [range(size.upper_bound or 0, size.lower_bound - 1, -1) for size in sizes]
    for values in product(*ranges):
        yield {str(size.name): value for size, value in zip(sizes, values, strict=True)}


@dataclass(frozen=True)
class InstanceStore:
    """Instances of PrimFuncs of any modules, and what is known of them."""

    functions: dict[Hashable, tirx.PrimFunc] = field(default_factory=dict)
    distances: dict[Hashable, np.ndarray] = field(default_factory=dict)
    """Between parameters of PrimFuncs, for all sizes."""
    facts: FactStore = field(default_factory=FactStore)
    kept: list[tirx.PrimFunc] = field(default_factory=list)
    """What keys name by address, so that no other object gets it."""

    def instance(self, func: tirx.PrimFunc, known: Mapping[Var, int]) -> tirx.PrimFunc:
        """The PrimFunc with constants in the place of these parameters, which it still takes."""
        if not known:
            return func
        key = identity(func), tuple((str(var.name), value) for var, value in known.items())
        if key not in self.functions:
            self.kept.append(func)
            self.functions[key] = _with_values(func, known)
        return self.functions[key]


class Instances:
    """Makes instances of a module.

    Parameters
    ----------
    mod
        its PrimFuncs.
    main
        the name of the main function, which takes the sizes.
    store
        has the instances of PrimFuncs; grows.

    Raises
    ------
    ValueError
        recursion.
    """

    def __init__(self, mod: IRModule, main: str, store: InstanceStore) -> None:
        self.sizes = symbolic_sizes(mod[main])
        """That the main function takes."""
        self._mod = mod
        self._main = main
        self._store = store
        self._graph = CallGraph(prim_funcs(mod))
        self._order = list(reversed(self._graph.callees_first(main)))
        self._stmts = {name: _allocations(mod[name].body) for name in self._order}
        self._parameters = self._expressions()

    def extents(self) -> dict[tirx.AllocBuffer, tirx.Expr]:
        """The elements of each AllocBuffer, as an expression of the sizes that the main function
        takes; without those that depend on something else, and those with strides."""
        found = {}
        for name, stmts in self._stmts.items():
            known = {str(var.name): value for var, value in self._parameters[name].items()}
            for stmt in stmts:
                if len(stmt.buffer.strides):
                    continue
                with suppress(ValueError):
                    extents = [in_int32(extent, known) for extent in stmt.buffer.shape]
                    found[stmt] = reduce(mul, extents, tirx.IntImm("int32", 1))
        return found

    def _expressions(self) -> dict[str, dict[Var, tirx.Expr]]:
        """What the scalar parameters of each PrimFunc are, as expressions of the sizes that the
        main function takes; without those that differ between calls, or are something else."""
        found: dict[str, dict[Var, tirx.Expr | None]] = {name: {} for name in self._order}
        found[self._main] = {p: p for p in self._mod[self._main].params if _is_scalar(p)}
        for name in self._order:
            known = {str(v.name): value for v, value in found[name].items() if value is not None}
            for call in self._graph.resolved(name):
                if call is None:
                    continue
                params = self._graph.functions[call.callee].params
                for param, argument in zip(params, self._graph.calls.passed(call), strict=False):
                    if _is_scalar(param):
                        value = _value(argument, known)
                        seen = found[call.callee].setdefault(param, value)
                        if value is None or not tvm_ffi.structural_equal(seen, value):
                            found[call.callee][param] = None
        return {
            name: {var: value for var, value in values.items() if value is not None}
            for name, values in found.items()
        }

    def at(self, sizes: Sizes) -> Instance:
        """The module where runs are given these sizes.

        A PrimFunc that is called with different values for one of its parameters keeps that
        parameter, and what depends on it stays symbolic.

        Parameters
        ----------
        sizes
            of all or some of those that the main function takes.
        """
        mod = IRModule(self._mod.functions, attrs=self._mod.attrs)
        allocations: dict[tirx.AllocBuffer, tirx.AllocBuffer] = {}
        for name in self._order:
            made = self._instance(name, sizes)
            mod.update_func(self._mod.get_global_var(name), made)
            pairs = zip(_allocations(made.body), self._stmts[name], strict=True)
            allocations.update(pairs)
        return Instance(mod, allocations)

    def functions_at(self, name: str, sizes: Sizes) -> dict[str, tirx.PrimFunc]:
        """A PrimFunc and all that it calls, to any depth, where runs are given these sizes."""
        names = self._graph.callees_first(name)
        return {each: self._instance(each, sizes) for each in names}

    def key_of(self, name: str) -> tuple[Hashable, ...]:
        """What the instances of a PrimFunc and of all that it calls follow from."""
        names = self._graph.callees_first(name)
        self._store.kept.extend(self._mod[each] for each in names)
        functions = tuple(
            (
                each,
                identity(self._mod[each]),
                tuple((str(v.name), str(value)) for v, value in self._parameters[each].items()),
            )
            for each in names
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
    """The PrimFunc with constants in the place of these parameters, which it still takes."""
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
    """What replaces variables, and computes what is constant then."""
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
