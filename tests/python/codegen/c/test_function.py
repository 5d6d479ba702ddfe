"""A flat PrimFunc as a C function."""

import ctypes

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule, PointerType, PrimType, StringImm
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.codegen.c.types import UnsupportedInC


def pointer(name, dtype):
    return tirx.Var(name, PointerType(PrimType(dtype)))


def test_a_whole_function(print_functions):
    @T.prim_func
    def f(a: T.handle("float32"), b: T.handle("float32"), n: T.int32):
        A = T.decl_buffer((8,), "float32", data=a)
        B = T.decl_buffer((8,), "float32", data=b)
        for i in range(8):
            if i < n:
                B[i] = A[i] + T.float32(1)
            else:
                B[i] = T.float32(0)

    assert print_functions(f) == (
        "static void f(const float_alias* a, float_alias* b, int32_t n) {\n"
        "  for (int32_t i = 0; i < 8; ++i) {\n"
        "    if (i < n) {\n"
        "      b[i] = a[i] + 1.0f;\n"
        "    } else {\n"
        "      b[i] = 0.0f;\n"
        "    }\n"
        "  }\n"
        "}"
    )


def test_bytes_are_accessed_as_characters(body_of, print_functions):
    @T.prim_func
    def f(a: T.handle("int8"), b: T.handle("bool")):
        A = T.decl_buffer((8,), "int8", data=a)
        B = T.decl_buffer((8,), "bool", data=b)
        B[0] = A[0] > T.int8(1)

    assert print_functions(f).startswith("static void f(const int8_t* a, uint8_t* b) {")


def test_loops(body_of):
    @T.prim_func
    def f(a: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((64,), "int32", data=a)
        for i in range(n, n + 4):
            A[i] = 0
        for j in T.serial(0, 10, step=3):
            A[j] = 1
        for k in T.parallel(4):
            A[k] = 2
        for m in T.unroll(2):
            A[m] = 3
        while A[0] > 0:
            A[0] = A[0] - 1

    assert body_of(f) == [
        "  for (int32_t i = n; i < n + 4; ++i) {",
        "    a[i] = 0;",
        "  }",
        "  for (int32_t j = 0; j < 10; j += 3) {",
        "    a[j] = 1;",
        "  }",
        "  for (int32_t k = 0; k < 4; ++k) {",
        "    a[k] = 2;",
        "  }",
        "  for (int32_t m = 0; m < 2; ++m) {",
        "    a[m] = 3;",
        "  }",
        "  while (a[0] > 0) {",
        "    a[0] -= 1;",
        "  }",
    ]


def test_a_loop_that_is_unrolled(body_of):
    @T.prim_func
    def f(a: T.handle("int32"), b: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((64,), "int32", data=b)
        with T.attr(0, "pragma_unroll_explicit", 1):
            for i in range(3):
                A[i] = A[i] + B[n * 3 + i]
        with T.attr(0, "pragma_unroll_explicit", 1):
            for j in range(n):
                A[j] = 0

    assert body_of(f) == [
        "  tvmgen_written_out();",
        "  a[0] += b[n * 3];",
        "  a[1] += b[n * 3 + 1];",
        "  a[2] += b[n * 3 + 2];",
        "  for (int32_t j = 0; j < n; ++j) {",
        "    a[j] = 0;",
        "  }",
    ]


def test_the_extent_of_a_loop_is_read_once(load_functions):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        for i in range(A[0]):  # noqa: B007
            A[0] = A[0] + 1
            A[1] = A[1] + 1

    data = np.array([3, 0, 0, 0], "int32")
    load_functions(f).f(data.ctypes.data_as(ctypes.c_void_p))
    assert data.tolist() == [6, 3, 0, 0]


def test_break_and_continue(load_functions):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        for i in range(8):
            if i == 2:
                continue
            if i == 5:
                break
            A[i] = 1

    data = np.zeros(8, "int32")
    load_functions(f).f(data.ctypes.data_as(ctypes.c_void_p))
    assert data.tolist() == [1, 1, 0, 1, 1, 0, 0, 0]


def test_the_same_buffer_allocated_in_two_loops(load_functions):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        for i in range(4):
            t = T.alloc_buffer((2,), "int32", scope="local")
            t[0] = i
            A[i] = t[0]
        for i in range(4):
            t = T.alloc_buffer((2,), "int32", scope="local")
            t[1] = i * 2
            A[i + 4] = t[1]

    data = np.zeros(8, "int32")
    load_functions(f).f(data.ctypes.data_as(ctypes.c_void_p))
    assert data.tolist() == [0, 1, 2, 3, 0, 2, 4, 6]


def test_one_allocation_that_occurs_twice(load_functions):
    start = pointer("p", "int32")
    data, t = tirx.decl_buffer((4,), "int32", "data"), tirx.decl_buffer((1,), "int32", "t")

    def part(index):
        return [
            tirx.AllocBuffer(t),
            tirx.BufferStore(t, data[index] + 1, [0]),
            tirx.BufferStore(data, t[0], [index]),
        ]

    body = tirx.SeqStmt([tirx.DeclBuffer(data, data=start), *part(0), *part(2)])
    array = np.array([5, 6, 7, 8], "int32")
    load_functions(tirx.PrimFunc([start], body)).f(array.ctypes.data_as(ctypes.c_void_p))
    assert array.tolist() == [6, 6, 8, 8]


def test_a_parameter_that_only_a_callee_writes_is_not_const(print_functions):
    @I.ir_module(s_tir=True)
    class Module:
        @T.prim_func(private=True)
        def g(a: T.handle("int32"), b: T.handle("int32")):
            A = T.decl_buffer((8,), "int32", data=a)
            B = T.decl_buffer((8,), "int32", data=b)
            B[0] = A[0]

        @T.prim_func(private=True)
        def f(a: T.handle("int32"), b: T.handle("int32")):
            Module.g(a, b)

    assert "static void f(const int32_alias* a, int32_alias* b) {" in print_functions(Module)


def function_with(*statements, params=()):
    nothing = tirx.Evaluate(0)
    return tirx.PrimFunc(list(params), tirx.SeqStmt([*statements, nothing, nothing]))


DATA = tirx.decl_buffer((4,), "int32", "data")
POINTER = pointer("p", "int32")
STORE = tirx.BufferStore(DATA, tirx.IntImm("int32", 1), [0])


def declared(**options):
    """A function that stores through a view with unusual strides, offset or shape."""
    view = tirx.decl_buffer(options.pop("shape", (4,)), "int32", "view", **options)
    indices = [0] * len(view.shape)
    store = tirx.BufferStore(view, tirx.IntImm("int32", 1), indices)
    return function_with(tirx.DeclBuffer(view, data=POINTER), store, params=[POINTER])


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (declared(shape=(2, 2)), "f: buffer view is not flat"),
        (declared(elem_offset=2), "f: buffer view is not flat"),
        (declared(strides=[2]), "f: buffer view is not flat"),
        (
            function_with(tirx.AllocBuffer(DATA, {"constant_data": 0}), STORE),
            "f: constant data is in no constant pool",
        ),
        (function_with(STORE), "f: variable data is used outside of its declaration"),
        (
            function_with(tirx.AssertStmt(DATA[0] > 0, StringImm("E"), [])),
            "f: statement AssertStmt has no C99 form",
        ),
        (function_with(tirx.Return(tirx.IntImm("int32", -1))), "f: a PrimFunc that returns"),
    ],
)
def test_what_c_lacks_is_refused(func, message, print_functions):
    with pytest.raises(UnsupportedInC, match=message):
        print_functions(func)


