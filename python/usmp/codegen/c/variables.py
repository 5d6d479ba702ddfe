"""Uses of the variables of a PrimFunc that affect their declarations in C."""

from __future__ import annotations

from collections import Counter

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad, Var

from usmp.analysis.integers.addressed import addressed
from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c.calls import may_have_effects
from usmp.support.reachable import reachable
from usmp.tir.nodes import nodes_of


def used_variables(body: tirx.Stmt, calls: CallResolver) -> set[Var]:
    """Return the used variables; uses in declarations of unused variables do not count."""
    used: set[Var] = set()
    declared: dict[Var, tirx.Expr] = {}

    def on_declaration(stmt: tirx.DeclBuffer) -> tvm_ffi.WalkResult:
        declared[stmt.buffer] = stmt.data
        return tvm_ffi.WalkResult.SKIP

    def on_bind(stmt: tirx.Bind) -> tvm_ffi.WalkResult:
        declared[stmt.var] = stmt.value
        if may_have_effects(stmt.value, calls):
            used.update(nodes_of(stmt.value, Var))
        return tvm_ffi.WalkResult.SKIP

    def on_allocation(stmt: tirx.AllocBuffer) -> tvm_ffi.WalkResult:
        return tvm_ffi.WalkResult.SKIP

    def on_variable(var: Var) -> tvm_ffi.WalkResult:
        used.add(var)
        return tvm_ffi.WalkResult.SKIP

    callbacks = [
        (tirx.DeclBuffer, on_declaration),
        (tirx.Bind, on_bind),
        (tirx.AllocBuffer, on_allocation),
        (Var, on_variable),
    ]
    tvm_ffi.structural_walk(body, callbacks, order="pre")
    return set(reachable(used, lambda var: nodes_of(declared[var], Var) if var in declared else ()))


def scalar_allocations(body: tirx.Stmt) -> set[Var]:
    """Return the allocations of one element whose address is not taken: plain C variables."""
    single = {
        stmt.buffer
        for stmt in nodes_of(body, tirx.AllocBuffer)
        if [int(e) for e in stmt.buffer.shape if isinstance(e, tirx.IntImm)] == [1]
    }
    return single - addressed(body)


def written_only(body: tirx.Stmt) -> set[Var]:
    """Return the allocations that nothing reads, except stores to the same allocation."""
    loads = Counter(load.source for load in nodes_of(body, TensorLoad))
    for store in nodes_of(body, tirx.BufferStore):
        for part in (store.value, *store.indices):
            own = sum(load.source.same_as(store.buffer) for load in nodes_of(part, TensorLoad))
            loads[store.buffer] -= own
    allocated = {stmt.buffer for stmt in nodes_of(body, tirx.AllocBuffer)}
    return {buffer for buffer in allocated if not loads[buffer]} - addressed(body)
