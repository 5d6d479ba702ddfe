import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR
from usmp.transform import CreateAllocatesForIO


def with_io(mod, inputs, outputs):
    attrs = {INPUT_TENSORS_ATTR.name: inputs, OUTPUT_TENSORS_ATTR.name: outputs}
    mod = tvm.IRModule(mod.functions, attrs=mod.attrs)
    mod.update_func(mod.get_global_var("__tvm_main__"), mod["__tvm_main__"].with_attrs(attrs))
    return mod


def check(before, expected, inputs, outputs):
    after = CreateAllocatesForIO()(with_io(before, inputs, outputs))
    assert tirx.analysis.verify_well_formed(after)
    tvm.ir.assert_structural_equal(after, with_io(expected, inputs, outputs))


def test_pointer_parameters():
    @I.ir_module
    class Before:
        @T.prim_func
        def op(a: T.handle("int8"), b: T.handle("int32")):
            A = T.decl_buffer((6,), "int8", data=a)
            B = T.decl_buffer((4,), "int32", data=b)
            B[0] = T.cast(A[0], "int32")

        @T.prim_func
        def __tvm_main__(x_ptr: T.handle("int8"), y_ptr: T.handle("int32")):
            x = T.decl_buffer((6,), "int8", data=x_ptr)
            y = T.decl_buffer((4,), "int32", data=y_ptr)
            Before.op(x.data, y_ptr)
            Before.op(x_ptr, y.data)

    @I.ir_module
    class Expected:
        @T.prim_func
        def op(a: T.handle("int8"), b: T.handle("int32")):
            A = T.decl_buffer((6,), "int8", data=a)
            B = T.decl_buffer((4,), "int32", data=b)
            B[0] = T.cast(A[0], "int32")

        @T.prim_func
        def __tvm_main__():
            in_x = T.alloc_buffer((6,), "int8", annotations={"input_tensor": "in/x:0"})
            out_y = T.alloc_buffer((4,), "int32", annotations={"output_tensor": "out y"})
            x = T.decl_buffer((6,), "int8", data=in_x.data)
            y = T.decl_buffer((4,), "int32", data=out_y.data)
            Expected.op(x.data, out_y.data)
            Expected.op(in_x.data, y.data)

    inputs, outputs = [TensorInfo("in/x:0", [2, 3], "int8")], [TensorInfo("out y", [4], "int32")]
    check(Before, Expected, inputs, outputs)


def test_buffer_parameters():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((2, 3), "int8"), y: T.Buffer((4,), "int8")):
            y[0] = x[1, 2]

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((2, 3), "int8", annotations={"input_tensor": "in"})
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "out"})
            y[0] = x[1, 2]

    inputs, outputs = [TensorInfo("in", [2, 3], "int8")], [TensorInfo("out", [4], "int8")]
    check(Before, Expected, inputs, outputs)


def test_several_inputs_and_outputs():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(
            a: T.handle("int8"), b: T.handle("int16"), c: T.handle("int8"), d: T.handle("float32")
        ):
            T.evaluate(T.call_extern("int32", "f", a, b, c, d))

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((1,), "int8", annotations={"input_tensor": "a"})
            b = T.alloc_buffer((2,), "int16", annotations={"input_tensor": "b"})
            c = T.alloc_buffer((3,), "int8", annotations={"output_tensor": "c"})
            d = T.alloc_buffer((4,), "float32", annotations={"output_tensor": "d"})
            T.evaluate(T.call_extern("int32", "f", a.data, b.data, c.data, d.data))

    inputs = [TensorInfo("a", [1], "int8"), TensorInfo("b", [2], "int16")]
    outputs = [TensorInfo("c", [3], "int8"), TensorInfo("d", [4], "float32")]
    check(Before, Expected, inputs, outputs)


def test_an_input_that_nothing_reads():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "f", y))

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})  # noqa: F841
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
            T.evaluate(T.call_extern("int32", "f", y.data))

    check(Before, Expected, [TensorInfo("x", [4], "int8")], [TensorInfo("y", [4], "int8")])


