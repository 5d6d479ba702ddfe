"""LLVM computes what C does: where TVM's code generator alone would not, and at random."""

import ctypes

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.tir_expressions import check_random_expressions, few_seeds
from usmp.codegen.llvm import UnsupportedByLLVM


def computed(load_llvm, expression, result, **inputs):
    """`expression` of the elements of `inputs`, for all of them, as an array of type `result`."""
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    count = len(next(iter(arrays.values())))
    buffers = {
        name: tirx.decl_buffer((len(array),), str(array.dtype), name)
        for name, array in arrays.items()
    }
    output, index = tirx.decl_buffer((count,), result, "output"), tirx.Var("i", "int32")
    store = tirx.BufferStore(output, expression(index, **buffers), [index])
    loop = tirx.For(index, 0, count, tirx.ForKind.SERIAL, store)
    func = tirx.PrimFunc([*buffers.values(), output], loop).with_attr("global_symbol", "f")
    actual = np.zeros(count, result)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays.values(), actual)]
    load_llvm(func).f(*pointers)
    return actual


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("operation", [tirx.Add, tirx.Sub, tirx.Mul])
def test_unsigned_arithmetic_wraps(load_llvm, dtype, operation):
    top = np.iinfo(dtype).max
    edges = [0, 1, 2, 3, top, top - 1, top // 2, top // 2 + 1, 0x12345678, 2**32 - 1]
    a, b = (np.ravel(m) for m in np.meshgrid(np.array(edges, dtype), np.array(edges, dtype)))
    got = computed(load_llvm, lambda i, a, b: operation(a[i], b[i]), dtype, a=a, b=b)
    evaluate_in = {tirx.Add: int.__add__, tirx.Sub: int.__sub__, tirx.Mul: int.__mul__}[operation]
    wanted = [evaluate_in(int(x), int(y)) & int(top) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == wanted


def test_sums_that_wrap_are_less(load_llvm):
    """LLVM would take this to be false for all values if it were told that sums do not wrap."""
    a = np.array([2**32 - 1, 5], "uint32")
    got = computed(load_llvm, lambda i, a: a[i] + tirx.IntImm("uint32", 2) < a[i], "bool", a=a)
    assert got.tolist() == [True, False]


def test_nan_is_unequal(load_llvm):
    a = np.array([np.nan, 1.0, -np.nan, np.inf, 0.0], "float32")
    got = computed(load_llvm, lambda i, a: tirx.NE(a[i], tirx.FloatImm("float32", 1)), "bool", a=a)
    assert got.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_is_seen(load_llvm, dtype):
    a = np.array([np.nan, 1.0, -np.nan, np.inf, -np.inf, 0.0], dtype)
    got = computed(load_llvm, lambda i, a: tirx.isnan(a[i]), "bool", a=a)
    assert got.tolist() == [True, False, True, False, False, False]


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (tirx.EQ, [True, False, False, True]),
        (tirx.NE, [False, True, True, False]),
        (tirx.LT, [False, True, False, False]),
        (tirx.GE, [True, False, True, True]),
    ],
)
def test_comparison_of_booleans(load_llvm, comparison, expected):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert (
        computed(load_llvm, lambda i, a, b: comparison(a[i], b[i]), "bool", a=a, b=b).tolist()
        == expected
    )


@pytest.mark.parametrize(
    "guarded",
    [
        lambda safe, load: tirx.And(safe, load > 0),
        lambda safe, load: tirx.Not(tirx.Or(tirx.Not(safe), load <= 0)),
        lambda safe, load: tirx.Select(safe, load > 0, tirx.IntImm("bool", 0)),
    ],
)
def test_conditions_guard_what_comes_after_them(load_llvm, guarded):
    """The load is from a page that cannot be read where the condition is false."""
    far = tirx.IntImm("int32", 1 << 29)

    def expression(i, ok, values):
        return guarded(ok[i] != 0, values[tirx.if_then_else(ok[i] != 0, i, far)])

    ok, values = np.array([1, 0, 1], "int32"), np.array([7, 7, -7], "int32")
    assert computed(load_llvm, expression, "bool", ok=ok, values=values).tolist() == [
        True,
        False,
        False,
    ]


def test_division_is_guarded(load_llvm):
    def expression(i, a):
        return tirx.Select(
            a[i] != 0, tirx.Div(tirx.IntImm("int32", 12), a[i]), tirx.IntImm("int32", -1)
        )

    got = computed(load_llvm, expression, "int32", a=np.array([3, 0, -4], "int32"))
    assert got.tolist() == [4, -1, -3]


def test_functions_that_c_has(load_llvm):
    a = np.array([0.5, -2.25, 3.0], "float32")
    got = computed(load_llvm, lambda i, a: tirx.exp2(a[i]) + tirx.abs(a[i]), "float32", a=a)
    assert got.tolist() == (np.exp2(a) + np.abs(a)).tolist()
    got = computed(
        load_llvm, lambda i, a: tirx.fmod(a[i], tirx.FloatImm("float32", 2)), "float32", a=a
    )
    assert got.tolist() == [0.5, -0.25, 1.0]


def test_narrow_integers_are_not_passed_to_functions_of_the_user(compile_llvm):
    argument = tirx.IntImm("int16", 3)
    call = tirx.Evaluate(tirx.call_extern("void", "accelerate", argument))
    with pytest.raises(UnsupportedByLLVM) as refused:
        compile_llvm(tirx.PrimFunc([], call))
    assert str(refused.value) == (
        "accelerate takes or returns int16; give functions of your own integers of 32 or 64 bits, "
        "or compile with target c"
    )


def test_calls_by_name_reach_the_prim_func(compile_llvm):
    value = tirx.decl_buffer((1,), "int32", "value")
    five = tirx.PrimFunc([value], tirx.BufferStore(value, tirx.IntImm("int32", 5), [0]))
    output = tirx.decl_buffer((1,), "int32", "output")
    call = tirx.call_extern("int32", "five", tirx.buffer_data(output))
    main = tirx.PrimFunc([output], tirx.Evaluate(call))
    text = compile_llvm(IRModule({"f": main, "five": five})).inspect_source("ll")
    assert "declare" not in text.split("define")[0]
    assert "@five(" not in text.split("@f(")[1].split("}")[0]


@pytest.mark.slow
@few_seeds
def test_random_expressions(seed, load_llvm):
    check_random_expressions(seed, load_llvm)
