"""Tensors without elements: inputs, outputs, constants and what is between operators.

They take no bytes; C knows neither structs without members nor arrays without elements.
"""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.c_program import SANITIZERS, run_as_program
from usmp.objects import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    Executor,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.runtime.archive import archive_of

X = np.array([[1, -2, 3, 100]], np.float32)
NONE = np.zeros((0, 4), np.float32)
NO_INDEX = np.zeros(0, np.int32)


def module(body, *inputs):
    """A Relax module of `x`, and of `e` without elements."""
    builder = relax.BlockBuilder()
    arrays = {"x": X, "e": NONE}
    params = [relax.Var(n, relax.TensorType(arrays[n].shape, "float32")) for n in inputs]
    with builder.function("main", params):
        with builder.dataflow():
            results = [builder.emit(result) for result in body(builder, *params)]
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    return builder.get()


def taken_and_joined(builder, x):
    """A constant of no indices, and then a tensor between operators."""
    taken = builder.emit(relax.op.take(x, relax.const(NO_INDEX), axis=0))
    curved = builder.emit(relax.op.exp(taken))
    return relax.op.concat([x, curved], 0), curved


# Name -> body, its inputs, what it computes.
CASES = {
    "constant": (lambda b, x: [relax.op.concat([x, relax.const(NONE)], 0)], ["x"], [X]),
    "output constant": (lambda b, x: [relax.op.add(x, x), relax.const(NONE)], ["x"], [X + X, NONE]),
    "intermediate": (taken_and_joined, ["x"], [X, NONE]),
    "input": (lambda b, x, e: [relax.op.concat([x, e], 0)], ["x", "e"], [X]),
    "unread input": (lambda b, x, e: [relax.op.add(x, x)], ["x", "e"], [X + X]),
    "passed on": (lambda b, x, e: [relax.op.add(x, x), e], ["x", "e"], [X + X, NONE]),
    "nothing at all": (lambda b, e: [relax.op.add(e, relax.const(NONE))], ["e"], [NONE]),
    "constants of two": (
        lambda b, x: [
            relax.op.concat([b.emit(relax.op.add(x, relax.const(X))), relax.const(NONE)], 0),
            relax.const(np.zeros((2, 0), np.float64)),
        ],
        ["x"],
        [X + X, np.zeros((2, 0))],
    ),
}


@pytest.mark.cc
@pytest.mark.parametrize(
    ("target", "interface", "workspace_io"),
    [("c", "c", True), ("c", "packed", False), ("llvm", "c", False)],
    ids=["workspace", "packed", "llvm"],
)
@pytest.mark.parametrize("case", ["intermediate", "passed on", "constants of two"])
def test_every_interface(case, target, interface, workspace_io):
    body, inputs, expected = CASES[case]
    executor = Executor("aot", {"interface-api": interface, "unpacked-api": interface == "c"})
    with tvm.transform.PassContext(config={"tir.usmp.use_workspace_io": workspace_io}):
        factory = usmp.build(module(body, *inputs), target, executor)
    check(factory, inputs, expected)


@pytest.mark.cc
@pytest.mark.parametrize("case", CASES)
def test_c(case):
    body, inputs, expected = CASES[case]
    check(usmp.build(module(body, *inputs)), inputs, expected)


def check(factory, inputs, expected):
    outputs = factory.run({name: {"x": X, "e": NONE}[name] for name in inputs})
    for output, values in zip(outputs.values(), expected, strict=True):
        np.testing.assert_array_equal(output, values)
        assert output.shape == values.shape


@pytest.mark.cc
def test_pools_of_the_application():
    """Its arrays have an element, as C wants it."""
    flash = ConstantMemoryPools([ConstantPoolInfo("flash", ["c"], [])])
    sram = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])])
    body, inputs, expected = CASES["intermediate"]
    factory = usmp.build(
        module(body, *inputs), workspace_memory_pools=sram, constant_memory_pools=flash
    )
    assert "FLASH_CONSTANT_POOL_SIZE 1\n" in factory.header
    check(factory, inputs, expected)
    assert archive_of(factory.files()).module().pools[0].declared_bytes == 1


@pytest.mark.cc
def test_under_sanitizers(tmp_path):
    body, inputs, expected = CASES["intermediate"]
    with tvm.transform.PassContext(config={"tir.usmp.use_workspace_io": True}):
        factory = usmp.build(module(body, *inputs))
    outputs = run_as_program(factory, tmp_path, SANITIZERS, X.tobytes())
    assert outputs == b"".join(values.tobytes() for values in expected)
