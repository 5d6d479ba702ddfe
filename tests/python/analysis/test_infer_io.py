"""Inputs and outputs of a main function that does not tell them apart."""

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.infer_io import infer_io


def roles(mod):
    """ "in" or "out" by name, with a question mark where it is a guess."""
    return {
        io.tensor.name: ("in" if io.is_input else "out") + ("" if io.is_certain else "?")
        for io in infer_io("main", mod)
    }


def test_read_and_written():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x: T.Buffer((4,), "int8"), unused: T.Buffer((4,), "int8"), y: T.Buffer((4,))):
            y[0] = T.cast(x[0], "float32")

    assert roles(Mod) == {"x": "in", "unused": "in", "y": "out"}


def test_an_output_that_accumulates():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x: T.Buffer((4,), "int8"), y: T.Buffer((1,), "int8")):
            y[0] = T.int8(0)
            for i in range(4):
                y[0] = y[0] + x[i]

    assert roles(Mod) == {"x": "in", "y": "out?"}


def test_through_two_levels_of_calls():
    @I.ir_module
    class Mod:
        @T.prim_func
        def inner(a: T.handle("int8"), b: T.handle("int8")):
            A = T.decl_buffer((4,), "int8", data=a)
            B = T.decl_buffer((4,), "int8", data=b)
            B[0] = A[0]

        @T.prim_func
        def outer(a: T.handle("int8"), b: T.handle("int8")):
            Mod.inner(a, b)

        @T.prim_func
        def main(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
            Mod.outer(x.data, y.data)

    assert roles(Mod) == {"x": "in", "y": "out"}


def test_an_unknown_kernel_may_do_anything():
    """The last one is called the output, but neither is taken for certain."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x0: T.Buffer((4,), "int8"), x1: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
            T.evaluate(T.call_extern("int32", "kernel", x0.data, x1.data, y.data))

    assert roles(Mod) == {"x0": "in?", "x1": "in?", "y": "out?"}


def test_the_position_tells_what_an_unknown_kernel_leaves_open():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(
            a: T.Buffer((4,), "int8"),
            x: T.Buffer((4,), "int8"),
            y: T.Buffer((4,), "int8"),
            b: T.Buffer((4,), "int8"),
        ):
            T.evaluate(T.call_extern("int32", "kernel", a.data, b.data))
            y[0] = x[0]

    assert roles(Mod) == {"a": "in?", "x": "in", "y": "out", "b": "out?"}


def test_an_access_pointer_tells():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
            T.evaluate(
                T.call_extern(
                    "int32",
                    "kernel",
                    T.tvm_access_ptr(T.type_annotation("int8"), x.data, 0, 4, 1),
                    T.tvm_access_ptr(T.type_annotation("int8"), y.data, 0, 4, 2),
                )
            )

    assert roles(Mod) == {"x": "in", "y": "out"}


@I.ir_module
class ReadFirst:
    @T.prim_func
    def main(x: T.Buffer((4,), "int8"), s: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        y[0] = s[0]
        s[0] = x[0]


@I.ir_module
class WrittenFirstInABranch:
    @T.prim_func
    def main(x: T.Buffer((4,), "int8"), s: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        if x[0] > T.int8(0):
            s[0] = x[0]
        y[0] = s[0]


@I.ir_module
class WrittenFirstInPart:
    @T.prim_func
    def main(x: T.Buffer((4,), "int8"), s: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        s[0] = x[0]
        for i in range(4):
            y[i] = s[i]


@I.ir_module
class WrittenFromItself:
    @T.prim_func
    def reverse(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for i in range(4):
            A[i] = B[3 - i]

    @T.prim_func
    def main(x: T.Buffer((4,), "int8"), s: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        WrittenFromItself.reverse(s, s)
        y[0] = x[0]


@pytest.mark.parametrize(
    "mod", [ReadFirst, WrittenFirstInABranch, WrittenFirstInPart, WrittenFromItself]
)
def test_state_is_never_taken_for_an_output_alone(mod):
    assert roles(mod) == {"x": "in", "s": "out?", "y": "out"}


def test_names_shapes_and_types():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(
            x: T.Buffer((2, 3), "int16"), p: T.handle("float32"), n: T.int32, resource: T.handle
        ):
            small = T.decl_buffer((2,), "float32", data=p)
            large = T.decl_buffer((8,), "float32", data=p)
            small[0] = T.cast(x[0, 0], "float32")
            large[7] = T.cast(n, "float32")

    assert [
        (io.index, io.tensor.name, list(io.tensor.shape), io.tensor.dtype)
        for io in infer_io("main", Mod)
    ] == [(0, "x", [2, 3], "int16"), (1, "p", [8], "float32")]


def test_a_pointer_of_unknown_size():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "kernel", x))

    with pytest.raises(ValueError) as error:
        infer_io("main", Mod)
    assert str(error.value) == (
        "main: the size of parameter x is not known; make it a T.Buffer of static shape, or "
        "declare such a buffer at it with T.decl_buffer"
    )


def test_a_dynamic_shape():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32, x: T.handle("int8")):
            X = T.decl_buffer((n,), "int8", data=x)
            X[0] = T.int8(1)

    with pytest.raises(ValueError, match=r"^main: the size of parameter x is not known"):
        infer_io("main", Mod)


def test_a_view_with_an_offset_or_gaps_reaches_further_than_its_shape():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x: T.handle("int16"), y: T.handle("int16")):
            X = T.decl_buffer((4,), "int16", data=x, elem_offset=8)
            Y = T.decl_buffer((2, 3), "int16", data=y, strides=[10, 1])
            Y[1, 2] = X[3]

    assert [list(io.tensor.shape) for io in infer_io("main", Mod)] == [[12], [13]]


def test_a_view_whose_offset_is_not_static():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32, x: T.handle("int8")):
            X = T.decl_buffer((4,), "int8", data=x, elem_offset=n)
            T.evaluate(X[0])

    with pytest.raises(ValueError, match=r"^main: the size of parameter x is not known"):
        infer_io("main", Mod)


def test_a_view_some_bytes_after_a_pointer():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(x: T.handle("int8")):
            X = T.decl_buffer((4,), "int8", data=T.handle_add_byte_offset(x, 16))
            T.evaluate(X[0])

    with pytest.raises(ValueError, match=r"^main: the size of parameter x is not known"):
        infer_io("main", Mod)
