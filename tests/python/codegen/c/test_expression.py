"""TIR expressions as C text."""

import ctypes

import numpy as np
import pytest
import tvm
import tvm_ffi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, Var

from usmp.codegen.c.expression import ExpressionPrinter
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.literals import float_literal, integer_literal
from usmp.codegen.c.types import UnsupportedInC


def scalar(name, dtype):
    return tirx.Var(name, dtype)


A, B, C = (scalar(name, "int32") for name in "abc")
X, Y = scalar("x", "float32"), scalar("y", "float32")
S, U = scalar("s", "int8"), scalar("u", "uint8")
V, W, Z = scalar("v", "uint16"), scalar("w", "uint32"), scalar("z", "int64")
P, Q = scalar("p", "bool"), scalar("q", "bool")
DATA = tirx.decl_buffer((16,), "float32", "data")


def to_c(expr, helpers=None, functions=None, scalars=()):
    names = {}
    tvm_ffi.structural_walk(expr, (Var, lambda var: names.update({var: var.name})))
    printer = ExpressionPrinter(names, set(scalars), functions or {}, helpers or Helpers())
    return printer.print(expr)


def lowered(expr):
    """`expr` after LowerIntrin, in C."""
    out = tirx.decl_buffer((1,), str(expr.ty.dtype), "out")
    func = tirx.PrimFunc([], tirx.BufferStore(out, expr, [0])).with_attr("global_symbol", "f")
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(IRModule({"f": func}))
    return to_c(tirx.transform.LowerIntrin()(mod)["f"].body.value)


