"""Accesses to memory that LLVM assumes may alias.

Planned memory changes its type and its buffer over time, and buffers may overlap. TVM emits
type-based alias metadata with a tag for each parameter and each local buffer. LLVM would conclude
that their accesses never alias, and reorder them once operators are inlined. But all pointers of
`Bind` and all buffers at an address share one tag. So every access is rewritten to use a
pointer of `Bind`, or a buffer at an address.
"""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import PointerType

_NO_ALIAS = "tirx.noalias"


def may_alias(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return `func` with all accesses rewritten, so that they may alias."""
    params = {
        param: tirx.Var(param.name, param.ty)
        for param in func.params
        if isinstance(param.ty, PointerType)
    }
    body = tvm_ffi.structural_map(func.body, (tirx.AllocBuffer, _at_an_address))
    binds = [tirx.Bind(param, pointer) for param, pointer in params.items()]
    if binds:
        body = tirx.SeqStmt([*binds, *tirx.stmt_list(body)])
    renamed = tirx.PrimFunc(
        [params.get(p, p) for p in func.params], body, func.ret_type, func.attrs
    )
    return renamed.without_attr(_NO_ALIAS)


def _at_an_address(stmt: tirx.AllocBuffer) -> tirx.Stmt:
    """Rewrite a buffer on the stack into a buffer at the address of its storage."""
    buffer = stmt.buffer
    shape = [
        max(int(extent), 1) if isinstance(extent, tirx.IntImm) else extent
        for extent in buffer.shape
    ]
    storage = tirx.decl_buffer(shape, buffer.dtype, f"{buffer.name}_storage")
    address = tirx.address_of(storage[tuple(0 for _ in shape)])
    return tirx.SeqStmt([tirx.AllocBuffer(storage), tirx.DeclBuffer(buffer, data=address)])
