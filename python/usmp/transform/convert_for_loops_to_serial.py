"""ConvertForLoopsToSerial: run iterations one after the other."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.passes import ModulePass, with_prim_funcs
from usmp.tir.nodes import changed_loop

_CONVERTED = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED, tirx.ForKind.UNROLLED)


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertForLoopsToSerial")
class ConvertForLoopsToSerial(ModulePass):
    """Make parallel, vectorized and unrolled loops serial, for targets that run them serially.

    Their allocations can then be planned, because iterations reuse them one after the other. TVM's
    `tir.transform.ConvertForLoopsToSerial` did so for parallel loops.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Convert the loops of every PrimFunc."""
        return with_prim_funcs(mod, _with_serial_loops)


def _with_serial_loops(func: tirx.PrimFunc) -> tirx.PrimFunc:
    body = tvm_ffi.structural_map(func.body, (tirx.For, _serial))
    return func if body.same_as(func.body) else func.with_body(body)


def _serial(loop: tirx.For) -> tirx.For:
    if loop.kind not in _CONVERTED:
        return loop
    return changed_loop(loop, tirx.ForKind.SERIAL, loop.body)