def test_parentheses():
    cases = [
        (A + B * C, "a + b * c"),
        ((A + B) * C, "(a + b) * c"),
        (A - B - C, "a - b - c"),
        (A - (B - C), "a - (b - c)"),
        (A - (B + C), "a - (b + c)"),
        (tirx.Div(A * B, C), "a * b / c"),
        (A * tirx.Div(B, C), "a * (b / c)"),
        (tirx.Mod(A, B) * C, "a % b * c"),
        (X - (Y - X), "x - (y - x)"),
        (tirx.And(A < B, A < C), "a < b && a < c"),
        (tirx.And(P, tirx.Or(Q, P)), "p && (q || p)"),
        (tirx.Or(P, tirx.And(Q, P)), "p || (q && p)"),
        (tirx.EQ(A < B, P), "(a < b) == p"),
        (tirx.Not(A < B), "!(a < b)"),
        (tirx.EQ(tirx.Not(P), Q), "(!p) == q"),
        ((A & B) | C, "(a & b) | c"),
        (A & (B + C), "a & (b + c)"),
        (tirx.EQ(A & B, 0), "(a & b) == 0"),
        ((A + B) >> C, "(a + b) >> c"),
        (A - tirx.IntImm("int32", -5), "a - -5"),
        (tirx.Select(P, A, B) + C, "(p ? a : b) + c"),
        (tirx.Select(P, A, tirx.Select(Q, B, C)), "p ? a : (q ? b : c)"),
        (tirx.Cast("float32", A + B), "(float)(a + b)"),
        (tirx.Cast("float32", A) * X, "(float)a * x"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_narrow_arithmetic_wraps_at_its_own_width():
    cases = [
        (S + S, "(int8_t)(s + s)"),
        (U - U, "(uint8_t)(u - u)"),
        (tirx.Div(S, S), "(int8_t)(s / s)"),
        (V + V, "(uint16_t)(v + v)"),
        (W + W, "w + w"),
        (Z * Z, "z * z"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_the_product_of_two_uint16_does_not_overflow_int():
    assert to_c(V * V) == "(uint16_t)((uint32_t)v * v)"


def test_a_left_shift_is_one_of_an_unsigned_number():
    cases = [
        (A << B, "(int32_t)((uint32_t)a << b)"),
        (Z << Z, "(int64_t)((uint64_t)z << z)"),
        (S << S, "(int8_t)((uint32_t)s << s)"),
        (V << V, "(uint16_t)((uint32_t)v << v)"),
        (W << W, "w << w"),
        (A >> B, "a >> b"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_complement():
    cases = [
        (~A, "(int32_t)~a"),
        (~S, "(int8_t)~s"),
        (~U, "(uint8_t)(255 - u)"),
        (~V, "(uint16_t)(65535 - v)"),
        (~P, "!p"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_casts():
    cases = [
        (tirx.Cast("bool", A), "a != 0"),
        (tirx.Cast("bool", X + Y), "x + y != 0"),
        (tirx.Cast("bool", A < B), "(a < b) != 0"),
        (tirx.Cast("int8", A), "(int8_t)a"),
        (tirx.Cast("uint32", A < B), "(uint32_t)(a < b)"),
        (tirx.LT(W, tirx.Cast("uint32", A)), "w < (uint32_t)a"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_comparisons_of_which_compilers_warn_are_decided():
    cases = [
        (tirx.GE(W, tirx.IntImm("uint32", 0)), "1"),
        (tirx.LT(U, tirx.IntImm("uint8", 0)), "0"),
        (tirx.LE(U, tirx.IntImm("uint8", 255)), "1"),
        (tirx.LT(tirx.IntImm("int8", 127), S), "0"),
        (tirx.LE(tirx.IntImm("int8", -128), S), "1"),
        (tirx.GT(W, tirx.IntImm("uint32", 0)), "w > 0U"),
        (tirx.LE(S, tirx.IntImm("int8", 126)), "s <= 126"),
        (tirx.GE(X, tirx.FloatImm("float32", 0)), "x >= 0.0f"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_min_and_max_evaluate_each_operand_once():
    helpers = Helpers()
    assert to_c(tirx.Min(X + Y, Y), helpers) == "tvmgen_min_float32(x + y, y)"
    assert to_c(tirx.Max(S, S), helpers) == "tvmgen_max_int8(s, s)"
    assert helpers.definitions == {
        "tvmgen_min_float32": "static inline float tvmgen_min_float32(float a, float b) "
        "{ return a < b ? a : b; }",
        "tvmgen_max_int8": "static inline int8_t tvmgen_max_int8(int8_t a, int8_t b) "
        "{ return a > b ? a : b; }",
    }


def test_select_and_if_then_else_read_only_the_chosen_element():
    assert to_c(tirx.Select(P, DATA[A], X)) == "p ? data[a] : x"
    assert to_c(tirx.if_then_else(P, DATA[A], X)) == "p ? data[a] : x"


def test_intrinsics():
    cases = [
        (tirx.exp(X), "expf(x)"),
        (tirx.exp(scalar("d", "float64")), "exp(d)"),
        (tirx.round(X), "nearbyintf(x)"),
        (tirx.abs(X), "fabsf(x)"),
        (tirx.exp2(X), "exp2f(x)"),
        (tirx.fmod(X, Y), "fmodf(x, y)"),
        (tirx.Mod(X, Y), "fmodf(x, y)"),
        (tirx.isnan(X), "isnan(x) != 0"),
        (tirx.isinf(X), "fabsf(x) == INFINITY && !(isnan(x) != 0)"),
        (tirx.abs(A), "a >= 0 ? a : 0 - a"),
        (tirx.floordiv(A, 8), "a >> 3"),
        (tirx.floormod(A, 8), "a & 7"),
        (tirx.floordiv(A, 3), "a / 3 + ((a % 3) >> 31)"),
        (tirx.floormod(A, 3), "a % 3 + (3 & ((a % 3) >> 31))"),
        (tirx.likely(A < B), "a < b"),
        (tirx.isnullptr(tirx.Var("p", "handle")), "p == 0"),
    ]
    assert [lowered(expr) for expr, _ in cases] == [text for _, text in cases]


def test_a_let_value_stands_where_its_variable_is_used():
    n = scalar("n", "int32")
    assert to_c(tirx.Let(n, A + B, n * n)) == "(a + b) * (a + b)"


def test_an_inner_let_ends_with_its_body():
    n = scalar("n", "int32")
    inner = tirx.Let(n, B, n)
    assert to_c(tirx.Let(n, A, inner + n)) == "b + a"


def test_a_let_whose_value_has_side_effects_is_refused():
    n = scalar("n", "int32")
    with pytest.raises(UnsupportedInC, match="side effects"):
        to_c(tirx.Let(n, tirx.call_extern("int32", "next_sample"), n + n))


def test_address_of_counts_elements():
    assert to_c(tirx.address_of(DATA[0])) == "data"
    assert to_c(tirx.address_of(DATA[A + B])) == "data + (a + b)"


def test_an_extern_is_declared_with_the_types_of_its_arguments():
    helpers = Helpers()
    call = tirx.call_extern("int32", "kernel", DATA.data, tirx.address_of(DATA[4]), A, X)
    assert to_c(call, helpers) == "kernel(data, data + 4, a, x)"
    assert helpers.externs == {
        "kernel": "extern int32_t kernel(float_alias*, float_alias*, int32_t, float);"
    }


def test_a_buffer_passed_to_an_extern_is_a_pointer():
    helpers = Helpers()
    assert to_c(tirx.call_extern("int32", "kernel", DATA), helpers) == "kernel(data)"
    assert helpers.externs == {"kernel": "extern int32_t kernel(float_alias*);"}


def test_an_extern_without_arguments():
    helpers = Helpers()
    to_c(tirx.call_extern("int32", "tick"), helpers)
    assert helpers.externs == {"tick": "extern int32_t tick(void);"}


def test_an_extern_with_two_signatures_is_refused():
    first = tirx.call_extern("int32", "kernel", A)
    second = tirx.call_extern("int32", "kernel", X)
    with pytest.raises(UnsupportedInC, match="different types"):
        to_c(first + second)


def test_the_mathematical_function_is_called_even_if_an_operator_has_its_name():
    call = tirx.call_pure_extern("float64", "exp", scalar("d", "float64"))
    assert to_c(call, functions={"exp": "tvmgen_default_exp"}) == "exp(d)"


def test_a_call_of_another_primfunc():
    call = tvm.ir.Call(GlobalVar("g"), [DATA.data], ret_ty=tvm.ir.TupleType([]))
    assert to_c(call, functions={"g": "tvmgen_default_g"}) == "tvmgen_default_g(data)"
    with pytest.raises(UnsupportedInC, match="call of g, which the module lacks"):
        to_c(call)


def test_reinterpreted_bits_are_copied():
    helpers = Helpers()
    text = to_c(tirx.reinterpret("int32", X), helpers)
    assert text == "tvmgen_int32_from_bits_of_float32(x)"
    assert helpers.definitions["tvmgen_int32_from_bits_of_float32"] == (
        "static inline int32_t tvmgen_int32_from_bits_of_float32(float value) {\n"
        "  int32_t result;\n"
        "  memcpy(&result, &value, sizeof(result));\n"
        "  return result;\n"
        "}"
    )


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (P + Q, "arithmetic on booleans"),
        (tirx.exp(A), "tirx.exp"),
        (tirx.popcount(A), "tirx.popcount"),
        (tirx.Broadcast(X, 4), "Broadcast"),
        (tirx.Cast("float16", A), "int32 to float16 is not supported"),
        (tirx.Cast("float8_e5m2", X), "float32 to float8_e5m2 is not supported"),
        (tirx.Cast("float16", X) + tirx.Cast("float16", X), "arithmetic of float16 has no C99"),
        (tirx.Cast("float6_e2m3fn", X), "element type float6_e2m3fn"),
        (tirx.decl_buffer((4, 4), "int8", "m")[A, B], "buffer m has 2 dimensions"),
        (tirx.address_of(tirx.decl_buffer((4, 4), "int8", "m")[A, B]), "m has 2 dimensions"),
    ],
)
def test_what_c_lacks_is_named(expr, message):
    with pytest.raises(UnsupportedInC, match=message):
        to_c(expr)


def test_a_variable_without_a_declaration_is_named():
    printer = ExpressionPrinter({}, set(), {}, Helpers())
    with pytest.raises(UnsupportedInC, match="variable a is used outside of its declaration"):
        printer.print(A)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (-(2**31), "int32", "INT32_MIN"),
        (-(2**63), "int64", "INT64_MIN"),
        (2**63 - 1, "int64", "INT64_C(9223372036854775807)"),
        (-5, "int64", "-INT64_C(5)"),
        (2**64 - 1, "uint64", "UINT64_C(18446744073709551615)"),
        (2**32 - 1, "uint32", "4294967295U"),
        (-128, "int8", "-128"),
        (1, "bool", "1"),
    ],
)
def test_integer_literals(value, dtype, text):
    assert integer_literal(value, dtype) == text
    assert to_c(tirx.IntImm(dtype, value)) == text


def test_float_literals():
    cases = [
        (0.1, "float32", "0.1f"),
        (0.1, "float64", "0.1"),
        (-0.0, "float32", "-0.0f"),
        (float("inf"), "float32", "INFINITY"),
        (float("-inf"), "float64", "-INFINITY"),
        (float("nan"), "float32", "NAN"),
        (-float("nan"), "float64", "-NAN"),
        (2.0**-149, "float32", "1e-45f"),
        (5e-324, "float64", "5e-324"),
        (1e20, "float32", "1e+20f"),
    ]
    assert [float_literal(value, dtype) for value, dtype, _ in cases] == [
        text for *_, text in cases
    ]


FLOATS = {
    "float32": st.lists(st.floats(width=32, allow_nan=False), min_size=40, max_size=40),
    "float64": st.lists(st.floats(allow_nan=False), min_size=40, max_size=40),
}
LIMITS = {
    "int32": [-(2**31), 2**31 - 1, -1, 0],
    "int64": [-(2**63), 2**63 - 1, -1, 0],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**64 - 1, 2**63],
    "int8": [-128, 127],
    "uint16": [0, 65535],
}
C_TYPES = {"float32": "float", "float64": "double"}


def compiled_values(compile_c, values, dtype):
    """The bits that a C compiler makes of the literals of `values`."""
    if dtype in FLOATS:
        literals = [float_literal(value, dtype) for value in values]
    else:
        literals = [integer_literal(value, dtype) for value in values]
    library = compile_c(
        "#include <math.h>\n#include <stdint.h>\n"
        f"const {C_TYPES.get(dtype, f'{dtype}_t')} values[] = {{{', '.join(literals)}}};\n"
    )
    size = len(values) * np.dtype(dtype).itemsize
    return bytes((ctypes.c_ubyte * size).in_dll(library, "values"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_float_literals_are_exact(dtype, data, compile_c):
    smallest = {"float32": 2.0**-149, "float64": 5e-324}[dtype]
    largest = float(np.finfo(dtype).max)
    values = [0.0, -0.0, smallest, -largest, np.inf, *data.draw(FLOATS[dtype])]
    assert compiled_values(compile_c, values, dtype) == np.array(values, dtype).tobytes()


@pytest.mark.parametrize("dtype", LIMITS)
def test_integer_literals_are_exact(dtype, compile_c):
    values = LIMITS[dtype]
    assert compiled_values(compile_c, values, dtype) == np.array(values, dtype).tobytes()


@pytest.mark.parametrize(
    "name", ["f(); } void g(void) {", "a b", "", "1x", "été", "int", "x\n#", "*/"]
)
def test_an_extern_has_a_name_that_c_can_call(name):
    with pytest.raises(UnsupportedInC, match="cannot be the name of a function in C; rename"):
        to_c(tirx.call_extern("int32", name))
