"""Makes a program smaller as long as it keeps a property, for instance that planning breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tvm import tirx
from tvm.ir import IRModule

from support.tir_bodies import block
from support.tir_programs import Program


def reduce_program(program: Program, holds: Callable[[Program], bool]) -> Program:
    """A small program of which `holds` is true, as it is of `program`: no statement can go."""
    progress = True
    while progress:
        progress = False
        for variable in program.mod.functions:
            for mod in _smaller_modules(program.mod, variable.name_hint):
                smaller = replace(program, mod=mod)
                if _holds(smaller, holds):
                    program, progress = smaller, True
                    break
            if progress:
                break
    return program


def _holds(program: Program, holds: Callable[[Program], bool]) -> bool:
    """A program that cannot be run has no property."""
    try:
        return bool(tirx.analysis.verify_well_formed(program.mod, False)) and holds(program)
    except Exception:  # anything may be missing
        return False


def _smaller_modules(mod: IRModule, name: str) -> Iterator[IRModule]:
    func = mod[name]
    functions = dict(mod.functions.items())
    variable = mod.get_global_var(name)
    yield IRModule({v: f for v, f in functions.items() if v != variable}, attrs=mod.attrs)
    for body in smaller_statements(func.body):
        yield IRModule({**functions, variable: func.with_body(body)}, attrs=mod.attrs)


def smaller_statements(stmt: tirx.Stmt) -> Iterator[tirx.Stmt]:
    """The statement with something taken out, much of it first."""
    if isinstance(stmt, tirx.SeqStmt):
        children = list(stmt.seq)
        size = len(children) // 2
        while size:
            for start in range(0, len(children), size):
                kept = children[:start] + children[start + size :]
                if kept:
                    yield block(kept)
            size //= 2
        for index, child in enumerate(children):
            for smaller in smaller_statements(child):
                yield block([*children[:index], smaller, *children[index + 1 :]])
    elif isinstance(stmt, tirx.IfThenElse):
        yield stmt.then_case
        if stmt.else_case is not None:
            yield stmt.else_case
            yield tirx.IfThenElse(stmt.condition, stmt.then_case, None)
        for smaller in smaller_statements(stmt.then_case):
            yield tirx.IfThenElse(stmt.condition, smaller, stmt.else_case)
        if stmt.else_case is not None:
            for smaller in smaller_statements(stmt.else_case):
                yield tirx.IfThenElse(stmt.condition, stmt.then_case, smaller)
    elif isinstance(stmt, tirx.For):
        yield stmt.body
        for smaller in smaller_statements(stmt.body):
            yield tirx.For(stmt.loop_var, stmt.min, stmt.extent, stmt.kind, smaller)
    elif isinstance(stmt, tirx.While):
        yield stmt.body
        for smaller in smaller_statements(stmt.body):
            yield tirx.While(stmt.condition, smaller)
