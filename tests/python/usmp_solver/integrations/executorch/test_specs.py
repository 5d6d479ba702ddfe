"""Descriptions of tensors that ExecuTorch gives the planner by hand, and those it refuses."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module, metadata, util
from unittest import mock

import pytest

from support.lazy import lazy

torch = lazy("torch")
TensorSpec = lazy("executorch.exir.tensor:TensorSpec")
MemoryPlanning = lazy("usmp_solver.integrations.executorch:MemoryPlanning")

pytestmark = pytest.mark.models


def empty():
    return torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())


def tensor(size, first, last, **fields):
    spec = TensorSpec(torch.uint8, torch.Size([size]))
    spec.lifetime = [first, last]
    for name, value in fields.items():
        setattr(spec, name, value)
    return spec


def sizes(*specs, alignment=16, padding=0, module=None):
    return list(MemoryPlanning()(alignment, specs, module or empty(), None, padding))


def test_memories_alignment_and_padding():
    first, second, other = tensor(20, 0, 1), tensor(20, 1, 2), tensor(5, 0, 9, mem_id=3)
    assert sizes(first, second, other) == [0, 64, 0, 16]
    assert {first.mem_offset, second.mem_offset} == {0, 32}
    assert (first.mem_id, other.mem_id, other.mem_offset) == (1, 3, 0)
    assert sizes(tensor(20, 0, 1), tensor(20, 2, 3), padding=64) == [0, 96]
    assert sizes(tensor(3, 0, 1), tensor(2, 1, 2), alignment=1) == [0, 5]
    assert sizes() == [0, 0]


def test_better_than_buckets():
    # `greedy` takes 48 bytes more: it never divides the place of a tensor that is dead.
    specs = [tensor(64, 0, 2), tensor(32, 1, 5), tensor(96, 3, 5), tensor(64, 6, 7)]
    assert sizes(*specs) == [0, 128]


def test_tensors_inside_others_keep_them_alive():
    base = tensor(64, 0, 2)
    inside = tensor(16, 3, 8, storage_base=base, storage_base_offset=32)
    other = tensor(64, 4, 5)
    assert sizes(base, inside, other) == [0, 128]
    assert inside.mem_offset == base.mem_offset + 32


def test_memory_of_inner_graphs_is_reserved():
    module = empty()
    module.input_mem_buffer_sizes = [0, 128]
    spec = tensor(64, 0, 1)
    assert sizes(spec, module=module) == [0, 192]
    assert spec.mem_offset == 128


def circle():
    one, other = tensor(16, 0, 1), tensor(16, 0, 1)
    one.storage_base, other.storage_base = other, one
    return [one, other]


def inside(size, offset, memory=None):
    base = tensor(64, 0, 1, mem_id=1)
    return [base, tensor(size, 0, 1, storage_base=base, storage_base_offset=offset, mem_id=memory)]


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (lambda: [tensor(4, None, None)], "has no lifetime: no node of the graph uses it"),
        (lambda: [tensor(4, 3, 2)], "ends before it begins"),
        (
            lambda: [tensor(4, 0, 1, mem_id=0)],
            "has mem_id 0; memories that are planned have numbers from",
        ),
        (lambda: [tensor(4, 0, 1, mem_id=-1)], "has mem_id -1"),
        (lambda: [tensor(4, 0, 1, mem_id=1 << 40)], "has mem_id 1099511627776"),
        (lambda: [tensor(4, 0, 1, mem_id="sram")], "has mem_id 'sram'"),
        (circle, "lies inside itself"),
        (lambda: inside(16, 0)[1:], "which is not planned here"),
        (lambda: inside(64, 16), "which has 64 bytes"),
        (lambda: inside(16, -16), r"takes bytes \[-16, 0\)"),
        (lambda: inside(16, 8), "no multiple of the alignment of 16 bytes"),
        (lambda: inside(16, 0, memory=2), "has mem_id 2, but lies inside"),
        (lambda: inside(16, None), "storage_base_offset None is no number of bytes"),
        (lambda: [tensor(4, 0, 1, storage_base="x")], "storage_base 'x' is no tensor"),
        (lambda: [tensor(4, 0, 1, lifetime=None)], "a lifetime has the first and the last node"),
        (lambda: [tensor(4, -1, 1)], "nodes are counted from 0"),
        (lambda: [tensor(4, 0, 1.5)], "nodes are counted from 0"),
        (lambda: [tensor(1 << 61, 0, 1) for _ in range(3)], "no memory has more than"),
    ],
)
def test_contradictions(specs, message):
    with pytest.raises(ValueError, match=message):
        sizes(*specs())


@pytest.mark.parametrize("alignment", [0, -16, 24, 1.5, None])
def test_alignments(alignment):
    with pytest.raises(ValueError, match="the alignment has to be a power of two"):
        sizes(tensor(4, 0, 1), alignment=alignment)


@pytest.mark.slow
def test_options():
    with pytest.raises(ValueError, match='unknown algorithm "best"; known: auto, exact'):
        MemoryPlanning("best")
    for budget in (0, 1.5, "x"):
        with pytest.raises(ValueError, match="work_budget must be a whole number above 0, not"):
            MemoryPlanning(work_budget=budget)
    for in_place in (None, 1, "yes"):
        with pytest.raises(ValueError, match="in_place is True, False or a function, not"):
            MemoryPlanning(in_place=in_place)
    with pytest.raises(ValueError, match="extra_padding is a number of bytes from 0 up, not -1"):
        sizes(tensor(4, 0, 1), padding=-1)
    with pytest.raises(ValueError, match="at most 2147483648 may be"):
        sizes(tensor(4, 0, 1), alignment=1 << 70)
    for algorithm in ("exact", "greedy_by_size", "no_sharing"):
        assert MemoryPlanning(algorithm)(16, [tensor(4, 0, 1)], empty()) == [0, 16]


def test_it_loads_no_tvm():
    ours = ("usmp", "usmp_solver")
    with mock.patch.dict(sys.modules, {"tvm": None, "tvm_ffi": None}):
        for name in [name for name in sys.modules if name.split(".")[0] in ours]:
            del sys.modules[name]
        again = import_module("usmp.integrations.executorch")
        assert again.MemoryPlanning("exact")(16, [], empty()) == [0, 0]


@pytest.fixture
def imported_anew():
    from usmp_solver.integrations.executorch import interface

    return partial(import_again, interface.__file__)


def import_again(path):
    spec = util.spec_from_file_location("interface_again", path)
    spec.loader.exec_module(util.module_from_spec(spec))


def test_a_version_whose_interface_differs(imported_anew, monkeypatch):
    from executorch.exir import memory_planning

    monkeypatch.delattr(memory_planning, "SpecAllocResult")
    monkeypatch.setattr(metadata, "version", lambda name: "1.2.0")
    with pytest.raises(ImportError) as caught:
        imported_anew()
    assert str(caught.value) == (
        "the interface for memory planning of ExecuTorch 1.2.0 is not the one that is known here; "
        "versions >=1.5,<1.6 have it: python -m pip install 'executorch>=1.5,<1.6'"
    )


def test_a_version_that_does_not_load(imported_anew, monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch.exir.control_flow", None)
    with pytest.raises(
        ImportError, match=r"^ExecuTorch 1\.5\.1 cannot be imported: .*control_flow"
    ):
        imported_anew()


def test_no_executorch(imported_anew, monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setitem(sys.modules, "executorch.exir", None)
    with pytest.raises(ImportError) as caught:
        imported_anew()
    assert str(caught.value) == (
        "ExecuTorch is not installed; install it with: python -m pip install 'executorch>=1.5,<1.6'"
    )
