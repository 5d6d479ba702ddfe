"""Variables of a PrimFunc in C: scalars, arrays, views, bindings and their names."""

import ctypes

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import PointerType, PrimType
from tvm.script import tirx as T


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
        "  int32_t x[1];",
        "  float z[4];",
        "  fill(x, z + 2);",
        "  int32_t y = x[0];",
        "  a[0] = y;",
    ]


def test_a_buffer_that_is_passed_as_it_is_is_an_array(body_of):
    x = tirx.decl_buffer((1,), "int32", "x")
    call = tirx.Evaluate(tirx.call_extern("int32", "fill", x))
    assert body_of(tirx.PrimFunc([], tirx.SeqStmt([tirx.AllocBuffer(x), call]))) == [
        "  int32_t x[1];",
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


def test_a_sum_that_nothing_reads(body_of, load_functions, compiler):
    """As where a limit makes all outputs one number."""

    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        x = T.alloc_buffer((1,), "int32", scope="local")
        y = T.alloc_buffer((2,), "int32", scope="local")
        x[0] = 0
        y[0] = 0
        for i in range(4):
            x[0] = x[0] + A[i]
            y[0] = y[0] + A[i]
        A[1] = 2

    assert body_of(f) == [
        "  int32_t y[2];",
        "  (void)y;",
        "  int32_t x = 0;",
        "  (void)x;",
        "  y[0] = 0;",
        "  for (int32_t i = 0; i < 4; ++i) {",
        "    x += a[i];",
        "    y[0] += a[i];",
        "  }",
        "  a[1] = 2;",
    ]
    load_functions(f, "-O3", compiler=compiler)


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
    start = tirx.Var("p", PointerType(PrimType("float32")))
    data = tirx.decl_buffer((8,), "float32", "data")
    index = tirx.Var(name, "int32")
    value = tirx.exp(data[index]) + tirx.Cast("float32", tirx.IntImm("int32", -(2**31)))
    loop = tirx.For(index, 0, 8, tirx.ForKind.SERIAL, tirx.BufferStore(data, value, [index]))
    load_functions(tirx.PrimFunc([start], tirx.SeqStmt([tirx.DeclBuffer(data, data=start), loop])))


def test_a_local_does_not_hide_an_extern_that_is_called(body_of):
    x = tirx.decl_buffer((1,), "int32", "fill")
    call = tirx.Evaluate(tirx.call_extern("int32", "fill", x))
    assert body_of(tirx.PrimFunc([], tirx.SeqStmt([tirx.AllocBuffer(x), call]))) == [
        "  int32_t fill_1[1];",
        "  fill(fill_1);",
    ]
