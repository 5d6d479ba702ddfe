"""ConvertForLoopsToSerial: one iteration after the other."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.transform.module_pass import ModulePass

_CONVERTED = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED, tirx.ForKind.UNROLLED)


@tvm.transform.module_pass(opt_level=0, name="tir.usmp.ConvertForLoopsToSerial")
class ConvertForLoopsToSerial(ModulePass):
    """Make parallel, vectorized and unrolled loops serial, for targets that run them so anyway.

    What they allocate can then be planned, since one iteration after the other may use it. As TVM's
    `tir.transform.ConvertForLoopsToSerial`, which did so for parallel loops.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Convert the loops of every PrimFunc."""
        converted = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                body = tvm_ffi.structural_map(func.body, (tirx.For, _serial))
                if not body.same_as(func.body):
                    converted.update_func(variable, func.with_body(body))
        return converted


def _serial(loop: tirx.For) -> tirx.For:
    if loop.kind not in _CONVERTED:
        return loop
    return tirx.For(
        loop.loop_var,
        loop.min,
        loop.extent,
        tirx.ForKind.SERIAL,
        loop.body,
        loop.thread_binding,
        loop.annotations,
        loop.step,
        loop.span,
    )
