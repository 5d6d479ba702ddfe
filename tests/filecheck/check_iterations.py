# Loops that would run for hours are refused.
# RUN: not usmp-opt %s --passes=CheckIterations 2>&1 | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def pool(x: T.Buffer((1,), "int8")):
        for i in range(T.int64(8388608)):
            for j in range(T.int64(8388608)):
                x[0] = x[0] + T.int8(1)


# CHECK: usmp-opt: error: operator pool computes 70368744177664 steps, which takes hours on any machine;
# CHECK-NEXT:   an operator may have 17592186044416: choose smaller windows or tensors
