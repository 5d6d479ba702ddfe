# Rows of an input come before the operator that reads it, and rows of an output go after the one that
# writes it: each is a tensor like those between operators.
# RUN: usmp-opt %s --passes=StreamIO --pass-config tir.usmp.stream_inputs=image --pass-config tir.usmp.stream_outputs=mask | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.objects import TensorInfo

IMAGE = TensorInfo("image", [1, 10, 16, 1], "int8")
OTHER = TensorInfo("other", [4], "int8")
MASK = TensorInfo("mask", [1, 10, 16, 1], "int8")


@I.ir_module
class Module:
    @T.prim_func
    def twice(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((160,), "int8", data=p)
        b = T.decl_buffer((160,), "int8", data=q)
        for y in range(10):
            for x in range(16):
                b[y * 16 + x] = a[y * 16 + x] * T.int8(2)

    @T.prim_func
    def negated(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=p)
        b = T.decl_buffer((4,), "int8", data=q)
        for x in range(4):
            b[x] = T.int8(0) - a[x]

    @T.prim_func
    def __tvm_main__(
        image_ptr: T.handle("int8"),
        other_ptr: T.handle("int8"),
        mask_ptr: T.handle("int8"),
        y: T.handle("int8"),
    ):
        T.func_attr(
            {
                "input_tensors": [IMAGE, OTHER],
                "output_tensors": [MASK, TensorInfo("y", [4], "int8")],
            }
        )
        image = T.decl_buffer((160,), "int8", data=image_ptr)
        mask = T.decl_buffer((160,), "int8", data=mask_ptr)
        Module.negated(other_ptr, y)
        Module.twice(image.data, mask.data)
        Module.negated(other_ptr, y)


# CHECK: def __tvm_main__(image_rows: T.handle, other_ptr: T.handle("int8", "global"), mask_rows: T.handle, y: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"input_tensors": [metadata["usmp.TensorInfo"][0], metadata["usmp.TensorInfo"][1]], "output_tensors": [metadata["usmp.TensorInfo"][2], metadata["usmp.TensorInfo"][3]], "streamed_inputs": ["image"], "streamed_outputs": ["mask"]})
# CHECK-NEXT:     image = T.alloc_buffer((160,), "int8", annotations={"streamed_tensor": "input \"image\""})
# CHECK-NEXT:     mask = T.alloc_buffer((160,), "int8", annotations={"streamed_tensor": "output \"mask\""})
# CHECK-NEXT:     Module.negated(other_ptr, y)
# CHECK-NEXT:     Module.read_image(image.data, image_rows)
# CHECK-NEXT:     Module.twice(image.data, mask.data)
# CHECK-NEXT:     Module.write_mask(mask.data, mask_rows)
# CHECK-NEXT:     Module.negated(other_ptr, y)
#
# CHECK: def read_image(destination_ptr: T.handle("int8", "global"), rows: T.handle):
# CHECK-NEXT:     T.func_attr({"operator_shapes": {"destination_ptr": [1, 10, 16, 1]}, "operator_steps": [{"kind": "read_input", "macs": 0}], "quantized_operators": []})
# CHECK-NEXT:     destination = T.decl_buffer((160,), "int8", data=destination_ptr)
# CHECK-NEXT:     for row in range(10):
# CHECK-NEXT:         T.attr("tvmgen_read_row", "usmp.tensor_intrin", T.call_pure_extern("int32", "tvmgen_read_row", rows, row, destination[row * 16], 16))
# CHECK-NEXT:         for i in range(16):
# CHECK-NEXT:             destination[row * 16 + i] = T.int8(0)
#
# CHECK: def write_mask(source_ptr: T.handle("int8", "global"), rows: T.handle):
# CHECK-NEXT:     T.func_attr({"operator_shapes": {"source_ptr": [1, 10, 16, 1]}, "operator_steps": [{"kind": "write_output", "macs": 0}], "quantized_operators": []})
# CHECK-NEXT:     source = T.decl_buffer((160,), "int8", data=source_ptr)
# CHECK-NEXT:     for row in range(10):
# CHECK-NEXT:         T.attr("tvmgen_write_row", "usmp.tensor_intrin", T.call_pure_extern("int32", "tvmgen_write_row", rows, row, source[row * 16]))
# CHECK-NEXT:         for i in range(16):
# CHECK-NEXT:             T.evaluate(source[row * 16 + i])
