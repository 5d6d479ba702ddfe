"""A PrimFunc in blocks with other extents of its buffers and iterators."""

from __future__ import annotations

from collections.abc import Mapping

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Range, Var

from usmp.tir.nodes import nodes_of


def resized(
    func: tirx.PrimFunc, axes: Mapping[Var, Mapping[int, int]], extents: Mapping[Var, int]
) -> tirx.PrimFunc:
    """Return a PrimFunc with other extents and the same indices.

    Parameters
    ----------
    axes
        buffer -> axis -> extent.
    extents
        iterator of a block -> extent.
    """
    buffers = {buffer: _with_extents(buffer, own) for buffer, own in axes.items()}
    loops = {
        value: extents[variable.var]
        for realize in nodes_of(func.body, s_tir.SBlockRealize)
        for variable, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if variable.var in extents
    }
    body = tvm_ffi.structural_map(
        func.body,
        [
            (Var, lambda var: buffers.get(var, var)),
            (tirx.For, lambda loop: _loop(loop, loops)),
            (tirx.IterVar, lambda variable: _iterator(variable, extents)),
        ],
    )
    params = [buffers.get(param, param) for param in func.params]
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs)


def _with_extents(buffer: Var, extents: Mapping[int, int]) -> Var:
    """Return a copy of a buffer with other extents on some axes."""
    shape = list(buffer.shape)
    for axis, extent in extents.items():
        shape[axis] = tirx.IntImm(str(shape[axis].ty.dtype), extent)
    return tirx.decl_buffer(shape, str(buffer.dtype), buffer.name, layout=None)


def _loop(loop: tirx.For, extents: Mapping[Var, int]) -> tirx.For:
    if loop.loop_var not in extents:
        return loop
    extent = tirx.IntImm(str(loop.loop_var.ty.dtype), extents[loop.loop_var])
    body, annotations = loop.body, loop.annotations
    return tirx.For(loop.loop_var, loop.min, extent, loop.kind, body, annotations=annotations)


def _iterator(variable: tirx.IterVar, extents: Mapping[Var, int]) -> tirx.IterVar:
    if variable.var not in extents:
        return variable
    extent = tirx.IntImm(str(variable.var.ty.dtype), extents[variable.var])
    domain = Range.from_min_extent(variable.dom.min, extent)
    return tirx.IterVar(domain, variable.var, variable.iter_type)
