"""Integers wrap, whatever is divided by and shifted by: in C under the sanitizer, and in LLVM."""

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.lazy import lazy
from support.levels import number
from support.onnx_integer_graphs import random_integer_graph
from support.onnx_models import Reference
from usmp.runtime import HostModule

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

UNDEFINED = (
    "-O1",
    "-fsanitize=undefined,float-cast-overflow,integer-divide-by-zero",
    "-fno-sanitize-recover=all",
)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def run_all(mod, inputs, target="c"):
    """What the emitted code computes; a C program that does what is undefined ends the process."""
    # The operators of a test do not depend on each other.
    with PassContext(disabled_pass=["StreamOperators", "OrderOperators"]):
        factory = usmp.build(mod, target)
    flags = UNDEFINED if target == "c" else ("-O1",)
    module = HostModule(factory.files(), factory.metadata["modules"]["default"], flags)
    return list(module.run(inputs).values())


def run(mod, inputs, target="c"):
    """The only output."""
    (output,) = run_all(mod, inputs, target)
    return output


def pairs(dtype, right=None):
    """Numbers at the limits of a type and around zero, each with each."""
    limits = np.iinfo(dtype)
    special = [limits.min, limits.min + 1, limits.max, limits.max // 2 + 1, 0, 1, 2, 3, 7]
    special += [-1, -2, -7] if limits.min else []
    left = np.array(special, dtype)
    right = left if right is None else np.array(right, dtype)
    return np.repeat(left, len(right)), np.tile(right, len(left))


def floor_divide(a, b):
    with np.errstate(all="ignore"):
        return np.floor_divide(a, b)


def truncate_divide(a, b):
    with np.errstate(all="ignore"):
        quotient = np.floor_divide(a, b)
        return quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)


def floor_mod(a, b):
    with np.errstate(all="ignore"):
        return np.remainder(a, b)


BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": truncate_divide,
    "floor_divide": floor_divide,
    "floor_mod": floor_mod,
}


def check(model, cases, target="c"):
    """One model computes all cases, since a build takes longer than they do.

    Each is a name, an operator of Relax, its inputs and what it must compute.
    """
    names = [[f"x{i}_{j}" for j in range(len(case[2]))] for i, case in enumerate(cases)]

    def body(builder, *params):
        given = iter(params)
        results = [op(*(next(given) for _ in arrays)) for _, op, arrays, _ in cases]
        return relax.Tuple(list(map(builder.emit, results)))

    inputs = {
        name: array
        for case, each in zip(cases, names, strict=True)
        for name, array in zip(each, case[2], strict=True)
    }
    params = [(name, array.shape, str(array.dtype)) for name, array in inputs.items()]
    outputs = run_all(model(body, *params), inputs, target)
    differences = {
        name: (output, expected)
        for (name, _, _, expected), output in zip(cases, outputs, strict=True)
        if output.dtype != expected.dtype or not np.array_equal(output, expected)
    }
    assert differences == {}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_arithmetic(model, target):
    cases = [
        (f"{name} of {dtype}", getattr(relax.op, name), pairs(dtype), reference(*pairs(dtype)))
        for dtype in (*SIGNED, *UNSIGNED)
        for name, reference in BINARY.items()
    ]
    check(model, cases, target)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_shifts_by_any_count(model, target):
    counts = [0, 1, 7, 8, 31, 32, 63, 64, 127]
    cases = []
    for dtype in ("int8", "int32", "int64", *UNSIGNED):
        arrays = pairs(dtype, [*counts, -1, -128] if dtype in SIGNED else counts)
        for name in ("left_shift", "right_shift"):
            expected = getattr(np, name)(*arrays)
            cases.append((f"{name} of {dtype}", getattr(relax.op, name), arrays, expected))
    check(model, cases, target)


@pytest.mark.cc
def test_the_least_number_has_no_positive_one(model):
    cases = []
    for dtype in SIGNED:
        a, _ = pairs(dtype)
        cases.append((f"negative of {dtype}", relax.op.negative, [a], np.negative(a)))
        cases.append((f"abs of {dtype}", relax.op.abs, [a], np.abs(a)))
    check(model, cases)


