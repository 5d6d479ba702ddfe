# A matrix product gets the attributes that say what it computes, and on what.
# RUN: usmp-opt %s --passes=DescribeOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def product(
        x: T.Buffer((2, 5), "float32"),
        w: T.Buffer((3, 5), "float32"),
        y: T.Buffer((2, 3), "float32"),
    ):
        for r, c, k in T.grid(2, 3, 5):
            with T.sblock("product"):
                vr, vc, vk = T.axis.remap("SSR", [r, c, k])
                with T.init():
                    y[vr, vc] = T.float32(0)
                y[vr, vc] = y[vr, vc] + x[vr, vk] * w[vc, vk]


# CHECK: @T.prim_func(s_tir=True)
# CHECK-NEXT: def product(x: T.Buffer((2, 5), "float32"), w: T.Buffer((3, 5), "float32"), y: T.Buffer((2, 3), "float32")):
# CHECK-NEXT:     T.func_attr({"operator_shapes": {"w": [3, 5], "x": [2, 5], "y": [2, 3]}, "operator_steps": [{"kind": "product", "macs": 30}]})
