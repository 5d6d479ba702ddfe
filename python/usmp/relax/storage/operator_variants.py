"""Variants of PrimFuncs for tensors at offsets in a storage, and for tensors that share bytes.

TVM's virtual machine passes a tensor as the pointer of its storage and a byte offset. A PrimFunc
accepts the offset if the `elem_offset` of its buffer is a variable. Of several tensors that share
bytes, one stays a parameter and the others become views of it, because compilers assume that
parameters do not alias (`tirx.noalias`, and always on devices).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Var


def with_elem_offsets(func: tirx.PrimFunc, factors: Mapping[int, int]) -> tirx.PrimFunc:
    """Return the PrimFunc with buffers that may begin at any element.

    Parameters
    ----------
    func
        a PrimFunc that accesses these parameters only element by element.
    factors
        index of a parameter -> number of elements that divides its offsets.
    """
    replaced: dict[Var, tirx.Expr] = {}
    for index, factor in factors.items():
        param = func.params[index]
        # int64, because a storage may exceed 2 GB, whatever type the sizes of a buffer have.
        offset = Var(f"{param.name}_elem_offset", "int64")
        replaced[param] = _like(param, offset, factor)
    return _substituted(func, replaced, list(func.params))


@dataclass(frozen=True)
class SharedParameter:
    """Parameters that share memory.

    Parameters
    ----------
    root
        index of the parameter that remains; it begins first.
    views
        index of each other parameter, and its distance from the start of the root in elements.
    """

    root: int
    views: tuple[tuple[int, int], ...]


def with_shared_parameters(
    func: tirx.PrimFunc, shared: tuple[SharedParameter, ...]
) -> tirx.PrimFunc:
    """Return the PrimFunc without the parameters that become views of others.

    Parameters
    ----------
    func
        the PrimFunc.
    shared
        parameters that share memory: buffers of one element type, with static or equal shapes.
    """
    replaced: dict[Var, tirx.Expr] = {}
    declared: list[tirx.Stmt] = []
    for group in shared:
        root = func.params[group.root]
        for index, distance in group.views:
            param = func.params[index]
            start = root.ty.elem_offset + distance
            if isinstance(param.ty.elem_offset, Var):
                replaced[param.ty.elem_offset] = start
            if distance == 0 and tvm_ffi.structural_equal(list(root.shape), list(param.shape)):
                replaced[param] = root
            else:
                replaced[param] = _like(param, start, 1)
                declared.append(
                    tirx.DeclBuffer(replaced[param], data=tirx.buffer.buffer_data(root))
                )
    views = {index for group in shared for index, _ in group.views}
    params = [param for index, param in enumerate(func.params) if index not in views]
    changed = _substituted(func, replaced, params)
    return changed.with_body(_after(declared, changed.body)) if declared else changed


def _like(param: Var, elem_offset: tirx.Expr, offset_factor: int) -> Var:
    """Return a buffer like a parameter that begins at another element of its memory."""
    return tirx.decl_buffer(
        param.shape,
        str(param.dtype),
        param.name,
        elem_offset=elem_offset,
        scope=param.scope(),
        data_alignment=int(param.ty.data_alignment),
        offset_factor=offset_factor,
        layout=param.ty.layout,
    )


def _substituted(
    func: tirx.PrimFunc, replaced: Mapping[Var, tirx.Expr], params: list[Var]
) -> tirx.PrimFunc:
    if not replaced:
        return func
    body = tvm_ffi.structural_map(func.body, (Var, lambda var: replaced.get(var, var)))
    return tirx.PrimFunc(
        [replaced.get(param, param) for param in params], body, func.ret_type, func.attrs
    )


def _after(declared: list[tirx.Stmt], body: tirx.Stmt) -> tirx.Stmt:
    """Insert declarations before a body; a block stays the outermost statement."""
    if not isinstance(body, s_tir.SBlockRealize):
        return tirx.SeqStmt([*declared, body])
    block = body.block
    inner = s_tir.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        tirx.SeqStmt([*declared, block.body]),
        block.init,
        block.alloc_buffers,
        block.match_buffers,
        block.annotations,
    )
    return s_tir.SBlockRealize(body.iter_values, body.predicate, inner)
