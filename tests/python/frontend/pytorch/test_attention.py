"""Attention over keys and values that are kept: neither they nor the scores are written out."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import tvm_ffi
from tvm import tirx

import usmp
from support.lazy import TorchModule, lazy
from support.pytorch_models import exported, nn, torch
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

pytestmark = [pytest.mark.cc, pytest.mark.slow]

HEADS, POSITIONS, DEPTH = 2, 12, 4
F = lazy("torch.nn.functional")


class Attending(TorchModule):
    """Keeps keys and values, [1, HEADS, POSITIONS, DEPTH], and lets `attend` use them."""

    def __init__(self, attend, shape=(1, HEADS, POSITIONS, DEPTH)) -> None:
        super().__init__()
        self.attend = attend
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))
        self.register_buffer("mask", torch.ones(POSITIONS, POSITIONS).tril() == 1)

    def forward(self, x, position):
        self.keys[:, :, position] = x[:, : self.keys.shape[1]]
        self.values[:, :, position] = -x[:, : self.keys.shape[1]]
        return self.attend(x, self.keys, self.values, self.mask[position])


class AttendingInRows(Attending):
    """Keeps them as [1, POSITIONS, HEADS, DEPTH]."""

    def __init__(self, attend) -> None:
        super().__init__(attend, (1, POSITIONS, HEADS, DEPTH))

    def forward(self, x, position):
        self.keys[:, position] = x.transpose(1, 2)
        self.values[:, position] = -x.transpose(1, 2)
        keys, values = self.keys.transpose(1, 2), self.values.transpose(1, 2)
        return self.attend(x, keys, values, self.mask[position])


class AttendingInLayers(Attending):
    """Keeps those of two layers in one buffer each, and uses the second."""

    def __init__(self, attend) -> None:
        super().__init__(attend, (2, 1, HEADS, POSITIONS, DEPTH))

    def forward(self, x, position):
        self.keys[1, :, :, position] = x
        self.values[1, :, :, position] = -x
        return self.attend(x, self.keys[1], self.values[1], self.mask[position])


def attention(x, keys, values, mask):
    return F.scaled_dot_product_attention(x, keys, values, attn_mask=mask)


def grouped_attention(x, keys, values, mask):
    return F.scaled_dot_product_attention(x, keys, values, attn_mask=mask, enable_gqa=True)


def repeated(tensor):
    """Each head twice, as by `repeat_kv` of Llama."""
    batch, heads, positions, depth = tensor.shape
    wide = tensor[:, :, None].expand(batch, heads, 2, positions, depth)
    return wide.reshape(batch, heads * 2, positions, depth)


def attention_of_repeated(x, keys, values, mask):
    return F.scaled_dot_product_attention(x, repeated(keys), repeated(values), attn_mask=mask)


def written_out(x, keys, values, mask):
    scores = x @ keys.transpose(-2, -1) / DEPTH**0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ values


def written_out_of_repeated(x, keys, values, mask):
    return written_out(x, repeated(keys), repeated(values), mask)


def written_by_einsum(x, keys, values, mask):
    scores = torch.einsum("bhtd,bhsd->bhts", x, keys * 0.5)
    scores = scores.masked_fill(~mask, -torch.inf)
    return torch.einsum("bhts,bhsd->bhtd", torch.softmax(scores, -1), values)


CASES = {
    "attention": (Attending, attention, HEADS),
    "groups": (Attending, grouped_attention, 2 * HEADS),
    "repeated heads": (Attending, attention_of_repeated, 2 * HEADS),
    "rows": (AttendingInRows, attention, HEADS),
    "products": (Attending, written_out, HEADS),
    "products of repeated heads": (Attending, written_out_of_repeated, 2 * HEADS),
    "products of rows": (AttendingInRows, written_out, HEADS),
    "layers": (AttendingInLayers, attention, HEADS),
    "products of layers": (AttendingInLayers, written_out, HEADS),
    "einsum": (Attending, written_by_einsum, HEADS),
}


def allocated(main: tirx.PrimFunc) -> dict[str, int]:
    """What the main function allocates beside states and constants: elements by name."""
    found: dict[str, int] = {}

    def note(statement: tirx.AllocBuffer) -> None:
        if not statement.annotations:
            found[str(statement.buffer.name)] = prod(int(n) for n in statement.buffer.shape)

    tvm_ffi.structural_walk(main.body, (tirx.AllocBuffer, note))
    return found


@pytest.mark.parametrize("name", CASES)
def test_attention_over_what_is_kept(name):
    make, attend, heads = CASES[name]
    module = make(attend)
    generator = torch.Generator().manual_seed(0)
    runs = [
        (torch.randn(1, heads, 1, DEPTH, generator=generator), torch.tensor([position]))
        for position in range(POSITIONS)
    ]
    mod = import_pytorch(exported(module, *runs[0]))
    main = lower_to_aot(mod)["__tvm_main__"]
    assert max(allocated(main).values()) <= heads * POSITIONS
    factory = usmp.build(mod)
    for x, position in runs:
        with torch.no_grad():
            expected = module(x, position).numpy()
        (output,) = factory.run({"x": x.numpy(), "position": position.numpy()}).values()
        np.testing.assert_allclose(output, expected, atol=1e-6)


def test_states_are_the_only_large_buffers():
    """The test above would not notice if it looked for the wrong thing."""
    mod = import_pytorch(
        exported(Attending(attention), torch.zeros(1, HEADS, 1, DEPTH), torch.tensor([0]))
    )
    main = lower_to_aot(mod)["__tvm_main__"]
    states: list[str] = []

    def note(statement: tirx.AllocBuffer) -> None:
        if STATE_TENSOR_ATTR.name in statement.annotations:
            states.append(str(statement.buffer.name))

    tvm_ffi.structural_walk(main.body, (tirx.AllocBuffer, note))
    assert states == ["keys", "values"]


def test_attention_of_a_type_that_is_not_compared():
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count.add_(1)
            return F.scaled_dot_product_attention(x, x, x)

    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_pytorch(exported(Half(), torch.ones(1, 2, 3, dtype=torch.float16)))
    assert str(error.value) == (
        "operator aten.scaled_dot_product_attention.default (node scaled_dot_product_attention) of "
        "float16 is not supported; convert it to float32 before"
    )
