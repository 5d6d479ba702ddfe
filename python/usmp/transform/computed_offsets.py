"""Statements that compute offsets from symbolic sizes, and parameters that pass the offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import tvm_ffi
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, PrimType, Var

from usmp.analysis.memory.call_graph import CallGraph
from usmp.objects.attributes.module_attributes import (
    MAIN_FUNCTION_NAME,
    WORKSPACE_SIZE_FUNCTIONS_ATTR,
)
from usmp.planning.offset_expressions import OffsetExpressions
from usmp.tir.nodes import nodes_of, sequence

_SIZE_FUNCTION = "workspace_size"


@dataclass(frozen=True)
class OffsetsOfFunction:
    """The offsets in a PrimFunc.

    Parameters
    ----------
    binds
        statements that compute the variables, in the main function.
    parameters
        variables that are parameters, in other PrimFuncs.
    variables
        the PrimFunc's variable for each variable of `OffsetExpressions`.
    places
        offset of each allocation: a constant, or a variable of `OffsetExpressions`.
    wanted
        by PrimFunc, the variables of `OffsetExpressions` that it takes as parameters.
    """

    binds: Sequence[tirx.Bind] = ()
    parameters: Sequence[Var] = ()
    variables: Mapping[Var, Var] = field(default_factory=dict)
    places: Mapping[tirx.AllocBuffer, tirx.Expr] = field(default_factory=dict)
    wanted: Mapping[str, list[Var]] = field(default_factory=dict)

    def offset(self, stmt: tirx.AllocBuffer, planned: int) -> tirx.Expr | int:
        """Return the offset of an allocation; `planned` is its offset at the largest sizes."""
        place = self.places.get(stmt)
        if place is None:
            return planned
        return self.variables[place] if isinstance(place, Var) else place

    def passed_to(self, callee: str) -> list[Var]:
        """Return the arguments that a call of `callee` passes in addition to its own."""
        return [self.variables[variable] for variable in self.wanted.get(callee, ())]


class ComputedOffsets:
    """The offsets in all PrimFuncs of a module.

    Parameters
    ----------
    graph
        call graph of the PrimFuncs.
    expressions
        offsets as expressions; None if all are constants.
    """

    def __init__(self, graph: CallGraph, expressions: OffsetExpressions | None) -> None:
        self._graph = graph
        self._expressions = expressions

    def of(self, name: str) -> OffsetsOfFunction:
        """Return the offsets in a PrimFunc."""
        if self._expressions is None:
            return OffsetsOfFunction()
        places = self._expressions.offsets
        if name == MAIN_FUNCTION_NAME:
            params = {str(param.name): param for param in self._graph.functions[name].params}
            variables, binds = _computed(self._expressions, params)
            return OffsetsOfFunction(binds, (), variables, places, self._wanted)
        variables = {variable: _alike(variable) for variable in self._wanted[name]}
        return OffsetsOfFunction((), list(variables.values()), variables, places, self._wanted)

    def most_bytes(self, pool: str) -> int | None:
        """Return the most bytes that a workspace pool needs; None if its offsets are constants."""
        return None if self._expressions is None else self._expressions.most_bytes.get(pool)

    def with_size_functions(self, mod: IRModule) -> IRModule:
        """Return the module with the functions that return the sizes of workspace pools."""
        if self._expressions is None:
            return mod
        names = {}
        target = mod[MAIN_FUNCTION_NAME].attrs.get("target")
        for pool, peak in sorted(self._expressions.peaks.items()):
            name = f"{_SIZE_FUNCTION}_{pool}"
            func = _size_function(self._expressions, peak)
            mod.update_func(GlobalVar(name), func.with_attr("target", target) if target else func)
            names[pool] = name
        return WORKSPACE_SIZE_FUNCTIONS_ATTR.put(mod, names)

    @cached_property
    def _wanted(self) -> dict[str, list[Var]]:
        """The variables that each PrimFunc takes, for itself or for its callees."""
        assert self._expressions is not None
        variables = [variable for variable, _ in self._expressions.variables]
        wanted: dict[str, list[Var]] = {}
        for name in self._graph.callees_first(MAIN_FUNCTION_NAME):
            body = self._graph.functions[name].body
            used = {self._expressions.offsets.get(s) for s in nodes_of(body, tirx.AllocBuffer)}
            used |= {
                variable for callee in self._graph.callees(name) for variable in wanted[callee]
            }
            wanted[name] = [variable for variable in variables if variable in used]
        return wanted


def _alike(variable: Var) -> Var:
    return Var(str(variable.name), "int32")


def _computed(
    expressions: OffsetExpressions, sizes: Mapping[str, Var]
) -> tuple[dict[Var, Var], list[tirx.Bind]]:
    """Return the variables of a function with these sizes, and the statements that compute them."""
    replaced = {variable: sizes[name] for name, variable in expressions.parameters.items()}
    computed: dict[Var, Var] = {}
    statements: list[tirx.Bind] = []
    for variable, value in expressions.variables:
        value = tvm_ffi.structural_map(value, (Var, lambda var: replaced.get(var, var)))
        computed[variable] = replaced[variable] = _alike(variable)
        statements.append(tirx.Bind(computed[variable], value))
    return computed, statements


def _size_function(expressions: OffsetExpressions, peak: tirx.Expr) -> tirx.PrimFunc:
    sizes = {name: Var(name, "int32") for name in expressions.parameters}
    variables, statements = _computed(expressions, sizes)
    replaced = {**variables, **{v: sizes[name] for name, v in expressions.parameters.items()}}
    peak = tvm_ffi.structural_map(peak, (Var, lambda var: replaced.get(var, var)))
    needed = set(nodes_of(peak, Var))
    for statement in reversed(statements):
        if statement.var in needed:
            needed |= set(nodes_of(statement.value, Var))
    statements = [statement for statement in statements if statement.var in needed]
    body = sequence([*statements, tirx.Return(peak)])
    return tirx.PrimFunc(list(sizes.values()), body, PrimType("int32"))
