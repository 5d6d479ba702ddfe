"""What is read of a `.pt2` file, and which are refused."""

from __future__ import annotations

import logging
import warnings

import pytest

from support.lazy import TorchModule, lazy
from support.pytorch_models import Function, exported, torch
from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError

read = lazy("usmp.frontend.pytorch.read_program")


def program(function, *inputs, **limits):
    module = function if isinstance(function, TorchModule) else Function(function)
    return read.read_program(exported(module, *inputs), False, Limits(**limits))


class Sums(TorchModule):
    def forward(self, x, n):
        return x + n


class Counter(TorchModule):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(4, 3))

    def forward(self, x):
        self.table[-1] = x


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda x: x.relu(), ["relu"]),
        (lambda x: (x.relu(), [x.exp()]), ["relu", "exp"]),
        (lambda x: (x.relu(), x.relu()), ["relu", "relu_1"]),
        (lambda x: {"a": x.relu(), "b": [x.exp(), {"c": x.sin()}]}, ["a", "b.0", "b.1.c"]),
        (lambda x: {"x": x.relu()}, None),
    ],
)
def test_names_of_outputs(function, names):
    found = program(function, torch.ones(2)).output_names
    assert found == names if names else found != ["x"]


def test_outputs_that_are_quantized_are_named_by_what_computes_them():
    from torch.ao.quantization.fx import _decomposed  # noqa: F401

    quantized = torch.ops.quantized_decomposed

    def function(x):
        y = quantized.quantize_per_tensor(x.relu(), 0.5, 0, -128, 127, torch.int8)
        return quantized.dequantize_per_tensor(y, 0.5, 0, -128, 127, torch.int8)

    assert program(function, torch.ones(2)).output_names == ["relu"]


def test_a_method_that_only_changes_buffers():
    found = program(Counter(), torch.ones(3))
    assert found.output_names == []
    scatters = [n for n in found.exported.graph.nodes if "slice_scatter" in str(n.target)]
    # The last row, counted from the beginning.
    assert [(node.args[3], node.args[4]) for node in scatters] == [(3, 4)]


def test_inputs_and_outputs_are_tensors():
    with pytest.raises(UnsupportedModelError, match='input "n" is not a tensor'):
        program(Sums(), torch.ones(2), 3)
    with pytest.raises(UnsupportedModelError, match="an output of the model is not a tensor"):
        program(lambda x: (x, 5), torch.ones(2))
    with pytest.raises(UnsupportedModelError, match="not a program that torch"):
        read.read_program(b"PK", True, Limits())


def test_limits():
    kept = Function(lambda x: x[:1] + 1)
    assert program(kept, torch.ones(16), model_bytes=64)
    with pytest.raises(UnsupportedModelError, match=r'tensor "x" of shape \[17\] takes 68 bytes'):
        program(kept, torch.ones(17), model_bytes=64)
    with pytest.raises(UnsupportedModelError, match="takes 80 bytes"):
        program(lambda x: x.repeat(20), torch.ones(1), model_bytes=64)
    with pytest.raises(UnsupportedModelError, match="the program has 3 operators"):
        program(lambda x: x.relu(), torch.ones(2), operators=2)
    with pytest.raises(UnsupportedModelError, match=r'tensor "table" of shape \[4, 3\]'):
        program(Counter(), torch.ones(3), model_bytes=47)


def test_kernels_that_have_converters_are_kept():
    from torch.nn.functional import interpolate

    found = program(lambda x: interpolate(x, scale_factor=2, mode="linear"), torch.ones(1, 1, 4))
    assert any("upsample_linear1d" in str(node.target) for node in found.exported.graph.nodes)


def test_attention_stays_whole_beside_state_only():
    from torch.nn.functional import scaled_dot_product_attention

    class Attention(TorchModule):
        def __init__(self, changes):
            super().__init__()
            self.changes = changes
            self.register_buffer("cache", torch.zeros(1, 1, 2, 4))

        def forward(self, x):
            if self.changes:
                self.cache.add_(x)
            return scaled_dot_product_attention(x, self.cache, self.cache)

    for changes in (False, True):
        found = program(Attention(changes), torch.ones(1, 1, 2, 4))
        targets = {str(node.target) for node in found.exported.graph.nodes}
        assert any("scaled_dot_product" in target for target in targets) == changes


def test_pytorch_is_quiet():
    before = logging.root.manager.disable
    with warnings.catch_warnings(record=True) as caught, read.quiet():
        warnings.warn("one", stacklevel=1)
        assert not logging.getLogger("torch").isEnabledFor(logging.WARNING)
        assert logging.getLogger("torch").isEnabledFor(logging.ERROR)
    assert caught == []
    assert logging.root.manager.disable == before
