"""Any two accesses to memory may alias.

Planned memory changes its type and its buffer over time, and one buffer may lie on another. TVM
gives LLVM the buffer of each access as type-based alias metadata: accesses to two
parameters, or to two local buffers, are then said to be to different memory, and LLVM moves the
one before the other once operators are inlined. TVM does not say so of variables that a `Bind`
gives a pointer, or of buffers at an address; these all get one tag. So everything becomes one.
"""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import PointerType

_NO_ALIAS = "tirx.noalias"


def may_alias(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """`func` with all memory accessed in ways of which TVM promises LLVM nothing."""
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
    """A buffer on the stack, as one at the address of the storage that it has there."""
    buffer = stmt.buffer
    shape = [
        max(int(extent), 1) if isinstance(extent, tirx.IntImm) else extent
        for extent in buffer.shape
    ]
    storage = tirx.decl_buffer(shape, buffer.dtype, f"{buffer.name}_storage")
    address = tirx.address_of(storage[tuple(0 for _ in shape)])
    return tirx.SeqStmt([tirx.AllocBuffer(storage), tirx.DeclBuffer(buffer, data=address)])
