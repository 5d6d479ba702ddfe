"""Models of one operator whose kernels must compute what the operator does, in no more memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from unittest import mock

from tvm.ir import IRModule

from support.built_ways import Matrix, Way, available, model_of_suite
from support.c_program import SANITIZERS
from support.imported_models import imported_model
from support.kernel_collection import paused
from support.quantized_models import CATALOG
from support.relax_passes import passes_until
from usmp.aot.kernel_checks.kernel_body import KernelBody
from usmp.aot.kernel_checks.verify_kernels import kernel_differences
from usmp.aot.transform import select_kernels
from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops.kernels import select
from usmp.tir.tensor_intrin import without_intrinsics


def catalog_model(name: str) -> tuple[Matrix, bytes]:
    """A model of the catalog, and its outputs on three inputs."""
    return model_of_suite(next(model for model in CATALOG if model.name == name), 3)


def kernel_bodies(mod: IRModule, core: str) -> list[KernelBody]:
    """All bodies of the kernels that are selected for the operators of a Relax module."""
    target = CORES.get(core, PORTABLE)
    mod = passes_until("usmp.CheckIterations", f"c -mcpu={core}")(mod)
    with paused():
        return select_kernels._bodies(select_kernels._selected(mod, target), target)


def differences(bodies: Iterable[KernelBody]) -> list[str]:
    """What kernels compute other than their operators: by the functions that C calls, and by the
    loops that analyses and LLVM see."""
    both = [b for body in bodies for b in (body, _loops(body))]
    return list(map(str, kernel_differences(both)))


def _loops(body: KernelBody) -> KernelBody:
    operator = replace(body.operator, title=f"the loops of {body.operator.title}")
    return replace(body, operator=operator, func=without_intrinsics(body.func))


def check_functions_and_loops(cases: Iterable[tuple[str, str]]) -> None:
    """Models of the catalog, each for a core, have kernels, which compute what their operators do.
    One C program compares all of them."""
    bodies = []
    for name, core in cases:
        found = kernel_bodies(imported_model(name), core)
        assert found, f"{name} has no kernel for {core}"
        bodies += [replace(b, operator=replace(b.operator, title=name)) for b in found]
    assert differences(bodies) == []


def check_schedule(name: str, core: str, schedule: str) -> None:
    """A model of the catalog has the schedule, and no larger peak than it has without kernels."""
    way = Way(target=f"c -mcpu={core}")
    factory = Matrix(imported_model(name), []).factory(way)
    assert schedule in factory.source
    assert factory.interface.workspace_size_bytes <= _bytes_without_kernels(name)


@cache
def _bytes_without_kernels(name: str) -> int:
    with mock.patch.object(select, "_KERNELS", ()):
        factory = Matrix(imported_model(name), []).factory(Way())
    return factory.interface.workspace_size_bytes


def check_outputs(name: str, core: str) -> str:
    """A model of the catalog has the bytes of the reference runtime, with outputs over inputs and
    everything dead overwritten; its C. `gcc` takes less than `clang` for programs that small."""
    matrix, expected = catalog_model(name)
    way = Way(target=f"c -mcpu={core}", poison=True, flags=tuple(SANITIZERS))
    assert matrix.failures(available([way]), expected) == []
    return matrix.factory(way).source