def test_an_output_that_is_read_and_written():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(y_ptr: T.handle("int8")):
            y = T.decl_buffer((4,), "int8", data=y_ptr)
            y[0] = y[0] + T.int8(1)

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__():
            out = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
            y = T.decl_buffer((4,), "int8", data=out.data)
            y[0] = y[0] + T.int8(1)

    check(Before, Expected, [], [TensorInfo("y", [4], "int8")])


def test_parameters_beyond_inputs_and_outputs_stay():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), resource: T.handle):
            T.evaluate(T.call_extern("int32", "f", x, y, resource))

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(resource: T.handle):
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
            T.evaluate(T.call_extern("int32", "f", x.data, y.data, resource))

    check(Before, Expected, [TensorInfo("x", [4], "int8")], [TensorInfo("y", [4], "int8")])


def test_more_inputs_than_parameters():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "f", x))

    info = TensorInfo("x", [4], "int8")
    with pytest.raises(ValueError) as error:
        CreateAllocatesForIO()(with_io(Mod, [info], [info]))
    message = "__tvm_main__ has 1 parameters, but 2 inputs and outputs"
    assert str(error.value).partition("\n")[0] == message


def test_a_tensor_that_is_larger_than_told():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.Buffer((4,), "int8")):
            X = T.decl_buffer((64,), "int8", data=x)
            y[0] = X[63]

    with pytest.raises(ValueError) as error:
        CreateAllocatesForIO()(
            with_io(Mod, [TensorInfo("in", [4], "int8")], [TensorInfo("y", [4], "int8")])
        )
    assert str(error.value).partition("\n")[0] == (
        "__tvm_main__: tensor in is declared to have 4 bytes, but X is declared there with 64"
    )


# ---- inputs and outputs that are not told


def check_inferred(before, expected, inputs, outputs):
    after = CreateAllocatesForIO()(before)
    assert tirx.analysis.verify_well_formed(after)
    tvm.ir.assert_structural_equal(after, with_io(expected, inputs, outputs))


def test_inferred_inputs_and_outputs():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(
            x: T.Buffer((2, 3), "int8"), y: T.handle("int16"), resource: T.handle, n: T.int32
        ):
            Y = T.decl_buffer((4,), "int16", data=y)
            Y[n] = T.cast(x[0, 0], "int16")

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(resource: T.handle, n: T.int32):
            x = T.alloc_buffer((2, 3), "int8", annotations={"input_tensor": "x"})
            y = T.alloc_buffer((4,), "int16", annotations={"output_tensor": "y"})
            Y = T.decl_buffer((4,), "int16", data=y.data)
            Y[n] = T.cast(x[0, 0], "int16")

    inputs, outputs = [TensorInfo("x", [2, 3], "int8")], [TensorInfo("y", [4], "int16")]
    check_inferred(Before, Expected, inputs, outputs)


def test_what_may_be_both_lives_throughout():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
            T.evaluate(T.call_extern("int32", "kernel", x.data, y.data))

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer(
                (4,), "int8", annotations={"input_tensor": "x", "live_throughout": True}
            )
            y = T.alloc_buffer(
                (4,), "int8", annotations={"output_tensor": "y", "live_throughout": True}
            )
            T.evaluate(T.call_extern("int32", "kernel", x.data, y.data))

    inputs, outputs = [TensorInfo("x", [4], "int8")], [TensorInfo("y", [4], "int8")]
    check_inferred(Before, Expected, inputs, outputs)


def test_only_the_inputs_are_told():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((4,), "int8")):
            T.evaluate(x[0])

    main = Mod["__tvm_main__"].with_attr(INPUT_TENSORS_ATTR.name, [TensorInfo("x", [4], "int8")])
    with pytest.raises(ValueError) as error:
        CreateAllocatesForIO()(tvm.IRModule({"__tvm_main__": main}))
    assert str(error.value).partition("\n")[0] == (
        "__tvm_main__ has the attribute input_tensors only; both input_tensors and output_tensors "
        "are needed, or neither"
    )


def test_the_pass_has_a_name():
    assert CreateAllocatesForIO().info.name == "usmp.CreateAllocatesForIO"