@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_a_product_that_wraps_beside_one_that_does_not(model, target):
    """Python's hashes of the constants -1 and -2 are equal, their products are not."""
    a, _ = pairs("int32")
    factors = (-1, -2)

    def body(builder, a):
        least = relax.const(np.iinfo("int32").min + 1, "int32")
        limited = builder.emit(relax.op.maximum(a, least))
        products = (relax.op.multiply(limited, relax.const(f, "int32")) for f in factors)
        return relax.op.bitwise_xor(*map(builder.emit, products))

    mod = model(body, ("a", a.shape, "int32"))
    limited = np.maximum(a, np.iinfo("int32").min + 1)
    with np.errstate(over="ignore"):
        expected = np.bitwise_xor(*(limited * np.int32(factor) for factor in factors))
    np.testing.assert_array_equal(run(mod, {"a": a}, target), expected)


@pytest.mark.cc
def test_sums_wrap(model):
    cases = []
    for dtype in ("int32", "int64"):
        a, _ = pairs(dtype)
        with np.errstate(over="ignore"):
            cases.append((dtype, relax.op.sum, [a], np.array(np.sum(a, dtype=dtype))))
    check(model, cases)


@pytest.mark.cc
def test_the_simplifier_does_not_count_on_sums_that_never_wrap(model):
    a, _ = pairs("int32")

    def body(builder, a):
        more = builder.emit(relax.op.add(a, relax.const(1, "int32")))
        is_more = builder.emit(relax.op.greater(more, a))
        doubled = builder.emit(relax.op.multiply(a, relax.const(2, "int32")))
        halved = builder.emit(relax.op.divide(doubled, relax.const(2, "int32")))
        return relax.Tuple([is_more, halved])

    outputs = usmp.build(model(body, ("a", a.shape, "int32"))).run({"a": a}).values()
    with np.errstate(over="ignore"):
        expected = [a + np.int32(1) > a, truncate_divide(a * np.int32(2), np.int32(2))]
    for output, values in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(output, values)


@pytest.mark.cc
@pytest.mark.parametrize(
    ("source", "target"), [("uint8", "int8"), ("int32", "int8"), ("uint32", "int32")]
)
def test_the_simplifier_does_not_count_on_conversions_that_keep_the_value(model, source, target):
    a, _ = pairs(source)

    def body(builder, a):
        converted = builder.emit(relax.op.astype(a, target))
        return builder.emit(relax.op.maximum(converted, relax.const(0, target)))

    output = run(model(body, ("a", a.shape, source)), {"a": a})
    np.testing.assert_array_equal(output, np.maximum(a.astype(target), 0))


FLOATS = [0.0, 1.9, -1.9, 300.0, 2.0**31, -(2.0**31), 3e9, -3e9, 1e19, 1e20, -1e20]
FLOATS += [np.inf, -np.inf, np.nan]


@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_floats_that_no_integer_is_near(model, source, target):
    """Nearest values, of 32 or 64 bits; fewer take the lowest bits. NaN is 0."""
    x = np.array(FLOATS, source)
    whole = [0 if np.isnan(value) else int(np.clip(value, -1e30, 1e30)) for value in x.tolist()]
    widths = {"int8": 32, "uint8": 32, "int32": 32, "int64": 64, "uint32": 64}
    mod = model(
        lambda builder, x: relax.Tuple([builder.emit(relax.op.astype(x, t)) for t in widths]),
        ("x", x.shape, source),
    )
    outputs = run_all(mod, {"x": x}, target)
    for (dtype, bits), output in zip(widths.items(), outputs, strict=True):
        near = [min(max(value, -(2 ** (bits - 1))), 2 ** (bits - 1) - 1) for value in whole]
        np.testing.assert_array_equal(output, np.array(near).astype(dtype), dtype)


@pytest.mark.parametrize(("taps", "is_proven"), [(1000, True), (200_000, False)])
def test_sums_that_cannot_wrap_stay_as_they_are(model, taps, is_proven):
    weight = relax.const(np.full((taps, 1), 127, np.int8))
    mod = model(
        lambda _, x: relax.op.matmul(x, weight, out_dtype="int32"), ("x", (1, taps), "int8")
    )
    source = usmp.build(mod).source
    assert ("tvmgen_add_int32" not in source) == is_proven
    assert "tvmgen_multiply_int32" not in source


@pytest.mark.models
@pytest.mark.parametrize("seed", range(number(6, in_long_run=48)))
def test_random_graphs_like_onnxruntime(seed):
    content, inputs = random_integer_graph(seed)
    expected = Reference(content).run(inputs)["output"]
    output = run(import_onnx(content, None), inputs, "llvm" if seed % 4 == 3 else "c")
    np.testing.assert_array_equal(output, expected)
