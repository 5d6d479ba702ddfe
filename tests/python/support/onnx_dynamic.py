"""ONNX models with a size which only the run knows: imported, refused, or run for several sizes."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from support.relax_vm import TARGET
from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.relax.symbolic_operators import with_possible_sizes
from usmp.relax.symbolic_sizes import shown_shape

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

LARGEST = 12


def imported(content: bytes, max_sizes=None) -> tvm.IRModule:
    asked = AskedSizes({"n": LARGEST} if max_sizes is None else max_sizes)
    mod = import_onnx(content, None, asked=asked)
    main = with_possible_sizes(mod["main"])
    mod.update_func(mod.get_global_var("main"), main)
    return mod


def message_of(content: bytes, max_sizes=None) -> str:
    with pytest.raises((usmp.UnsupportedModelError, ValueError)) as error:
        imported(content, max_sizes)
    return str(error.value)


def shape_of_result(mod: tvm.IRModule) -> str:
    return shown_shape(mod["main"].body.body.ty.shape)


def check_results(
    content: bytes, make_inputs, sizes=(1, 2, 7, LARGEST), max_sizes=None
) -> tvm.IRModule:
    """Compare with onnxruntime."""
    mod, reference = imported(content, max_sizes), Reference(content)
    machine = relax.VirtualMachine(tvm.compile(mod, TARGET), tvm.cpu())
    for size in sizes:
        inputs = make_inputs(size)
        results = machine["main"](*map(tvm.runtime.tensor, inputs.values()))
        results = [results] if isinstance(results, tvm.runtime.Tensor) else list(results)
        for result, expected in zip(results, reference.run(inputs).values(), strict=True):
            assert result.numpy().shape == expected.shape
            np.testing.assert_allclose(result.numpy(), expected, atol=1e-5)
    return mod


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


class Chain(Graph):
    """A graph of one input x of shape [1, n, 6], and what exporters write of shapes."""

    def __init__(self, shape=(1, "n", 6)) -> None:
        super().__init__()
        self.x = self.input("x", list(shape))

    def extent(self, tensor: str, axis: int) -> str:
        """An extent of a tensor, of one element."""
        shape = self.node("Shape", tensor)
        return self.node("Gather", shape, self.constant([axis], np.int64))

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values), np.int64)
