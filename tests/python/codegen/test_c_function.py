"""A flat PrimFunc as a C function."""

import ctypes

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule, PointerType, PrimType, StringImm
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.codegen.c_types import UnsupportedInC


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


def test_an_accumulator_is_a_variable_declared_by_its_first_store(body_of):
    @T.prim_func
    def f(a: T.handle("int8"), b: T.handle("int32")):
        A = T.decl_buffer((8,), "int8", data=a)
        B = T.decl_buffer((8,), "int32", data=b)
        total = T.alloc_buffer((1,), "int32", scope="local")
        other = T.alloc_buffer((1,), "int32", scope="local")
        total[0] = 0
        for i in range(8):
            total[0] = total[0] + T.Cast("int32", A[i])
            total[0] = total[0] - 1
            total[0] = 1 - total[0]
        other[0] = other[0] + total[0]
        B[0] = other[0]

    assert body_of(f) == [
        "  int32_t other = 0;",
        "  int32_t total = 0;",
        "  for (int32_t i = 0; i < 8; ++i) {",
        "    total += (int32_t)a[i];",
        "    total -= 1;",
        "    total = 1 - total;",
        "  }",
        "  other += total;",
        "  b[0] = other;",
    ]


def test_narrow_accumulation_is_not_shortened(body_of):
    @T.prim_func
    def f(a: T.handle("int8")):
        A = T.decl_buffer((8,), "int8", data=a)
        A[0] = A[0] + A[1]
        A[0] = A[1] + A[0]

    assert body_of(f) == ["  a[0] = (int8_t)(a[0] + a[1]);", "  a[0] = (int8_t)(a[1] + a[0]);"]


def test_a_scalar_first_stored_in_a_branch_is_declared_before_it(body_of):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        x = T.alloc_buffer((1,), "int32", scope="local")
        if A[0] > 0:
            x[0] = 1
        else:
            x[0] = 2
        A[1] = x[0]

    assert body_of(f) == [
        "  int32_t x = 0;",
        "  if (a[0] > 0) {",
        "    x = 1;",
        "  } else {",
        "    x = 2;",
        "  }",
        "  a[1] = x;",
    ]


