"""TVM's tests of models that run without a runtime (tests/python/relay/aot/test_crt_aot.py), in
Relax: what is built here is C with interface "c", and numpy says what it computes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir.instrument import pass_instrument
from tvm.relax import op

import usmp

pytestmark = pytest.mark.cc

GENERATOR = np.random.default_rng(7)

Arrays = dict[str, np.ndarray]
Body = Callable[..., relax.Expr | Sequence[relax.Expr]]


def module_of(arrays: Arrays, body: Body) -> tvm.IRModule:
    """A Relax module whose `main` computes `body` of inputs with these names and shapes."""
    builder = relax.BlockBuilder()
    inputs = [
        relax.Var(name, relax.TensorType(array.shape, str(array.dtype)))
        for name, array in arrays.items()
    ]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(body(*inputs)))
        builder.emit_func_output(result)
    return builder.get()


def random(*shape: int) -> np.ndarray:
    return GENERATOR.uniform(size=shape).astype("float32")


def nested(x):
    steps = [op.add(x, relax.const(np.float32(1)))]
    for _ in range(3):
        steps.append(op.add(steps[-1], relax.const(np.float32(1))))
    one, two, three, four = steps
    return relax.Tuple([one, relax.Tuple([relax.Tuple([two, three]), four])])


def convolution(data: np.ndarray, weight: np.ndarray, groups: int) -> np.ndarray:
    """A convolution of 3x3 in NCHW that keeps the size of the image."""
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    if groups == 1:
        return np.einsum("nchwij,ocij->nohw", windows, weight)
    return np.einsum("nchwij,cij->nchw", windows, weight[:, 0])


X, Y, SCALAR = random(10, 5), random(10, 5), random()
ROW, TABLE, IMAGE = random(1, 10), random(6, 9), random(1, 8, 6, 6)
FULL, DEPTHWISE = random(8, 8, 3, 3), random(8, 1, 3, 3)

PROGRAMS = {
    "add": ({"x": X, "y": Y}, op.add, [X + Y]),
    "multiply": ({"x": X, "y": ROW[:, :5]}, op.multiply, [X * ROW[:, :5]]),
    "subtract": (
        {"i": np.array(1, "int32")},
        lambda i: op.subtract(i, relax.const(1, "int32")),
        [np.array(0, "int32")],
    ),
    "identity": ({"x": SCALAR}, lambda x: x, [SCALAR]),
    "constant": ({}, lambda: op.add(relax.const(1), relax.const(1)), [np.array(2, "int32")]),
    "tuple_getitem": (
        {},
        lambda: relax.TupleGetItem(relax.Tuple([relax.const(1), relax.const(2)]), 0),
        [np.array(1, "int32")],
    ),
    "tuple_output": (
        {"x": TABLE},
        lambda x: relax.Tuple([relax.TupleGetItem(op.split(x, 3), i) for i in (0, 1)]),
        [TABLE[:2], TABLE[2:4]],
    ),
    "nested_tuples": ({"x": ROW[0]}, nested, [ROW[0] + count for count in (1, 2, 3, 4)]),
    "concatenate": (
        {"x": X, "y": Y, "z": SCALAR},
        lambda x, y, z: op.add(z, op.concat([x, y], axis=1)),
        [SCALAR + np.concatenate([X, Y], axis=1)],
    ),
    "transpose": (
        {"x": X, "y": Y, "z": SCALAR},
        lambda x, y, z: op.add(op.permute_dims(op.add(x, y)), z),
        [(X + Y).T + SCALAR],
    ),
    "conv2d": (
        {"data": IMAGE, "weight": FULL},
        lambda data, weight: op.nn.conv2d(data, weight, padding=1),
        [convolution(IMAGE, FULL, 1)],
    ),
    "depthwise_conv2d": (
        {"data": IMAGE, "weight": DEPTHWISE},
        lambda data, weight: op.nn.conv2d(data, weight, padding=1, groups=8),
        [convolution(IMAGE, DEPTHWISE, 8)],
    ),
    "characters_that_c_has_not": ({"input-x::2": SCALAR}, lambda x: x, [SCALAR]),
    "names_that_clash_in_c": (
        {"input::-2": X, "input:--2": SCALAR},
        op.add,
        [X + SCALAR],
    ),
}


@cache
def built(name: str) -> usmp.AOTExecutorFactoryModule:
    arrays, body, _ = PROGRAMS[name]
    return usmp.build(module_of(arrays, body))


@pytest.mark.parametrize("name", PROGRAMS)
def test_outputs(name):
    arrays, _, expected = PROGRAMS[name]
    outputs = built(name).run(arrays)
    assert len(outputs) == len(expected)
    for output, array in zip(outputs.values(), expected, strict=True):
        np.testing.assert_allclose(output, array, rtol=1e-5)


def test_parameters_are_constants_and_names_begin_with_that_of_the_module():
    arrays = {"x": ROW, "y": random(1, 10)}
    mod = module_of(arrays, op.add)
    factory = usmp.build(mod, mod_name="my_mod", params={"x": ROW})
    (output,) = factory.run({"y": arrays["y"]}).values()
    np.testing.assert_array_equal(output, ROW + arrays["y"])
    assert set(re.findall(r"tvmgen_\w+_run", factory.header)) == {"tvmgen_my_mod_run"}


@pytest.mark.slow
def test_sizes_of_inputs_and_outputs_are_macros():
    sizes = dict(re.findall(r"#define TVMGEN_DEFAULT_(\w+)_SIZE (\d+)", built("conv2d").header))
    assert int(sizes["DATA"]) == IMAGE.nbytes
    assert int(sizes["WEIGHT"]) == FULL.nbytes
    assert int(sizes["OUTPUT"]) == IMAGE.nbytes


@pytest.mark.parametrize("alignment", [8, 16, 32])
def test_constants_are_aligned(alignment):
    executor = usmp.Executor("aot", {"constant-byte-alignment": alignment})
    arrays = {"x": X, "y": Y}
    source = usmp.build(module_of(arrays, op.add), executor=executor, params={"y": Y}).source
    # A pool itself is always aligned to 16 bytes or more.
    assert f"tvmgen_default_global_const_workspace TVMGEN_ALIGNED({max(alignment, 16)})" in source


def test_interface_c_with_packed_functions_is_refused():
    with pytest.raises(ValueError, match=r'Either need interface-api == "packed" \(got: c\)'):
        usmp.Executor("aot", {"interface-api": "c", "unpacked-api": False})


def test_passes_run_under_the_instruments_of_the_context():
    names = []

    @pass_instrument
    class Names:
        def run_before_pass(self, mod, info):
            names.append(info.name)

    with tvm.transform.PassContext(opt_level=3, instruments=[Names()]):
        usmp.build(module_of({"x": X, "y": Y}, op.add))
    assert "usmp.UnifiedStaticMemoryPlanner" in names
