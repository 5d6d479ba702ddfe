"""Overwrite what is dead: an independent proof that nothing reads it again.

Liveness is found anew here, from the calls of the planned `__tvm_main__` alone, so a mistake of
the analysis shows as a wrong result.
"""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, TensorLoad, Var

import usmp
from usmp.objects import BufferInfoKind, WorkspacePoolInfo
from usmp.objects.attributes import MAIN_FUNCTION_NAME, MEMORY_PLAN_ATTR, POOL_ARGS_ATTR

POISON = 0xA5


def poisoned(factory: usmp.AOTExecutorFactoryModule) -> usmp.AOTExecutorFactoryModule:
    """The same model, whose C overwrites dead memory; its loops do so over `poisoned`."""
    return usmp.AOTExecutorFactoryModule(poison_dead_memory(factory.ir_mod), "default")


def poison_dead_memory(mod: IRModule) -> IRModule:
    """Fill every workspace byte that no later call may read, before the first and after each call;
    what is kept between runs is never dead.

    For modules whose operators have no planned scratch and that keep inputs and outputs outside.
    """
    main = mod[MAIN_FUNCTION_NAME]
    statements = list(main.body.seq)
    plan = {str(b.name): b for b in mod.attrs[MEMORY_PLAN_ATTR].buffers}
    assert all(b.function == MAIN_FUNCTION_NAME for b in plan.values())
    workspace = {
        str(arg.pool_info.pool_name): int(arg.allocated_size)
        for arg in mod.attrs[POOL_ARGS_ATTR]
        if isinstance(arg.pool_info, WorkspacePoolInfo)
    }
    pools = {str(s.buffer.name): s.buffer for s in statements if isinstance(s, tirx.DeclBuffer)}
    views = _views(statements, plan)
    states = {name for name, buffer in plan.items() if buffer.kind == BufferInfoKind.STATE}
    calls = [i for i, s in enumerate(statements) if isinstance(s, tirx.Evaluate | tirx.IfThenElse)]
    mentioned = {i: _mentioned(statements[i], views) for i in calls}
    body: list[tirx.Stmt] = []
    for index, statement in enumerate(statements):
        if calls and index == calls[0]:
            body += _fill(workspace, pools, plan, states)
        body.append(statement)
        if index in mentioned:
            past = set().union(*(mentioned[i] for i in calls if i <= index))
            future = set().union(*(mentioned[i] for i in calls if i > index))
            body += _fill(workspace, pools, plan, past & future | states)
    result = IRModule(mod.functions, attrs=mod.attrs)
    result.update_func(mod.get_global_var(MAIN_FUNCTION_NAME), main.with_body(tirx.SeqStmt(body)))
    return result


def _views(statements: list[tirx.Stmt], plan: dict) -> dict[Var, str]:
    """Buffers that are views of a pool, by the name of the planned one that they lie in."""
    views: dict[Var, str] = {}
    for statement in statements:
        if isinstance(statement, tirx.DeclBuffer) and isinstance(statement.data, Call):
            source = statement.data.args[0]
            if isinstance(source, TensorLoad):
                name = views.get(source.source, str(statement.buffer.name))
                if name in plan:
                    views[statement.buffer] = name
    return views


def _mentioned(statement: tirx.Stmt, views: dict[Var, str]) -> set[str]:
    if isinstance(statement, tirx.Evaluate):
        assert isinstance(statement.value.op, GlobalVar)
    names: set[str] = set()

    def on_variable(var: Var) -> None:
        if var in views:
            names.add(views[var])

    tvm_ffi.structural_walk(statement, (Var, on_variable))
    return names


def _fill(
    workspace: dict[str, int], pools: dict[str, Var], plan: dict, live: set[str]
) -> list[tirx.Stmt]:
    """Stores of the poison to every byte of the workspace pools outside the live buffers."""
    stores = []
    for pool, size in workspace.items():
        buffer = next(b for name, b in pools.items() if name.startswith(f"{pool}_"))
        end = 0
        kept = sorted(
            (plan[n].byte_offset, plan[n].byte_offset + plan[n].size_bytes)
            for n in live
            if plan[n].pool_name == pool
        )
        for start, stop in [*kept, (size, size)]:
            if start > end:
                stores.append(_store(buffer, end, start - end))
            end = max(end, stop)
    return stores


def _store(pool: Var, start: int, count: int) -> tirx.Stmt:
    index = tirx.Var("poisoned", "int32")
    value = tirx.const(POISON, "uint8")
    return tirx.For(
        index, 0, count, tirx.ForKind.SERIAL, tirx.BufferStore(pool, value, [index + start])
    )
