"""Models with a dynamic size become Relax that computes what PyTorch does, at every size."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.dynamic_models import LARGEST, LIBRARY_ENCODER, MODELS, SIZES
from support.relax_vm import TARGET
from usmp.relax.symbolic_sizes import symbolic_sizes_of

pytestmark = pytest.mark.slow

ALL = {**MODELS, "library_encoder": LIBRARY_ENCODER}
FILES = [
    *((name, ".onnx") for name in MODELS),
    *((name, ".pt2") for name in ALL),
]


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Reads a model with the largest size, once."""
    folder = tmp_path_factory.mktemp("models")

    @functools.cache
    def read(name: str, ending: str) -> tvm.IRModule:
        model = ALL[name]
        path = model.written(folder / f"{name}{ending}")
        size = model.size if ending == ".onnx" else model.pytorch_size
        return usmp.import_model(path, max_sizes={size: LARGEST})

    return read


@pytest.mark.parametrize(("name", "ending"), FILES)
def test_the_size_is_a_bounded_variable(name, ending, imported):
    model, main = ALL[name], imported(name, ending)["main"]
    (param,) = main.params
    symbol = model.size if ending == ".onnx" else model.pytorch_size
    shape = [getattr(extent, "name", None) or int(extent) for extent in param.ty.shape]
    assert shape == [symbol if extent is None else extent for extent in model.shape]
    smallest = model.smallest if ending == ".pt2" else 1
    bounds = [(s.name, s.lower_bound, s.upper_bound) for s in symbolic_sizes_of(main)]
    assert bounds == [(symbol, smallest, LARGEST)]


@pytest.mark.models
@pytest.mark.parametrize(("name", "ending"), FILES)
def test_results_are_those_of_pytorch(name, ending, imported):
    model = ALL[name]
    machine = relax.VirtualMachine(tvm.compile(imported(name, ending), TARGET), tvm.cpu())
    for size in SIZES:
        if ending == ".pt2" and size < model.smallest:
            continue
        x = model.inputs(size)
        output = machine["main"](tvm.runtime.tensor(x)).numpy()
        np.testing.assert_allclose(output, model.expected(x), atol=1e-5, err_msg=f"at {size}")


@pytest.mark.parametrize("ending", [".onnx", ".pt2"])
def test_a_first_extent_without_a_bound_is_a_batch_of_one(ending, tmp_path):
    path = MODELS["perceptron"].written(tmp_path / f"model{ending}")
    main = usmp.import_model(path)["main"]
    assert [int(extent) for extent in main.params[0].ty.shape] == [1, 8]
    assert symbolic_sizes_of(main) == []


def test_the_range_of_a_program_is_the_bound(tmp_path):
    model = MODELS["convolutions"]
    path = model.written(tmp_path / "model.pt2")
    (size,) = symbolic_sizes_of(usmp.import_model(path)["main"])
    assert (size.lower_bound, size.upper_bound) == (model.smallest, LARGEST)


@pytest.mark.parametrize("ending", [".onnx", ".pt2"])
def test_a_size_without_a_limit(ending, tmp_path):
    model = MODELS["convolutions"]
    path = tmp_path / f"model{ending}"
    content = model.pt2(largest=None) if ending == ".pt2" else None
    path.write_bytes(content or model.onnx().SerializeToString())
    name = model.size if ending == ".onnx" else model.pytorch_size
    with pytest.raises(usmp.UnsupportedModelError, match=f"--max {name}=N"):
        usmp.import_model(path)
    (size,) = symbolic_sizes_of(usmp.import_model(path, max_sizes={name: None})["main"])
    smallest = model.smallest if ending == ".pt2" else 1
    assert (size.name, size.lower_bound, size.upper_bound) == (name, smallest, None)
