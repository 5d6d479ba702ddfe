"""Symbolic sizes of operators: `int32` parameters, with ranges that TVM's passes know.

While passes run, a size is the variable of a loop around the operator, because passes know the
range of a loop variable. So they narrow indices to 32 bits and remove conditions that always hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, IRModule, Var

from usmp.aot.pointer_parameters import pass_buffers_as_pointers
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.entry_size import LARGEST_SIZE
from usmp.relax.symbolic_sizes import size_variables
from usmp.tir.nodes import nodes_of
from usmp.tir.size_expressions import in_int32

Transform = Callable[[IRModule], IRModule]


def with_size_ranges(apply: Transform, mod: IRModule) -> IRModule:
    """Apply passes to a module so that they know the ranges of symbolic sizes.

    Parameters
    ----------
    apply
        applies passes that rewrite bodies of PrimFuncs.
    mod
        a module after `BindSymbolicSizes`.
    """
    symbolic = _symbolic(mod)
    for variable, sizes in symbolic.items():
        mod.update_func(variable, _in_loops(mod[variable], sizes))
    mod = apply(mod)
    for variable, sizes in symbolic.items():
        func = mod[variable]
        body, replaced = _out_of_loops(func.body, sizes)
        for var, inner in replaced.items():
            assert var.same_as(inner)
        mod.update_func(variable, func.with_body(body))
    return mod


def with_size_parameters(apply: Transform, mod: IRModule) -> IRModule:
    """Apply passes as `with_size_ranges` does, and make sizes `int32` parameters and buffers
    pointers.

    Parameters
    ----------
    mod
        a module with flat buffers.
    """
    symbolic = _symbolic(mod)
    for variable, sizes in symbolic.items():
        func = pass_buffers_as_pointers(mod[variable])
        mod.update_func(variable, _in_loops(func, sizes))
    mod = apply(mod)
    for variable, sizes in symbolic.items():
        func = mod[variable]
        mod.update_func(variable, _with_parameters(func, sizes))
    return mod


def has_symbolic_operators(mod: IRModule) -> bool:
    """Return whether PrimFuncs mention shape variables of `main`."""
    return bool(_symbolic(mod))


def _symbolic(mod: IRModule) -> dict[GlobalVar, dict[Var, SymbolicSize]]:
    """Return the shape variables of `main` that each PrimFunc uses, in the order of `main`."""
    main = next((f for v, f in mod.functions.items() if v.name_hint == "main"), None)
    sizes = size_variables(main) if isinstance(main, relax.Function) else {}
    symbolic = {}
    for variable, func in mod.functions.items() if sizes else ():
        if isinstance(func, tirx.PrimFunc):
            shapes = [extent for p in func.params if tirx.is_buffer_var(p) for extent in p.shape]
            mentioned = {var for node in [*shapes, func.body] for var in nodes_of(node, Var)}
            if mentioned & sizes.keys():
                symbolic[variable] = {var: size for var, size in sizes.items() if var in mentioned}
    return symbolic


def _in_loops(func: tirx.PrimFunc, sizes: Mapping[Var, SymbolicSize]) -> tirx.PrimFunc:
    body = func.body
    for var, size in reversed(list(sizes.items())):
        most = LARGEST_SIZE if size.upper_bound is None else size.upper_bound
        first = tirx.IntImm("int64", size.lower_bound)
        extent = tirx.IntImm("int64", most - size.lower_bound + 1)
        body = tirx.For(var, first, extent, tirx.ForKind.SERIAL, body)
    return func.with_body(body)


def _out_of_loops(
    body: tirx.Stmt, sizes: Mapping[Var, SymbolicSize]
) -> tuple[tirx.Stmt, dict[Var, Var]]:
    """Return the body of the loops over sizes, and size -> variable of its loop, if passes kept
    it."""
    loop_vars: dict[Var, Var] = {}
    for var in sizes:
        if isinstance(body, tirx.For) and body.loop_var.name == var.name:
            loop_vars[var] = body.loop_var
            body = body.body
    return body, loop_vars


def _with_parameters(func: tirx.PrimFunc, sizes: Mapping[Var, SymbolicSize]) -> tirx.PrimFunc:
    body, variables = _out_of_loops(func.body, sizes)
    params = {var: tirx.Var(var.name, "int32") for var in sizes}
    by_name: dict[str, tirx.Expr] = {str(var.name): param for var, param in params.items()}
    values: dict[Var, tirx.Expr] = {}
    for var, inner in variables.items():
        is_narrow = str(inner.ty.dtype) == "int32"
        values[inner] = params[var] if is_narrow else tirx.Cast("int64", params[var])
    declared: dict[Var, Var] = {}

    def with_extents(stmt: tirx.DeclBuffer | tirx.AllocBuffer) -> None:
        shape = list(stmt.buffer.shape)
        if not all(isinstance(extent, tirx.IntImm) for extent in shape):
            shape = [in_int32(extent, by_name) for extent in shape]
            declared[stmt.buffer] = tirx.decl_buffer(
                shape,
                str(stmt.buffer.dtype),
                stmt.buffer.name,
                data_alignment=int(stmt.buffer.data_alignment),
                scope=stmt.buffer.scope(),
            )

    tvm_ffi.structural_walk(body, ((tirx.DeclBuffer, tirx.AllocBuffer), with_extents))
    replaced = {**values, **declared}
    body = tvm_ffi.structural_map(body, (Var, lambda var: replaced.get(var, var)))
    return tirx.PrimFunc([*func.params, *params.values()], body, func.ret_type, func.attrs)
