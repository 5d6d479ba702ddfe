"""Several programs of one PyTorch module: what any of them changes, all of them share."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

import usmp
from support.lazy import TorchModule, lazy
from support.pytorch_models import exported, nn, torch
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR, STATES_ATTR

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")
import_pytorch_methods = lazy("usmp.frontend.pytorch.importer:import_pytorch_methods")

pytestmark = pytest.mark.cc


class Memory(TorchModule):
    """A part of a module, with a buffer of its own."""

    def __init__(self, start: float = 0.0, size: int = 4, dtype: str = "float32") -> None:
        super().__init__()
        self.register_buffer("cells", torch.full((size,), start, dtype=getattr(torch, dtype)))


class Method(TorchModule):
    """A function of a module's parts: `torch.export` takes one `forward` each."""

    def __init__(self, function, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.register_buffer("scale", torch.tensor([2.0]))
        self.function = function

    def forward(self, x, *more):
        return self.function(self, x, *more)


def store(module, x, position):
    module.memory.cells[position] = x
    return x * module.scale


def load(module, x):
    return module.memory.cells * x


def unrelated(module, x):
    return x * module.scale


def one():
    return torch.ones(1)


def position():
    return torch.tensor([1])


def contents(memory: Memory) -> dict[str, bytes]:
    return {
        "store": exported(Method(store, memory), one(), position()),
        "load": exported(Method(load, memory), one()),
        "unrelated": exported(Method(unrelated, memory), one()),
    }


def message_of(methods: dict[str, bytes]) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_pytorch_methods(methods)
    return str(error.value)


@pytest.mark.slow
def test_what_one_method_changes_is_a_state_of_all_that_use_it():
    mod = import_pytorch_methods(contents(Memory(3.0)))
    assert list(mod.attrs[ENTRIES_ATTR.name]) == ["store", "load", "unrelated"]
    params = {name: [p.name for p in mod[name].params] for name in mod.attrs[ENTRIES_ATTR.name]}
    assert params == {
        "store": ["x", "more_0", "memory.cells"],
        "load": ["x", "memory.cells"],
        "unrelated": ["x"],
    }
    states = {
        name: [(s.name, s.output, s.initial_value.numpy().tolist()) for s in listed]
        for name in mod.attrs[ENTRIES_ATTR.name]
        for listed in [mod[name].attrs.get(STATES_ATTR.name, ())]
    }
    assert states == {
        "store": [("memory.cells", 1, [3.0] * 4)],
        "load": [("memory.cells", -1, [3.0] * 4)],
        "unrelated": [],
    }


@pytest.mark.slow
def test_methods_without_inputs_or_outputs():
    class Clear(Method):
        def forward(self):
            self.memory.cells.zero_()

    class Tell(Method):
        def forward(self):
            return self.memory.cells * 1

    memory = Memory(3.0)
    methods = contents(memory)
    methods["clear"] = exported(Clear(None, memory))
    methods["tell"] = exported(Tell(None, memory))
    host = usmp.build(import_pytorch_methods(methods)).load()

    def cells() -> list[float]:
        (output,) = host.run({}, entry="tell").values()
        return output.tolist()

    assert cells() == [3, 3, 3, 3]
    host.run({"x": np.float32([5]), "more_0": np.array([2])}, entry="store")
    assert cells() == [3, 3, 5, 3]
    assert host.run({}, entry="clear") == {}
    assert cells() == [0, 0, 0, 0]
    (output,) = host.run({"x": np.float32([4])}, entry="load").values()
    assert output.tolist() == [0, 0, 0, 0]
    host.reset()
    assert cells() == [3, 3, 3, 3]


@pytest.mark.slow
def test_a_method_of_nothing():
    class Tell(Method):
        def forward(self):
            return self.memory.cells * 1

    methods = contents(Memory())
    del methods["store"]
    methods["tell"] = exported(Tell(None, Memory()))
    assert message_of(methods) == (
        'method "tell": the model has no inputs; if another method changes its buffers, import '
        "both as methods of one program"
    )


@pytest.mark.slow
def test_each_method_is_the_function_that_it_is_alone():
    methods = contents(Memory())
    together = import_pytorch_methods(methods)
    for name in ("store", "unrelated"):
        alone = import_pytorch(methods[name])["main"]
        assert alone.attrs["global_symbol"] == "main"
        assert together[name].attrs["global_symbol"] == name
        assert list(together[name].attrs["output_names"]) == list(alone.attrs["output_names"])
        assert [p.ty for p in together[name].params] == [p.ty for p in alone.params]


@pytest.mark.slow
def test_what_no_method_changes_is_a_constant():
    methods = contents(Memory(3.0))
    del methods["store"]
    mod = import_pytorch_methods(methods)
    assert [p.name for p in mod["load"].params] == ["x"]
    assert STATES_ATTR.name not in mod["load"].attrs


@pytest.mark.slow
def test_methods_share_their_operators():
    memory = Memory()
    mod = import_pytorch_methods(
        {name: exported(Method(store, memory), one(), position()) for name in ("one", "two")}
    )
    operators = [f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc)]
    assert len(operators) == 1


