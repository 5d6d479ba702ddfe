"""One model with inputs and outputs in its workspace, built in many ways: the outputs must be the
same bytes whether operators overwrite what they have read or not.

Each way is a C program, so that sanitisers see all of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.imported_models import imported
from support.quantized_models import QuantizedModel
from support.random_segments import any_segments
from support.tflite_tensors import GraphTensor, extreme_inputs, graph_tensors, random_inputs
from usmp.objects.attributes.module_attributes import OUTPUT_NAMES_ATTR

if TYPE_CHECKING:
    from support.litert import Reference
    from support.micro import Micro

COMPILERS = ("gcc", "clang")
Runs = Sequence[Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Way:
    """How a model is built.

    Parameters
    ----------
    overlap
        whether what is written may overwrite what dies.
    poison
        a debug build, in which dead bytes are overwritten.
    target
        "c" or "llvm".
    compiler, flags
        of the C.
    optimize
        `tir.usmp.optimize`.
    workspace_io
        whether inputs and outputs are in the workspace.
    prune
        whether channels are pruned.
    segments
        seed of the choice of operators that run interleaved; None for none.
    proof
        whether the planner proves that fewer bytes do not suffice, which takes long.
    interleave
        whether operators run in another order, or interleaved, where that takes fewer bytes.
    """

    overlap: bool = True
    poison: bool = False
    target: str = "c"
    compiler: str = "gcc"
    flags: tuple[str, ...] = ("-O2",)
    optimize: str = "ram"
    workspace_io: bool = True
    prune: bool = True
    segments: int | None = None
    proof: bool = True
    interleave: bool = True

    def __str__(self) -> str:
        flags = "sanitizers" if "-g" in self.flags else " ".join(self.flags)
        parts = [self.target, "overlap" if self.overlap else "disjoint"]
        parts += ["poisoned"] * self.poison
        parts += [self.optimize] * (self.optimize != "ram")
        parts += ["own-io"] * (not self.workspace_io) + ["unpruned"] * (not self.prune)
        parts += [] if self.segments is None else [f"streamed{self.segments}"]
        return "-".join([*parts, self.compiler, flags])

    @property
    def factory(self) -> Way:
        """What the build depends on, without the C compiler."""
        return replace(self, compiler="", flags=())


LEVELS = [
    Way(compiler=compiler, flags=(level,))
    for compiler in COMPILERS
    for level in ("-O0", "-O2", "-O3")
]
SANITISED = [
    Way(poison=poison, compiler=compiler, flags=tuple(SANITIZERS))
    for compiler in COMPILERS
    for poison in (False, True)
]
DISJOINT, POISONED = Way(overlap=False), Way(poison=True)
OBJECT_FILE, POISONED_OBJECT_FILE = Way(target="llvm"), Way(target="llvm", poison=True)
ALL = [DISJOINT, POISONED, *LEVELS, *SANITISED, OBJECT_FILE, POISONED_OBJECT_FILE]


def available(ways: Iterable[Way]) -> list[Way]:
    """Those whose C compiler is installed."""
    return [way for way in ways if shutil.which(way.compiler)]


class Matrix:
    """A model, and what it computes when it is built in one way or another.

    Parameters
    ----------
    mod
        the imported model.
    runs
        inputs by name, for one run after the other.
    """

    def __init__(self, mod: IRModule, runs: Runs) -> None:
        self.mod = mod
        self.runs = runs
        self._factories: dict[Way, usmp.AOTExecutorFactoryModule] = {}

    def factory(self, way: Way) -> usmp.AOTExecutorFactoryModule:
        """The model, compiled but for the C."""
        if way.factory not in self._factories:
            passes = {
                "OverlapInputsAndOutputs": way.overlap,
                "PruneConstantChannels": way.prune,
                "StreamOperators": way.interleave,
                "OrderOperators": way.interleave,
            }
            disabled = [name for name, runs in passes.items() if not runs]
            config = {
                "tir.usmp.use_workspace_io": way.workspace_io,
                "tir.usmp.debug": ["poison_dead_bytes"] if way.poison else [],
                "tir.usmp.optimize": way.optimize,
                "tir.usmp.algorithm": "auto" if way.proof else "hill_climb",
            }
            streamed = nullcontext() if way.segments is None else any_segments(way.segments)
            with PassContext(opt_level=3, config=config, disabled_pass=disabled), streamed:
                self._factories[way.factory] = usmp.build(self.mod, way.target)
        return self._factories[way.factory]

    def outputs(self, way: Way) -> bytes:
        """All outputs of all runs, one after the other.

        Raises
        ------
        BuildError
            the C compiler refuses the C.
        subprocess.CalledProcessError
            the program fails, by a sanitiser for instance.
        """
        factory = self.factory(way)
        data = in_order(self.runs, [str(t.info.name) for t in factory.interface.inputs])
        with tempfile.TemporaryDirectory() as directory, _compiler(way.compiler):
            return run_as_program(factory, Path(directory), way.flags, data)

    def expected(self, results: Runs) -> bytes:
        """What a reference computes, as `outputs` has it."""
        return in_order(results, list(map(str, self.mod["main"].attrs[OUTPUT_NAMES_ATTR.name])))

    def failures(self, ways: Iterable[Way], expected: bytes) -> list[str]:
        """The ways that give something else, or nothing at all."""
        failures = []
        for way in ways:
            try:
                outputs = self.outputs(way)
            except (ValueError, RuntimeError, subprocess.CalledProcessError) as error:
                failures.append(f"{way}: {type(error).__name__}: {str(error)[:300]}")
                continue
            if outputs != expected:
                failures.append(f"{way}: other outputs")
        return failures


def random_runs(factory: usmp.AOTExecutorFactoryModule, count: int) -> Runs:
    """Random inputs for so many runs of a model."""
    infos = [tensor.info for tensor in factory.interface.inputs]
    tensors = [
        GraphTensor(str(i.name), tuple(map(int, i.shape)), np.dtype(str(i.dtype)), 0) for i in infos
    ]
    return [random_inputs(tensors, seed) for seed in range(count)]


def model_of_suite(model: QuantizedModel, count: int) -> tuple[Matrix, bytes]:
    """A model of the suite, and what it must compute from random and extreme inputs."""
    content = model.make()
    tensors, _ = graph_tensors(content)
    runs = [*(random_inputs(tensors, seed) for seed in range(count)), *extreme_inputs(tensors)]
    matrix = Matrix(imported(model), runs)
    return matrix, matrix.expected(_results(oracle(model), runs))


def oracle(model: QuantizedModel) -> Micro | Reference:
    """The runtime whose outputs a model must have."""
    from support.litert import Reference
    from support.micro import Micro

    return {"micro": Micro, "litert": Reference}[model.oracle](model.make())


def real_model(path: Path, count: int, plain: Way = DISJOINT) -> tuple[Matrix, bytes]:
    """A model file, and what it must compute from random inputs: what the reference does; the
    plain way, where the reference rounds floats in its own way or lacks an operator."""
    matrix = Matrix(usmp.import_model(path), [])
    factory = matrix.factory(plain)
    matrix.runs = random_runs(factory, count)
    from support.micro import CannotRunError, Micro

    if path.suffix == ".tflite" and all(
        str(tensor.info.dtype) != "float32" for tensor in factory.interface.outputs
    ):
        with suppress(CannotRunError):
            return matrix, matrix.expected(_results(Micro(path), matrix.runs))
    return matrix, matrix.outputs(plain)


def _results(reference: Micro | Reference, runs: Runs) -> Runs:
    return [{n: np.array(v) for n, v in reference.run(inputs).items()} for inputs in runs]


def in_order(tensors: Runs, names: Sequence[str]) -> bytes:
    """The bytes of the tensors of one run after the other."""
    return b"".join(np.ascontiguousarray(run[name]).tobytes() for run in tensors for name in names)


@contextmanager
def _compiler(name: str) -> Iterator[None]:
    before = os.environ.get("CC")
    os.environ["CC"] = name
    try:
        yield
    finally:
        del os.environ["CC"]
        if before is not None:
            os.environ["CC"] = before
