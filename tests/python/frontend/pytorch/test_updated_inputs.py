"""Inputs that an exported PyTorch program changes: runs update them in the caller's memory."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import usmp
from support.lazy import TorchModule, lazy
from support.main_calls import called
from support.pytorch_models import exported, nn, torch
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.module_attributes import STATES_ATTR

Program = lazy("support.updating_programs:Program")
built = lazy("support.updating_programs:built")
compare = lazy("support.updating_programs:compare")
imported = lazy("support.updating_programs:imported")
random_program = lazy("support.updating_programs:random_program")
import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")
import_pytorch_methods = lazy("usmp.frontend.pytorch.importer:import_pytorch_methods")

pytestmark = [pytest.mark.cc, pytest.mark.slow]


def cache(factor: float = 1.0):
    return factor * torch.arange(24.0).reshape(1, 2, 6, 2)


def many_updates(x, rows, position, *caches):
    """Each pair of caches is updated in another way; several are returned, too."""
    results = []
    pairs = [(caches[i], caches[i + 1]) for i in range(0, len(caches), 2)]
    (a, b), (c, d), (e, f), (g, h), (i, j), (k, m) = pairs
    old = a.clone()  # they exchange their values
    a.copy_(b)
    b.copy_(old)
    results.append(a * x)
    before = c * 1  # the old value is read after the new one is there
    c[:, :, 1] = rows[:, :, 0]
    results += [before + c, d * x]
    d.copy_(c)  # one becomes what the other has become
    e.add_(f)  # each is read by what updates the other
    f.add_(e)
    results.append(e)
    value = g * x  # two become the same
    g.copy_(value)
    h.copy_(value)
    i.copy_(i.flip(2))  # the last element is read when the first is written
    j.copy_(torch.cat([j[:, :, 1:], rows], 2))
    results += [i.sum(-1), j[:, :1]]
    kept = k.clone()
    k.zero_()
    m[:, :, position] = rows
    m[:, 1:].copy_(m[:, :1] * 2)
    return (*results, kept, m.sum(-1))


@pytest.fixture(scope="module")
def many():
    inputs = [torch.randn(1), torch.randn(1, 2, 1, 2), torch.tensor([2])]
    inputs += [cache(factor) for factor in range(1, 13)]
    return inputs, imported(many_updates, *inputs)


@pytest.mark.parametrize("interface", ["c", "llvm", "packed", "workspace"])
def test_inputs_and_outputs_are_those_of_pytorch(many, interface):
    inputs, mod = many
    compare(many_updates, built(mod, interface), *inputs)


def in_place(x, rows, position, *caches):
    """Nothing here needs a tensor of the size of a cache."""
    a, b, c, d, e, f, g = caches
    a.index_copy_(2, position, rows)
    b[:, :, position] = rows
    c.scatter_(2, position.view(1, 1, 1, 1).expand(1, 2, 1, 2), rows)
    d[:, :, 1:2] = rows
    e.add_(x).mul_(2)
    f.copy_(torch.cat([f[:, :, 1:], rows], 2))
    g.fill_(3)
    return (a.sum((1, 2, 3)) + x,)


def test_what_can_be_written_in_its_place_is_not_copied():
    inputs = [torch.randn(1), torch.randn(1, 2, 1, 2), torch.tensor([2])]
    inputs += [cache(factor) for factor in range(1, 8)]
    mod = imported(in_place, *inputs)
    factory = usmp.build(mod)
    names = called(factory.ir_mod["__tvm_main__"])
    assert [name for name in names if name.startswith("usmp_copy")] == []
    assert max(b.size_bytes for b in factory.memory_plan.buffers) < cache().nbytes // 2
    compare(in_place, factory, *inputs)


def test_an_element_that_is_read_later_is_not_overwritten():
    def turned(x):
        x.copy_(x.flip(0))

    mod = imported(turned, torch.arange(5.0))
    assert called(lower_to_aot(mod)["__tvm_main__"]) == ["flip", "usmp_copy_0"]
    compare(turned, usmp.build(mod), torch.arange(5.0))


def test_a_buffer_and_an_input_that_are_changed():
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.ones(3))

        def forward(self, x):
            self.total.add_(x)
            x.copy_(self.total * 2)
            return (x - 1,)

    content = exported(Both(), torch.ones(3))
    factory = usmp.build(import_pytorch(content))
    assert [s.name for s in factory.interface.states] == ["total", "states_are_set"]
    compare(Both(), factory, torch.ones(3))


def test_an_array_that_is_read_only_stays_as_it_is():
    def update(x):
        x.add_(1)

    mod = imported(update, torch.ones(3))
    (state,) = mod["main"].attrs[STATES_ATTR.name]
    assert (state.name, state.output, state.is_input) == ("inputs_0", 0, True)
    factory = usmp.build(mod)
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    np.testing.assert_array_equal(factory.run({"inputs_0": array})["inputs_0"], [2, 2, 2])
    np.testing.assert_array_equal(array, [1, 1, 1])


def test_sizes_that_only_the_run_knows():
    def update(x, y):
        x.add_(y)
        return (x.sum(0),)

    size = torch.export.Dim("n", min=2, max=8)
    inputs = torch.ones(3, 4), torch.randn(3, 4)
    factory = usmp.build(imported(update, *inputs, dynamic_shapes=(({1: size}, {1: size}),)))
    for columns in (2, 8):
        compare(update, factory, torch.randn(3, columns), torch.randn(3, columns))


class Cached(TorchModule):
    """Two methods that take one cache."""

    def prefill(self, keys, rows):
        keys[:, :, :3] = rows
        return (keys.sum(-1),)

    def decode(self, keys, row, position):
        keys[:, :, position] = row
        return (keys.mean(2),)


def test_two_entries_are_given_one_tensor():
    module = Cached()
    rows, row = torch.randn(1, 2, 3, 2), torch.randn(1, 2, 1, 2)
    contents = {}
    for name, inputs in (
        ("prefill", (cache(), rows)),
        ("decode", (cache(), row, torch.tensor([3]))),
    ):
        method = getattr(module, name)
        contents[name] = exported(Program(method), *(each.clone() for each in inputs))
    mod = import_pytorch_methods(contents)
    for interface in ("c", "workspace"):
        factory, keys = built(mod, interface), cache()
        assert factory.interface.states == []
        host, given = factory.load(), keys.numpy().copy()
        host.run({"inputs_0": given, "inputs_1": rows.numpy()}, "prefill")
        module.prefill(keys, rows)
        for position in (torch.tensor([3]), torch.tensor([4])):
            arrays = {"inputs_0": given, "inputs_1": row.numpy(), "inputs_2": position.numpy()}
            output = host.run(arrays, "decode")["mean"]
            np.testing.assert_allclose(output, module.decode(keys, row, position)[0], rtol=1e-6)
            np.testing.assert_array_equal(given, keys)


@pytest.mark.parametrize("seed", range(3))
def test_random_updates(seed):
    function, inputs = random_program(Random(seed))
    interface = "workspace" if seed % 2 else "c"
    compare(function, built(imported(function, *inputs), interface), *inputs)