def test_an_inner_allocation_of_unknown_size_is_refused(print_functions):
    n = tirx.Var("n", "int32")
    t = tirx.decl_buffer((n,), "int32", "t")
    store = tirx.BufferStore(t, tirx.IntImm("int32", 1), [0])
    with pytest.raises(UnsupportedInC, match="buffer t is not of constant size"):
        print_functions(function_with(tirx.AllocBuffer(t), store, params=[n]))


def test_every_function_of_a_module_is_printed(print_functions):
    one, two = (function_with(params=[tirx.Var(name, "int32")]) for name in "xy")
    assert print_functions(IRModule({"one": one, "two": two})) == (
        "static void one(int32_t x) {\n  (void)x;\n}\nstatic void two(int32_t y) {\n  (void)y;\n}"
    )


def test_statements_in_a_function_of_their_own(print_functions):
    @T.prim_func
    def f(x: T.handle("int32"), y: T.handle("int32")):
        X = T.decl_buffer((8,), "int32", data=x)
        Y = T.decl_buffer((8,), "int32", data=y)
        for i in range(2):
            with T.attr("row", "usmp.own_function", 1):
                for j in range(4):
                    Y[i * 4 + j] = X[i * 4 + j]

    assert print_functions(f).split("\n") == [
        "static TVMGEN_NOINLINE void f_row(const int32_alias* x, int32_alias* y, int32_t i) {",
        "  for (int32_t j = 0; j < 4; ++j) {",
        "    y[i * 4 + j] = x[i * 4 + j];",
        "  }",
        "}",
        "",
        "static void f(const int32_alias* x, int32_alias* y) {",
        "  for (int32_t i = 0; i < 2; ++i) {",
        "    f_row(x, y, i);",
        "  }",
        "}",
    ]


def test_statements_that_change_a_variable_stay(body_of):
    @T.prim_func
    def f(y: T.handle("int32")):
        Y = T.decl_buffer((1,), "int32", data=y)
        total = T.alloc_buffer((1,), "int32")
        total[0] = 1
        for _ in range(2):
            with T.attr("more", "usmp.own_function", 1):
                total[0] = total[0] * 3
        Y[0] = total[0]

    assert body_of(f) == [
        "  int32_t total = 1;",
        "  for (int32_t _ = 0; _ < 2; ++_) {",
        "    total *= 3;",
        "  }",
        "  y[0] = total;",
    ]