@pytest.mark.slow
def test_a_method_and_an_operator_of_one_name():
    method = exported(Method(store, Memory()), one(), position())
    mod = import_pytorch_methods({"scatter": method, "other": method})
    assert isinstance(mod["scatter"], relax.Function)
    assert isinstance(mod["scatter_operator"], tirx.PrimFunc)


@pytest.mark.slow
def test_an_input_of_one_method_has_the_name_of_a_state_of_another():
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cells", torch.zeros(1))

        def forward(self, cells):
            return cells + 1

    class Other(Named):
        def forward(self, x):
            return self.cells.add_(x) * 2

    mod = import_pytorch_methods({"one": exported(Named(), one()), "two": exported(Other(), one())})
    assert [p.name for p in mod["one"].params] == ["cells"]
    assert [p.name for p in mod["two"].params] == ["x", "cells_1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"size": 5}, 'is float32[4] in method "store" and float32[5]'),
        ({"dtype": "float64"}, 'is float32[4] in method "store" and float64[4]'),
        ({"start": 1.0}, 'has one initial value in method "store" and another'),
    ],
)
def test_states_that_differ(other, difference):
    methods = contents(Memory())
    methods["load"] = contents(Memory(**other))["load"]
    assert message_of(methods) == (
        f'buffer "memory.cells" is kept between runs, but {difference} in method "load"; export '
        "all methods from one module, before any of them runs"
    )


@pytest.mark.slow
def test_errors_name_the_method():
    methods = contents(Memory())
    methods["spectrum"] = exported(Method(lambda m, x: torch.fft.fft(x).real, Memory()), one())
    assert message_of(methods) == (
        'method "spectrum": operator aten._fft_r2c.default (node _fft_r2c) is not supported: '
        "it computes with complex numbers; use matmul() or conv1d() with constant cosines and "
        "sines, or compute it in the application"
    )
    methods["spectrum"] = b"x"
    assert message_of(methods).startswith(
        'method "spectrum": not a program that torch.export.save wrote, or a damaged one: '
    )


def test_no_methods():
    assert message_of({}) == "there are no methods; give at least one exported program"


@pytest.fixture
def files(tmp_path):
    paths = {}
    for name, content in contents(Memory(3.0)).items():
        paths[name] = tmp_path / f"{name}.pt2"
        paths[name].write_bytes(content)
    return paths


@pytest.mark.slow
def test_files_by_name(files):
    mod = usmp.import_model(files)
    assert list(mod.attrs[ENTRIES_ATTR.name]) == ["store", "load", "unrelated"]
    np.testing.assert_array_equal(
        mod["load"].attrs[STATES_ATTR.name][0].initial_value.numpy(), [3, 3, 3, 3]
    )


def test_files_of_other_formats_are_no_methods(files):
    files["load"] = files["load"].with_suffix(".tflite")
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.import_model(files)
    assert str(error.value) == (
        f'{files["load"]}: method "load" must be a .pt2 file; models of other formats share '
        "nothing, give them to usmp.build"
    )


def test_missing_file_of_a_method(files):
    files["load"] = files["load"].with_name("none.pt2")
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.import_model(files)
    assert str(error.value) == f"{files['load']}: No such file or directory"


def test_method_without_a_c_name(files):
    with pytest.raises(ValueError, match=r'^an entry cannot be called "a b": '):
        usmp.import_model({"a b": files["load"]})


def test_methods_together_are_no_larger_than_they_may_be(files):
    with pytest.raises(usmp.UnsupportedModelError, match="there may be 3, which --max-operators"):
        usmp.import_model(files, max_operators=3)
