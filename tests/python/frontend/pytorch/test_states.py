"""Buffers that an exported PyTorch program changes: their names, and what they hold, run by run."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.lazy import TorchModule, lazy
from support.main_calls import called
from support.pytorch_models import Function, exported, nn, torch
from support.pytorch_states import RUNS, Keeping, Several, cache, calls_of, compare
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.module_attributes import STATES_ATTR

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

pytestmark = pytest.mark.cc


def counted(module, rows):
    module.cache[:, :, module.count] = rows
    module.count.add_(1)
    return module.cache.sum(-1)


def moved_within(module, x):
    module.cache[:, :, 1:4] = module.cache[:, :, 0:3].clone()
    return module.cache * x


def exchanged(module, x):
    old = module.cache.clone()
    module.cache.copy_(module.other * x)
    module.other.copy_(old)
    return module.cache + 1


def swapped(module, x):
    old = module.cache.clone()
    module.cache.copy_(module.other)
    module.other.copy_(old)
    return module.cache * x


def old_value_is_read_later(module, x):
    old = module.cache * 1
    before = module.cache.clone()
    module.cache[:, :, 1] = x
    return before + module.cache, old


def set_to_zero(module, x):
    result = module.cache * x
    module.cache.zero_()
    return result


def cleared_after_a_write(module, x):
    module.cache[:, :, 1] = x
    result = module.cache.sum(-1)
    module.cache.zero_()
    return result


def set_to_a_constant(module, x):
    result = module.cache * x
    module.cache.copy_(torch.arange(24.0).reshape(1, 2, 6, 2))
    return result


def set_to_an_input(module, x):
    module.cache.copy_(x.expand(1, 2, 6, 2))
    return module.cache.sum(-1)


def returned(module, x):
    module.cache.add_(x)
    return module.cache


def masked(module, x):
    module.cache.masked_fill_(x > 0, -1.0)
    return module.cache.sum(-1)


def smoothed(module, x):
    module.cache.mul_(0.5).add_(x)
    return module.cache - 1


def shifted(module, x):
    module.cache.copy_(
        torch.cat([module.cache[:, :, 1:], x.view(1, 1, 1, 1).expand(1, 2, 1, 2)], 2)
    )
    return module.cache.sum(-1)


@pytest.mark.slow
def test_other_updates():
    module = Several(
        [
            moved_within,
            exchanged,
            swapped,
            old_value_is_read_later,
            set_to_zero,
            cleared_after_a_write,
            set_to_a_constant,
            set_to_an_input,
            returned,
            masked,
            smoothed,
            shifted,
        ],
        cache=cache(),
        other=-cache(),
    )
    compare(module, *[(torch.randn(1),) for _ in range(RUNS)])


@pytest.mark.slow
def test_flags():
    def update(module, positions):
        module.seen[positions] = True
        return module.seen.float()

    module = Keeping(update, seen=torch.zeros(5, dtype=torch.bool))
    positions = torch.tensor([1])
    assert [name for name in calls_of(module, positions) if name.startswith("usmp_copy")] == []
    compare(module, *[(torch.tensor([run]),) for run in range(RUNS)])


@pytest.mark.slow
def test_recurrent_layer_that_keeps_its_hidden_state():
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(3, 4)
            self.register_buffer("hidden", torch.zeros(1, 4))

        def forward(self, x):
            self.hidden.copy_(self.cell(x, self.hidden))
            return self.hidden * 2

    torch.manual_seed(0)
    compare(Layer(), *[(torch.randn(1, 3),) for _ in range(RUNS)])


@pytest.mark.slow
def test_layers_whose_states_are_kept_are_loops_over_one_buffer():
    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.GRU(3, 4, num_layers=2)
            self.register_buffer("hidden", torch.zeros(2, 1, 4))

        def forward(self, x):
            _, after = self.layers(x, self.hidden)
            self.hidden.copy_(after)
            return after[-1]

    torch.manual_seed(0)
    factory = compare(Layers(), *[(torch.randn(9, 1, 3),) for _ in range(RUNS)], tolerance=1e-4)
    assert factory.source.count("; t < 9; ++t)") == 2


class Counting(TorchModule):
    """Has neither inputs nor, unless told so, outputs."""

    def __init__(self, returns: bool) -> None:
        super().__init__()
        self.returns = returns
        self.register_buffer("count", torch.tensor([3]))
        self.register_buffer("cells", torch.ones(4))

    def forward(self):
        self.count.add_(1)
        self.cells.fill_(2.0)
        return self.count * 1 if self.returns else None


@pytest.mark.slow
def test_a_program_without_inputs():
    host = usmp.build(import_pytorch(exported(Counting(True)))).load()
    assert [host.run({})["mul"].tolist() for _ in range(3)] == [[4], [5], [6]]


@pytest.mark.slow
def test_a_program_without_outputs():
    main = import_pytorch(exported(Counting(False)))["main"]
    assert list(main.attrs["output_names"]) == []
    assert [(s.name, s.output) for s in main.attrs[STATES_ATTR.name]] == [
        ("count", 0),
        ("cells", 1),
    ]
    assert usmp.build(import_pytorch(exported(Counting(False)))).load().run({}) == {}


@pytest.mark.slow
def test_what_becomes_one_number_is_filled_in_its_place():
    assert [name for name in calls_of(Counting(False)) if name.startswith("fill")] == ["fill"]
    main = lower_to_aot(import_pytorch(exported(Counting(False))))
    # What is copied is the count.
    names = [name for name in called(main["__tvm_main__"]) if name.startswith("usmp_copy")]
    assert names == ["usmp_copy_0"]


@pytest.mark.slow
def test_a_state_has_the_name_of_its_buffer():
    module = Keeping(lambda m, x: m.inner(x), plain=torch.ones(1))
    module.inner = Keeping(counted, cache=cache(), count=torch.full((1,), 3))
    rows = torch.randn(1, 2, 1, 2)
    main = import_pytorch(exported(module, rows))["main"]
    assert [param.name for param in main.params] == ["inputs_0", "inner.cache", "inner.count"]
    assert [(s.name, s.output) for s in main.attrs[STATES_ATTR.name]] == [
        ("inner.cache", 1),
        ("inner.count", 2),
    ]
    np.testing.assert_array_equal(main.attrs[STATES_ATTR.name][0].initial_value.numpy(), cache())
    assert list(main.attrs["output_names"]) == ["sum_1"]


@pytest.mark.slow
def test_a_state_and_an_input_of_one_name():
    def update(module, cache):
        module.cache.add_(cache)
        return module.cache * 2

    class Named(Keeping):
        def forward(self, cache):
            return self.function(self, cache)

    module = Named(update, cache=torch.zeros(2))
    main = import_pytorch(exported(module, torch.ones(2)))["main"]
    assert [param.name for param in main.params] == ["cache", "cache_1"]
    assert [s.name for s in main.attrs[STATES_ATTR.name]] == ["cache_1"]


def test_buffers_that_nothing_changes_are_constants():
    module = Keeping(lambda m, x: x * m.scale, scale=torch.full((2,), 3.0))
    main = import_pytorch(exported(module, torch.ones(2)))["main"]
    assert [param.name for param in main.params] == ["inputs_0"]
    assert STATES_ATTR.name not in main.attrs


def test_programs_without_states_import_as_before():
    main = import_pytorch(exported(Function(lambda x: x + 1), torch.ones(2)))["main"]
    assert sorted(main.attrs.keys()) == ["global_symbol", "output_names"]
