"""Buffers of which an exported PyTorch program changes some rows, in their place."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.pytorch_models import exported, torch
from support.pytorch_states import RUNS, Keeping, Several, cache, calls_of, compare

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

pytestmark = pytest.mark.cc


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