@pytest.mark.parametrize("flags", ["-O0", "-O1", "-O2", "-O3"])
def test_compilers_do_not_warn_of_a_scalar_whose_first_store_may_not_run(
    flags, compiler, load_functions
):
    @T.prim_func
    def f(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((15,), "float32", data=a)
        B = T.decl_buffer((9,), "float32", data=b)
        x = T.alloc_buffer((1,), "float32", scope="local")
        for i, j in T.grid(3, 3):
            for k, m in T.grid((i * 5 + 7) // 3 - i * 5 // 3, (j * 5 + 7) // 3 - j * 5 // 3):
                if k == 0 and m == 0:
                    x[0] = T.float32(0)
                x[0] = x[0] + A[i * 5 // 3 + k + m]
            B[i * 3 + j] = x[0]

    load_functions(f, flags, compiler=compiler)


def test_an_allocation_whose_address_is_taken_is_an_array(body_of):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        x = T.alloc_buffer((1,), "int32", scope="local")
        y = T.alloc_buffer((1,), "int32", scope="local")
        z = T.alloc_buffer((4,), "float32", scope="local")
        T.evaluate(T.call_extern("int32", "fill", x.data, T.address_of(z[2])))
        y[0] = x[0]
        A[0] = y[0]

    assert body_of(f) == [
        "  int32_alias x[1];",
        "  float_alias z[4];",
        "  fill(x, z + 2);",
        "  int32_t y = x[0];",
        "  a[0] = y;",
    ]


def test_a_buffer_that_is_passed_as_it_is_is_an_array(body_of):
    x = tirx.decl_buffer((1,), "int32", "x")
    call = tirx.Evaluate(tirx.call_extern("int32", "fill", x))
    assert body_of(tirx.PrimFunc([], tirx.SeqStmt([tirx.AllocBuffer(x), call]))) == [
        "  int32_alias x[1];",
        "  fill(x);",
    ]


def test_a_scalar_that_nothing_reads(body_of, load_functions):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        x = T.alloc_buffer((1,), "int32", scope="local")
        x[0] = A[0]
        A[1] = 2

    assert body_of(f) == ["  int32_t x = a[0];", "  (void)x;", "  a[1] = 2;"]
    load_functions(f, "-O3")


def test_unused_parameters_views_and_bindings(body_of, load_functions):
    @T.prim_func
    def f(a: T.handle("int32"), b: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((8,), "int32", data=a)
        B = T.decl_buffer((8,), "int32", data=b)
        view = T.decl_buffer((4,), "float32", data=B.data)  # noqa: F841
        x: T.let = A[0] + n
        y: T.let = x + 1  # noqa: F841
        A[1] = 2

    assert body_of(f) == ["  (void)b;", "  (void)n;", "  a[1] = 2;"]
    load_functions(f, "-O3")


def test_an_unused_result_of_an_extern_is_still_called_for(body_of):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        x: T.let = T.call_extern("int32", "tick", A[0])  # noqa: F841
        T.evaluate(A[1])

    assert body_of(f) == ["  (void)tick(a[0]);", "  (void)(a[1]);"]


def test_a_binding_is_evaluated_once_and_where_it_stands(load_functions):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        x: T.let = A[0]
        A[0] = 7
        A[1] = x
        A[2] = x + A[0]

    data = np.array([3, 0, 0, 0], "int32")
    load_functions(f).f(data.ctypes.data_as(ctypes.c_void_p))
    assert data.tolist() == [7, 3, 10, 0]


def test_views_of_other_types_share_the_bytes(body_of):
    @T.prim_func
    def f(pool: T.handle("uint8")):
        P = T.decl_buffer((64,), "uint8", data=pool)
        A = T.decl_buffer((8,), "int32", data=T.address_of(P[16]))
        B = T.decl_buffer((8,), "float32", data=A.data)
        C = T.decl_buffer((8,), "int32", data=A.data)
        C[0] = T.Cast("int32", B[1]) + A[2]

    assert body_of(f) == [
        "  int32_alias* A = (int32_alias*)(void*)(pool + 16);",
        "  const float_alias* B = (const float_alias*)(const void*)(A);",
        "  A[0] = (int32_t)B[1] + A[2];",
    ]


def test_each_variable_has_its_own_name(body_of):
    @T.prim_func
    def f(int_: T.handle("float32")):
        A = T.decl_buffer((8,), "float32", data=int_)
        for i in range(8):
            A[i] = T.exp(A[i])
        for i in range(4):
            A[i] = T.float32(0)

    assert body_of(f) == [
        "  for (int32_t i = 0; i < 8; ++i) {",
        "    int_[i] = expf(int_[i]);",
        "  }",
        "  for (int32_t i_1 = 0; i_1 < 4; ++i_1) {",
        "    int_[i_1] = 0.0f;",
        "  }",
    ]


@pytest.mark.parametrize("name", ["expf", "int", "INT32_MIN", "float_alias", "M_PI", "f"])
def test_a_variable_may_have_any_name(name, load_functions):
    start = pointer("p", "float32")
    data = tirx.decl_buffer((8,), "float32", "data")
    index = tirx.Var(name, "int32")
    value = tirx.exp(data[index]) + tirx.Cast("float32", tirx.IntImm("int32", -(2**31)))
    loop = tirx.For(index, 0, 8, tirx.ForKind.SERIAL, tirx.BufferStore(data, value, [index]))
    load_functions(tirx.PrimFunc([start], tirx.SeqStmt([tirx.DeclBuffer(data, data=start), loop])))


def test_a_local_does_not_hide_an_extern_that_is_called(body_of):
    x = tirx.decl_buffer((1,), "int32", "fill")
    call = tirx.Evaluate(tirx.call_extern("int32", "fill", x))
    assert body_of(tirx.PrimFunc([], tirx.SeqStmt([tirx.AllocBuffer(x), call]))) == [
        "  int32_alias fill_1[1];",
        "  fill(fill_1);",
    ]


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
            "f: constant data has no place in a constant pool",
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
