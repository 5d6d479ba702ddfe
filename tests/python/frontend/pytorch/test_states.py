"""Buffers that an exported PyTorch program changes: what they hold from run to run, written in
place."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import usmp
from support.lazy import TorchModule, lazy
from support.main_calls import called
from support.pytorch_models import Function, exported, nn, torch
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes import STATES_ATTR

pytree = lazy("torch.utils._pytree")
import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

pytestmark = pytest.mark.cc

RUNS = 5


class Keeping(TorchModule):
    """A module of buffers and a function of itself and the inputs, which may change them."""

    def __init__(self, function, **buffers) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs):
        return self.function(self, *inputs)


class Several(TorchModule):
    """Modules of the same inputs; the results by the names of the functions."""

    def __init__(self, functions, **buffers) -> None:
        super().__init__()
        for function in functions:
            copies = {name: value.clone() for name, value in buffers.items()}
            self.add_module(function.__name__, Keeping(function, **copies))

    def forward(self, *inputs):
        return {name: module(*inputs) for name, module in self.named_children()}


def cache(rows: int = 6):
    return torch.arange(rows * 4.0).reshape(1, 2, rows, 2)


def compare(module, *runs, tolerance: float = 1e-6) -> usmp.AOTExecutorFactoryModule:
    """Run after run as in PyTorch, and once more after a reset; returns what was built."""
    fresh = copy.deepcopy(module)
    mod = import_pytorch(exported(module, *runs[0]))
    factory = usmp.build(mod)
    names = [tensor.info.name for tensor in factory.interface.inputs]
    host = factory.load()
    different = set()
    for reference in (module, fresh):
        for inputs in runs:
            with torch.no_grad():
                expected = reference(*(each.clone() for each in inputs))
            given = dict(zip(names, (each.numpy() for each in inputs), strict=True))
            outputs = host.run(given)
            for name, tensor in zip(outputs, pytree.tree_leaves(expected), strict=True):
                try:
                    np.testing.assert_allclose(outputs[name], tensor.numpy(), rtol=tolerance)
                except AssertionError:
                    different.add(name)
        host.reset()
    assert different == set()
    return factory


def calls_of(module, *inputs) -> list[str]:
    """What the program calls, in order, if all that it keeps begins with zeros."""
    module = copy.deepcopy(module)
    for buffer in module.buffers():
        buffer.zero_()
    return called(lower_to_aot(import_pytorch(exported(module, *inputs)))["__tvm_main__"])


def at_positions(module, positions, rows):
    module.cache[:, :, positions] = rows
    return module.cache.sum(-1)


def index_copy(module, positions, rows):
    module.cache.index_copy_(2, positions, rows)
    return module.cache.sum(-1)


def index_add(module, positions, rows):
    module.cache.index_add_(2, positions, rows)
    return module.cache.sum(-1)


def scatter(module, positions, rows):
    places = positions.view(1, 1, -1, 1).expand(1, 2, rows.shape[2], 2)
    module.cache.scatter_(2, places, rows)
    return module.cache.sum(-1)


def twice(module, positions, rows):
    module.cache[:, :, positions] = rows
    module.cache[:, :, positions - 1] = -rows
    return module.cache.sum(-1)


def flattened(module, positions, rows):
    module.cache.view(12, 2)[positions] = rows[0, 0]
    return module.cache.sum(-1)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_rows_at_positions_that_are_inputs(count):
    updates = [at_positions, index_copy, index_add, scatter, twice, flattened]
    module = Several(updates, cache=cache())
    runs = [
        (torch.tensor([run, run + 1][:count]), torch.randn(1, 2, count, 2)) for run in range(RUNS)
    ]
    calls = calls_of(module, *runs[0])
    assert [name for name in calls if name.startswith("usmp_copy")] == []
    factory = compare(module, *runs)
    sizes = {s.name: s.size_bytes for s in factory.interface.states}
    assert {f"{each.__name__}.cache": 6 * 4 * 4 for each in updates}.items() <= sizes.items()


def slice_assigned(module, rows):
    module.cache[:, :, 1:3] = rows
    return module.cache.sum(-1)


def slice_copied(module, rows):
    module.cache[:, :, 3:5].copy_(rows)
    return module.cache[:, :, :4].sum(-1)


def every_other(module, rows):
    module.cache[:, :, 1:5:2] = rows
    return module.cache.sum(-1)


def all_of_it(module, rows):
    module.cache[:, :, :] = rows[:, :, :1]
    return module.cache.sum(-1)


def selected(module, rows):
    module.cache[:, :, 2] = rows[:, :, 0]
    return module.cache.sum(-1)


def selected_from_the_end(module, rows):
    module.cache[:, :, -1] = rows[:, :, 0]
    return module.cache.sum(-1)


@pytest.mark.slow
def test_rows_at_fixed_positions():
    module = Several(
        [slice_assigned, slice_copied, every_other, all_of_it, selected, selected_from_the_end],
        cache=cache(),
    )
    runs = [(torch.randn(1, 2, 2, 2),) for _ in range(RUNS)]
    calls = calls_of(module, *runs[0])
    assert [name for name in calls if name.startswith("usmp_copy")] == []
    compare(module, *runs)


def counted(module, rows):
    module.cache[:, :, module.count] = rows
    module.count.add_(1)
    return module.cache.sum(-1)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(), (1,)])
def test_position_that_is_a_state_itself(shape):
    def update(module, rows):
        module.cache[:, :, module.count.view(1)] = rows
        module.count.add_(1)
        return module.cache.sum(-1)

    module = Keeping(update, cache=cache(), count=torch.zeros(shape, dtype=torch.int64))
    factory = compare(module, *[(torch.randn(1, 2, 1, 2),) for _ in range(RUNS)])
    assert [s.name for s in factory.interface.states] == ["cache", "count", "states_are_set"]


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


def in_one_layer(module, positions, rows):
    module.cache[0, 1, positions] = rows
    return module.cache.sum(-1)


def in_a_column_of_one_layer(module, positions, rows):
    module.cache[0][:, positions, 1] = rows.T
    return module.cache.sum(-1)


def in_the_last_layer(module, positions, rows):
    module.cache[:, -1, positions] = rows
    return module.cache.sum(-1)


def in_two_layers(module, positions, rows):
    module.cache[0][:, positions] = rows
    module.cache[0, 0][positions] = -rows
    return module.cache.sum(-1)


def in_a_slice_of_all(module, positions, rows):
    module.cache[:1, :, positions] = rows
    return module.cache.sum(-1)


def before_it_is_read(module, positions, rows):
    layer = module.cache[0]
    layer[:, positions] = rows
    return layer.sum(-1)


@pytest.mark.slow
def test_positions_in_one_layer_of_several():
    module = Several(
        [
            in_one_layer,
            in_a_column_of_one_layer,
            in_the_last_layer,
            in_two_layers,
            in_a_slice_of_all,
        ],
        cache=cache(),
    )
    runs = [(torch.tensor([run]), torch.randn(1, 2)) for run in range(RUNS)]
    calls = calls_of(module, *runs[0])
    assert [name for name in calls if name.startswith(("usmp_copy", "slice_scatter"))] == []
    compare(module, *runs)


def sum_in_one_layer(module, positions, rows):
    module.cache[0, 1].index_add_(0, positions, rows)
    return module.cache.sum(-1)


def layer_that_is_read_before(module, positions, rows):
    layer = module.cache[0]
    before = layer * 2
    layer[:, positions] = rows
    return before, layer.sum(-1), module.cache[:, 1]


def layer_put_elsewhere(module, positions, rows):
    layer = module.cache[0, 0].clone()
    layer[positions] = rows
    module.cache[0, 1] = layer
    return module.cache.sum(-1)


def layer_of_a_part(module, positions, rows):
    module.cache[:, :, 1:5][0, 1, positions - 1] = rows
    return module.cache.sum(-1)


@pytest.mark.slow
def test_other_updates_of_one_layer():
    module = Several(
        [
            before_it_is_read,
            sum_in_one_layer,
            layer_that_is_read_before,
            layer_put_elsewhere,
            layer_of_a_part,
        ],
        cache=cache(),
    )
    compare(module, *[(torch.tensor([run]), torch.randn(1, 2)) for run in range(RUNS - 1)])


@pytest.mark.slow
def test_no_position_in_a_layer_leads_out_of_it():
    module = Keeping(in_one_layer, cache=torch.zeros(1, 2, 6, 2))
    factory = usmp.build(import_pytorch(exported(module, torch.tensor([0]), torch.ones(1, 2))))

    def after(position):
        inputs = {"inputs_0": np.array([position]), "inputs_1": np.ones((1, 2), np.float32)}
        (output,) = factory.run(inputs).values()
        return output[0].tolist()

    for position in (6, -7, 2**62, -(2**63), 2**63 - 1):
        assert after(position) == [[0] * 6, [0] * 6]
    assert after(-6) == [[0] * 6, [2, 0, 0, 0, 0, 0]]


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
    assert [(s.name, s.output) for s in main.attrs[STATES_ATTR]] == [("count", 0), ("cells", 1)]
    assert usmp.build(import_pytorch(exported(Counting(False)))).load().run({}) == {}


@pytest.mark.slow
def test_what_becomes_one_number_is_filled_in_its_place():
    assert [name for name in calls_of(Counting(False)) if name.startswith("fill")] == ["fill"]
    main = lower_to_aot(import_pytorch(exported(Counting(False))))
    # What is copied is the count.
    names = [name for name in called(main["__tvm_main__"]) if name.startswith("usmp_copy")]
    assert names == ["usmp_copy_0"]


@pytest.mark.slow
def test_positions_outside_change_nothing():
    """PyTorch raises an error."""
    module = Keeping(at_positions, cache=torch.zeros(1, 2, 6, 2))
    factory = usmp.build(
        import_pytorch(exported(module, torch.tensor([0]), torch.ones(1, 2, 1, 2)))
    )
    rows = np.ones((1, 2, 1, 2), np.float32)

    def after(position):
        (output,) = factory.run({"inputs_0": np.array([position]), "inputs_1": rows}).values()
        return output[0, 0].tolist()

    for position in (6, -7, 2**62, -(2**63), 2**63 - 1):
        assert after(position) == [0, 0, 0, 0, 0, 0]
    assert after(-1) == [0, 0, 0, 0, 0, 2]


@pytest.mark.slow
def test_a_state_has_the_name_of_its_buffer():
    module = Keeping(lambda m, x: m.inner(x), plain=torch.ones(1))
    module.inner = Keeping(counted, cache=cache(), count=torch.full((1,), 3))
    rows = torch.randn(1, 2, 1, 2)
    main = import_pytorch(exported(module, rows))["main"]
    assert [param.name for param in main.params] == ["inputs_0", "inner.cache", "inner.count"]
    assert [(s.name, s.output) for s in main.attrs[STATES_ATTR]] == [
        ("inner.cache", 1),
        ("inner.count", 2),
    ]
    np.testing.assert_array_equal(main.attrs[STATES_ATTR][0].initial_value.numpy(), cache())
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
    assert [s.name for s in main.attrs[STATES_ATTR]] == ["cache_1"]


def test_buffers_that_nothing_changes_are_constants():
    module = Keeping(lambda m, x: x * m.scale, scale=torch.full((2,), 3.0))
    main = import_pytorch(exported(module, torch.ones(2)))["main"]
    assert [param.name for param in main.params] == ["inputs_0"]
    assert STATES_ATTR not in main.attrs


def test_programs_without_states_import_as_before():
    main = import_pytorch(exported(Function(lambda x: x + 1), torch.ones(2)))["main"]
    assert sorted(main.attrs.keys()) == ["global_symbol", "output_names"]
