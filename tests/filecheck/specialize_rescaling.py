# A constant factor of small values, with the zero point and the limits behind it, takes one function.
# RUN: usmp-opt %s --passes=SpecializeRescaling | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def f(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in range(8):
            y[i] = T.Cast(
                "int8",
                T.min(
                    T.max(
                        T.call_pure_extern(
                            "int32",
                            "tvmgen_multiply_by_quantized_multiplier",
                            (T.Cast("int32", x[i]) - 5) * 1048576,
                            1623821475,
                            -17,
                        ),
                        -28,
                    ),
                    227,
                )
                - 100,
            )


# CHECK: @T.prim_func
# CHECK-NEXT: def f(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
# CHECK-NEXT:     for i in range(8):
# CHECK-NEXT:         y[i] = T.Cast("int8", T.min(T.max(T.call_pure_extern("int32", "tvmgen_rescale_record", (T.Cast("int32", x[i]) - 5) * 1048576, 1623821475, 17, -199), -128), 127))
