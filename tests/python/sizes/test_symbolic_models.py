"""Models with a size that only the run knows: the C computes what PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.dynamic_models import LARGEST, MODELS, SIZES

pytestmark = pytest.mark.cc


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file_format", "dynamic", "largest"),
    [
        ("tokens", "onnx", "expression", 20),
        ("convolutions", "onnx", "bound", LARGEST),
        ("convolutions", "pt2", "expression", LARGEST),
        ("perceptron", "onnx", "expression", LARGEST),
        ("perceptron", "pt2", "bound", LARGEST),
    ],
)
def test_outputs(tmp_path, name, file_format, dynamic, largest):
    model = MODELS[name]
    path = model.written(tmp_path / f"{name}.{file_format}")
    size = model.size if file_format == "onnx" else model.pytorch_size
    with PassContext(config={"tir.usmp.dynamic": dynamic}):
        module = usmp.build(path, max_sizes={size: largest})
    (entry_size,) = module.interface.only_entry.sizes
    (tensor,) = module.interface.inputs
    for number in SIZES:
        x = model.inputs(number)
        if not entry_size.lower_bound <= number <= largest:
            with pytest.raises(ValueError, match=f"is {number}, by axis"):
                module.run({str(tensor.info.name): x})
            continue
        (found,) = module.run({str(tensor.info.name): x}).values()
        np.testing.assert_allclose(found, model.expected(x), rtol=1e-4, atol=1e-5)
