"""PrimFuncs for tensors that begin inside their storage, and that share bytes with each other.

TVM's virtual machine passes such a tensor as the pointer of the storage and a byte offset. A
PrimFunc takes it if the buffer has an `elem_offset` that is a variable. Tensors that share bytes
become one parameter, and the others views of it: compilers take it that two parameters are apart
(`tirx.noalias`, and always on devices), but know that views of one pointer are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Var


def with_elem_offsets(func: tirx.PrimFunc, factors: Mapping[int, int]) -> tirx.PrimFunc:
    """The PrimFunc in which buffers may begin at any element.

    Parameters
    ----------
    func
        the PrimFunc; of these parameters it accesses single elements only.
    factors
        index of a parameter -> elements of which the offsets are a multiple.
    """
    replaced: dict[Var, tirx.Expr] = {}
    for index, factor in factors.items():
        param = func.params[index]
        # Storage may have more than 2 GB, whatever type the sizes of a buffer have.
        offset = Var(f"{param.name}_elem_offset", "int64")
        replaced[param] = _like(param, offset, factor)
    return _substituted(func, replaced, list(func.params))


@dataclass(frozen=True)
class SharedParameter:
    """A parameter with the memory of several.

    Parameters
    ----------
    root
        index of the one that remains: no other begins before it.
    views
        index of each of the others -> elements from the start of the root to its own.
    """

    root: int
    views: tuple[tuple[int, int], ...]


def with_shared_parameters(
    func: tirx.PrimFunc, shared: tuple[SharedParameter, ...]
) -> tirx.PrimFunc:
    """The PrimFunc without the parameters that are views of others.

    Parameters
    ----------
    func
        the PrimFunc.
    shared
        which share memory: buffers of one type, of constant shapes or of the same.
    """
    replaced: dict[Var, tirx.Expr] = {}
    declared: list[tirx.Stmt] = []
    for each in shared:
        root = func.params[each.root]
        for index, distance in each.views:
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
    views = {index for each in shared for index, _ in each.views}
    params = [param for index, param in enumerate(func.params) if index not in views]
    changed = _substituted(func, replaced, params)
    return changed.with_body(_after(declared, changed.body)) if declared else changed


def _like(param: Var, elem_offset: tirx.Expr, offset_factor: int) -> Var:
    """A buffer that begins at another element of its memory."""
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
    """The body, in which these come first; blocks stay the outermost statement."""
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
