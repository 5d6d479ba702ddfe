# A function with the mark of element-wise operators gets their pattern (0).
# RUN: usmp-opt %s --passes=FuseTables | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def look_up(x: T.Buffer((4,), "uint8"), t: T.Buffer((256,), "int8"), y: T.Buffer((4,), "int8")):
        T.func_attr({"usmp.is_element_wise": True})
        for i in range(4):
            with T.sblock("look_up"):
                vi = T.axis.spatial(4, i)
                y[vi] = t[x[vi]]


# CHECK: @T.prim_func(s_tir=True)
# CHECK-NEXT: def look_up(x: T.Buffer((4,), "uint8"), t: T.Buffer((256,), "int8"), y: T.Buffer((4,), "int8")):
# CHECK-NEXT:     T.func_attr({"op_pattern": 0})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         with T.sblock("look_up"):
# CHECK-NEXT:             vi = T.axis.spatial(4, i)
# CHECK-NEXT:             T.reads(t[x[vi]], x[vi])
# CHECK-NEXT:             T.writes(y[vi])
# CHECK-NEXT:             y[vi] = t[x[vi]]
