"""What NumPy folds has the bits of the compiled function, or is left to that."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import te, tirx, topi

from usmp.relax.exact_elements import exact_elements

SPECIAL = (0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0, -1.0)


def elements(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Random bits: of floats many are denormal, infinite or not a number."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    bits = np.random.default_rng(seed).integers(0, 256, count, np.uint8)
    return (bits % 2 if dtype == "bool" else bits).view(dtype).reshape(shape)


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Random numbers of all magnitudes, with special ones among them; none is NaN."""
    rng = np.random.default_rng(seed)
    found = (rng.normal(size=shape) * 10.0 ** rng.integers(-20, 20, shape)).astype(dtype)
    found.reshape(-1)[: len(SPECIAL)] = np.array(SPECIAL)
    return found


def compiled(func: tirx.PrimFunc, arguments: list[np.ndarray]) -> np.ndarray:
    """What TVM's code for this machine gives."""
    output = func.params[-1].ty
    result = tvm.runtime.tensor(
        np.zeros([int(extent) for extent in output.shape], str(output.dtype))
    )
    module = tvm.tirx.build(func.with_attr("global_symbol", "compiled"), "llvm")
    module["compiled"](*map(tvm.runtime.tensor, arguments), result)
    return result.numpy()


def assert_same_bits(func: tirx.PrimFunc, arguments: list[np.ndarray]) -> None:
    found = exact_elements(func, arguments)
    expected = compiled(func, arguments)
    assert found is not None
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


MOVES = {
    "transpose": lambda x: topi.transpose(x, (2, 0, 1)),
    "reshape": lambda x: topi.reshape(x, (5, 24)),
    "broadcast": lambda x: topi.broadcast_to(x, (2, 4, 5, 6)),
    "slice": lambda x: topi.strided_slice(x, [0, 4, 1], [4, 0, 6], [1, -1, 2]),
    "expand_dims": lambda x: topi.expand_dims(x, 1),
    "flip": lambda x: topi.flip(x, 1),
    "sum of indices": lambda x: te.compute((3, 4), lambda i, j: x[i, i + 1, (i * j + 1) % 6]),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int64"])
@pytest.mark.parametrize("move", MOVES)
def test_moved_elements_keep_their_bits(move, dtype):
    x = te.placeholder((4, 5, 6), dtype, name="x")
    assert_same_bits(te.create_prim_func([x, MOVES[move](x)]), [elements((4, 5, 6), dtype)])


@pytest.mark.parametrize("shape", [(1,), (3, 4)])
def test_a_scalar_is_repeated(shape):
    x = te.placeholder((), "float32", name="x")
    func = te.create_prim_func([x, topi.broadcast_to(x, shape)])
    assert_same_bits(func, [np.array(-0.0, np.float32)])


TWO = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
}


def element_wise(operation, *dtypes: str) -> tirx.PrimFunc:
    """A PrimFunc that applies the operation to the elements of tensors of 40 x 50."""
    inputs = [te.placeholder((40, 50), dtype, name=f"x{i}") for i, dtype in enumerate(dtypes)]
    result = te.compute((40, 50), lambda i, j: operation(*(x[i, j] for x in inputs)))
    return te.create_prim_func([*inputs, result])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operation", TWO)
def test_one_operation_is_rounded_the_same(operation, dtype):
    x, y = numbers((40, 50), dtype, 1), numbers((40, 50), dtype, 2)
    y.reshape(-1)[: len(SPECIAL)] = 3  # No NaN comes out.
    assert_same_bits(element_wise(TWO[operation], dtype, dtype), [x, y])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [1e-5, -0.3, 1e-40, 3.0])
@pytest.mark.parametrize("operation", TWO)
def test_one_operation_with_a_number_is_rounded_the_same(operation, number, dtype):
    for swapped in (False, True):
        if operation == "divide" and not swapped:
            continue

        def of(x, swapped=swapped):
            operands = (tirx.const(number, dtype), x) if swapped else (x, tirx.const(number, dtype))
            return TWO[operation](*operands)

        assert_same_bits(element_wise(of, dtype), [numbers((40, 50), dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_square_root_is_rounded_the_same(dtype):
    func = element_wise(tirx.sqrt, dtype)
    assert_same_bits(func, [np.abs(numbers((40, 50), dtype))])
    assert exact_elements(func, [numbers((40, 50), dtype)]) is None  # Of less than zero.


LEFT_TO_LLVM = {
    "two operations, which may be fused": lambda x: x * tirx.const(3.0, "float32") + x,
    "a quotient by a number": lambda x: x / tirx.const(3.0, "float32"),
    "one tensor twice": lambda x: tirx.Sub(x, x),
    "not correctly rounded": tirx.exp,
    "a choice": lambda x: tirx.max(x, tirx.const(0.5, "float32")),
    "a conversion": lambda x: x.astype("float64"),
}


@pytest.mark.parametrize("operation", LEFT_TO_LLVM)
def test_what_may_have_other_bits_is_left_alone(operation):
    func = element_wise(LEFT_TO_LLVM[operation], "float32")
    assert exact_elements(func, [numbers((40, 50), "float32")]) is None


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, -1.0])
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
def test_operations_that_tvm_leaves_away_are_left_alone(operation, number):
    """A sum of -0.0 and 0.0 is 0.0, but TVM's simplifier makes it -0.0."""
    three, other = (tirx.const(value, "float32") for value in (3.0, number))
    func = element_wise(lambda x: TWO[operation](x, three), "float32")
    func = func.with_body(tvm_ffi.structural_map(func.body, (tirx.FloatImm, lambda _: other)))
    assert exact_elements(func, [numbers((40, 50), "float32")]) is None


def test_a_result_that_is_not_a_number_is_left_alone():
    x = np.full((40, 50), np.nan, np.float32)
    func = element_wise(TWO["add"], "float32", "float32")
    assert exact_elements(func, [x, x]) is None


def test_small_floats_are_not_computed_with():
    func = element_wise(TWO["add"], "float16", "float16")
    assert exact_elements(func, [np.ones((40, 50), np.float16)] * 2) is None


def test_a_sum_over_an_axis_is_left_alone():
    x = te.placeholder((4, 5), "float32", name="x")
    func = te.create_prim_func([x, topi.sum(x, 1)])
    assert exact_elements(func, [np.ones((4, 5), np.float32)]) is None


def test_two_stages_are_left_alone():
    x = te.placeholder((4, 5), "float32", name="x")
    func = te.create_prim_func([x, topi.transpose(topi.transpose(x))])
    assert exact_elements(func, [np.ones((4, 5), np.float32)]) is None


@pytest.mark.parametrize("offset", [-1, 1])
def test_indices_out_of_bounds_are_left_alone(offset):
    x = te.placeholder((4,), "float32", name="x")
    func = te.create_prim_func([x, te.compute((4,), lambda i: x[i + offset])])
    assert exact_elements(func, [np.ones(4, np.float32)]) is None
