# Two convolutions of eight columns become two strips of four. Of the first convolution each strip
# needs one column more, beside the border, which is computed twice: 2 * 8 * 9 products for 4 channels.
# RUN: usmp-opt %s --passes=SplitIntoStrips --pass-config tir.usmp.max_extra_macs=20% | filecheck %s

import numpy as np
from tvm import relax

from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
    conv2d,
)

SCALE = Quantization("int8", (1.0,), (0,))
WINDOW = Window((8, 8), (3, 3), (1, 1), (1, 1), (1, 1), (8, 8))
RESCALE = Rescale((QuantizedMultiplier(1 << 30, 1),), SCALE, OutputLimits("int8", -128, 127))


def convolution(builder, data, outputs, channels):
    weight = np.ones((outputs, 3, 3, channels), np.int8)
    bias = np.ones(outputs, np.int32)
    return conv2d(builder, data, weight, bias, WINDOW, SCALE, RESCALE, Layout("NHWC"), SCALE)


builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((1, 8, 8, 1), "int8"))
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit(convolution(builder, x, 4, 1))
        z = builder.emit_output(convolution(builder, y, 1, 4))
    builder.emit_func_output(z)
Module = builder.get()


# CHECK: I.module_attrs({"strips": {"chains": [{"macs": 5184, "macs_before": 4608, "operators": ["conv2d", "conv2d1"], "strips": 2}], "choices": [], "macs": 5184, "macs_before": 4608, "max_extra_macs": 20.0}})
# CHECK: T.reads(x[v_i0, v_i1 + v_ky - T.int64(1), v_i2 + v_kx - T.int64(1), v_ic], B[v_i3, v_ky, v_kx, v_ic])
# CHECK: T.reads(lv[v_i0, v_i1 + v_ky - T.int64(1), v_i2 + v_kx - T.int64(1), v_ic], B[v_i3, v_ky, v_kx, v_ic])
# CHECK: T.reads(x[v_i0, v_i1 + v_ky - T.int64(1), v_i2 + v_kx + T.int64(2), v_ic], B[v_i3, v_ky, v_kx, v_ic])
# CHECK: T.reads(lv[v_i0, v_i1 + v_ky - T.int64(1), v_i2 + v_kx, v_ic], B[v_i3, v_ky, v_kx, v_ic])
# CHECK: whole[0, y, x, c] = part[0, y, x, c]
# CHECK: whole[0, y, x + 4, c] = part[0, y, x, c]
# CHECK: def main(x: R.Tensor((1, 8, 8, 1), dtype="int8")) -> R.Tensor((1, 8, 8, 1), dtype="int8"):
# CHECK-NEXT:         cls = Module
# CHECK-NEXT:         with R.dataflow():
# CHECK-NEXT:             lv = R.call_tir(cls.conv2d2, (x, metadata["ir.GenericConst"][0], metadata["ir.GenericConst"][1], metadata["ir.GenericConst"][2], metadata["ir.GenericConst"][3]), out_ty=R.Tensor((1, 8, 5, 4), dtype="int8"))
# CHECK-NEXT:             lv1 = R.call_tir(cls.conv2d3, (lv, metadata["ir.GenericConst"][4], metadata["ir.GenericConst"][5], metadata["ir.GenericConst"][6], metadata["ir.GenericConst"][7]), out_ty=R.Tensor((1, 8, 4, 1), dtype="int8"))
# CHECK-NEXT:             lv2 = R.call_tir(cls.write_columns, (lv1,), out_ty=R.Tensor((1, 8, 8, 1), dtype="int8"))
# CHECK-NEXT:             lv3 = R.call_tir(cls.conv2d4, (x, metadata["ir.GenericConst"][0], metadata["ir.GenericConst"][1], metadata["ir.GenericConst"][2], metadata["ir.GenericConst"][3]), out_ty=R.Tensor((1, 8, 5, 4), dtype="int8"))
# CHECK-NEXT:             lv4 = R.call_tir(cls.conv2d5, (lv3, metadata["ir.GenericConst"][4], metadata["ir.GenericConst"][5], metadata["ir.GenericConst"][6], metadata["ir.GenericConst"][7]), out_ty=R.Tensor((1, 8, 4, 1), dtype="int8"))
# CHECK-NEXT:             gv: R.Tensor((1, 8, 8, 1), dtype="int8") = R.call_tir_inplace(cls.write_columns1, (lv2, lv4), out_ty=R.Tensor((1, 8, 8, 1), dtype="int8"), inplace_indices=[0])
# CHECK-NEXT:             R.output(gv)
# CHECK-NEXT:         return gv
