"""Models of one operator whose kernels must compute what the operator does, in no more memory."""

from __future__ import annotations

import pytest

from support.built_ways import Matrix, Way, available, model_of_suite
from support.c_program import SANITIZERS, sanitizing_compiler
from support.quantized_models import CATALOG
from usmp.objects.cores import CORES
from usmp.ops.kernels import select


def catalog_model(name: str) -> tuple[Matrix, bytes]:
    """A model of the catalog, and its outputs on three inputs."""
    return model_of_suite(next(model for model in CATALOG if model.name == name), 3)


def source_of(matrix: Matrix, way: Way) -> str:
    """The C of a model."""
    files = matrix.factory(way).files()
    return next(content for path, content in files.items() if path.endswith("lib0.c")).decode()


def check_kernel(name: str, core: str, schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of the catalog has the schedule, the bytes of the reference runtime with outputs over
    inputs, in C and by the loops that analyses see, and the peak that it has without kernels."""
    matrix, expected = catalog_model(name)
    compiler = sanitizing_compiler()
    way = Way(target=f"c -mcpu={core}", poison=True, compiler=compiler, flags=tuple(SANITIZERS))
    assert matrix.failures(available([way]), expected) == []
    assert schedule in source_of(matrix, way)
    with monkeypatch.context() as patch:
        patch.setattr("usmp.aot_pipeline.core_of", lambda _: CORES[core])
        assert matrix.failures([Way(target="llvm")], expected) == []
    peak = matrix.factory(way).interface.workspace_size_bytes
    with monkeypatch.context() as patch:
        patch.setattr(select, "_KERNELS", ())
        without = Matrix(matrix.mod, matrix.runs)
        assert peak <= without.factory(way).interface.workspace_size_bytes
