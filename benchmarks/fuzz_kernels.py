"""Compare operators with a reference, byte for byte, with the kernels of every core.

    python benchmarks/fuzz_kernels.py [--graphs N] [--first SEED] [--ways N]
    python benchmarks/fuzz_kernels.py --chains [--graphs N] [--first SEED] [--ways N]
    python benchmarks/fuzz_kernels.py --pairs [--part I/N] [--ways N]
    python benchmarks/fuzz_kernels.py --suite [--part I/N] [--ways N]
    python benchmarks/fuzz_kernels.py --board NAME [--suite] ...

The models are random graphs of int8 operators (from consecutive seeds), random chains of functions
after a kernel, all pairs of functions after each kernel, or the models with one operator. Each is
built in several random ways: for any core (by the portable bodies of its functions, or by LLVM from
the loops that analyses see), with and without overlap, for any goal, with inputs and outputs in the
workspace or not, with dead bytes overwritten, with operators interleaved, by gcc or clang, mostly
with AddressSanitizer and UndefinedBehaviorSanitizer. All outputs, even for extreme inputs, must
equal those of TFLite Micro's reference kernels, or LiteRT's. With --board, the models run on that
emulated board instead, with the functions of its core. Print the models and ways that fail.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from tvm.ir.transform import PassContext
from tvm.target import Target

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

import usmp
import usmp.aot_pipeline
from support.board_programs import run_models
from support.built_ways import Matrix, Way, in_order
from support.c_program import SANITIZERS
from support.kernel_chains import FUNCTIONS, KERNELS, Branch, chains_trial, random_chains
from support.litert import Reference
from support.micro import Micro
from support.operator_trials.tflite.draw import NoReferenceError
from support.operator_trials.trial import Trial
from support.quantized_models import CATALOG
from support.random_kernels import kernel_trial
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.boards.board import BOARDS, Board, board_named
from usmp.codegen.c.types import UnsupportedInC
from usmp.names import OPTIMIZE
from usmp.objects.target.cores import core_of

Runs = Sequence[Mapping[str, np.ndarray]]
_IN_ONE_PROGRAM = 12
_CORES = {
    "mps2-an385": "cortex-m3",
    "mps2-an386": "cortex-m4",
    "mps2-an500": "cortex-m7",
    "mps2-an505": "cortex-m33",
    "mps3-an547": "cortex-m55",
}
_SANITISED = tuple(SANITIZERS)
_FLAGS = (("-O0",), ("-O2",), ("-O3",), ("-Os",), ("-O3", "-march=native"))


@dataclass(frozen=True)
class Case:
    """A model file, with the inputs and expected outputs of each run."""

    name: str
    content: bytes
    runs: Runs
    expected: Runs


def main() -> None:
    """Build, run and compare; fail if any output differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=200, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--chains", action="store_true", help="functions behind kernels")
    source.add_argument("--pairs", action="store_true", help="each pair of them behind each kernel")
    source.add_argument("--suite", action="store_true", help="the models of one operator")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th of these models")
    parser.add_argument("--ways", type=int, default=2, metavar="N", help="of each model (2)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more after")
    parser.add_argument("--board", choices=[board.name for board in BOARDS])
    options = parser.parse_args()
    start, verdicts = time.monotonic(), Counter[str]()
    batch: list[Case] = []
    for case in cases_of(options):
        if time.monotonic() - start > options.seconds:
            break
        if isinstance(case, str):
            verdicts["models without a reference"] += 1
            continue
        verdicts["models"] += 1
        if options.board:
            batch.append(case)
            if len(batch) == _IN_ONE_PROGRAM:
                run_batch(board_named(options.board), batch, verdicts)
                batch = []
            continue
        ways = random_ways(Random(case.name), options.ways)
        for way, failure in failures(case, ways, verdicts):
            verdicts["failed"] += 1
            print(f"{case.name}: FAILED: {way}: {failure}", flush=True)
    if batch:
        run_batch(board_named(options.board), batch, verdicts)
    print(f"{dict(verdicts)}, {time.monotonic() - start:.0f} s", flush=True)
    sys.exit(1 if verdicts["failed"] else 0)


def cases_of(options: argparse.Namespace) -> Iterator[Case | str]:
    """Yield the cases to compare, or the reason why no reference runs a graph."""
    if options.suite:
        yield from suite(options.part)
        return
    begin, step = map(int, options.part.split("/"))
    seeds = range(options.first, options.first + options.graphs)
    if options.pairs:
        heads = list(product(KERNELS, FUNCTIONS))[begin - 1 :: step]
        drawn = ((" ".join(head), pairs_behind(*head)) for head in heads)
    elif options.chains:
        drawn = ((f"seed {seed}", random_chains(Random(f"chains {seed}"))) for seed in seeds)
    else:
        drawn = ((f"seed {seed}", kernel_trial(Random(f"kernels {seed}"))) for seed in seeds)
    for name, trial in drawn:
        yield case_of(name, trial)


def pairs_behind(kernel: str, first: str) -> Trial:
    """Return a trial of a kernel, then one function, then each of all functions."""
    random = Random(f"pairs {kernel} {first}")
    branches = [Branch(kernel, (first, second)) for second in FUNCTIONS]
    return chains_trial(random, (1, 4, 5, 16), branches)


def case_of(name: str, made: Trial) -> Case | str:
    """Return the case of a trial with the reference's outputs, or the reason if there are none."""
    names = [tensor.name for tensor in graph_tensors(made.model)[1]]
    try:
        results = [made.reference(run) for run in made.runs]
    except NoReferenceError as error:
        return str(error)
    expected = [dict(zip(names, result, strict=True)) for result in results]
    return Case(f"{name} {made.description}", made.model, made.runs, expected)


def suite(part: str) -> Iterator[Case]:
    """Yield the models of one operator."""
    begin, step = map(int, part.split("/"))
    for model in CATALOG[begin - 1 :: step]:
        content = model.make()
        tensors, _ = graph_tensors(content)
        runs = [*(random_inputs(tensors, seed) for seed in range(3)), *extreme_inputs(tensors)]
        oracle = {"micro": Micro, "litert": Reference}[model.oracle](content)
        results = [{n: np.array(v) for n, v in oracle.run(run).items()} for run in runs]
        yield Case(model.name, content, runs, results)


def random_ways(random: Random, count: int) -> list[Way]:
    """Return random ways, with as many different cores as possible."""
    kinds = ["", "cortex-m3", "cortex-m4", "cortex-m55"]
    alike = {
        "": ["cortex-m0", "cortex-m0plus", "cortex-m23"],
        "cortex-m4": ["cortex-m7", "cortex-m33"],
        "cortex-m55": ["cortex-m85", "cortex-m55+nomve.fp", "cortex-m85+nomve"],
    }
    chosen = []
    for kind in random.sample(kinds * -(-count // len(kinds)), count):
        core = random.choice(alike[kind]) if kind in alike and random.random() < 0.2 else kind
        sanitised = random.random() < 0.7
        way = Way(
            overlap=random.random() < 0.8,
            poison=random.random() < 0.6,
            target=f"c -mcpu={core}" if core else "c",
            compiler=random.choice(("gcc", "clang")),
            flags=_SANITISED if sanitised else random.choice(_FLAGS),
            optimize=random.choice([*OPTIMIZE]),
            workspace_io=random.random() < 0.7,
            prune=random.random() < 0.8,
            segments=random.randrange(100) if random.random() < 0.4 else None,
        )
        loops = random.random() < 0.1
        chosen.append(replace(way, target=f"llvm {core}", flags=("-O2",)) if loops else way)
    return chosen


def failures(case: Case, ways: Sequence[Way], verdicts: Counter[str]) -> Iterator[tuple[Way, str]]:
    """Yield the ways with other outputs or an error, and the failure."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.tflite"
        path.write_bytes(case.content)
        try:
            matrix = Matrix(usmp.import_model(path), case.runs)
        except usmp.UnsupportedModelError:
            verdicts["models refused"] += 1
            return
    for way in ways:
        try:
            with loops_of(way) as built:
                names = [str(t.info.name) for t in matrix.factory(built).interface.outputs]
                outputs = matrix.outputs(built)
        except (usmp.UnsupportedModelError, UnsupportedInC):
            verdicts["programs refused"] += 1
            continue
        except (ValueError, RuntimeError, subprocess.CalledProcessError) as error:
            yield way, f"{type(error).__name__}: {str(error)[-600:]}"
            continue
        verdicts["programs"] += 1
        if outputs != in_order(case.expected, names):
            yield way, "other outputs"


def run_batch(board: Board, cases: Sequence[Case], verdicts: Counter[str]) -> None:
    """Run several models in one program on a board, and print those whose outputs differ."""
    built = []
    with tempfile.TemporaryDirectory() as directory:
        for case in cases:
            factory = built_for(board, case, f"m{len(built)}", Path(directory) / "model.tflite")
            if factory is None:
                verdicts["models refused"] += 1
            else:
                built.append((case, factory))
        models = [(factory, case.runs) for case, factory in built]
        try:
            outputs = run_models(board, models, Path(directory) / "program")
        except (ValueError, RuntimeError, AssertionError) as error:
            verdicts["failed"] += 1
            names = [case.name for case, _ in built]
            print(f"{names}: FAILED: {board.name}: {str(error)[-600:]}", flush=True)
            return
    for (case, _), results in zip(built, outputs, strict=True):
        verdicts["programs"] += 1
        names = list(case.expected[0])
        if in_order(results, names) != in_order(case.expected, names):
            verdicts["failed"] += 1
            print(f"{case.name}: FAILED: {board.name}: other outputs", flush=True)


def built_for(
    board: Board, case: Case, name: str, path: Path
) -> usmp.AOTExecutorFactoryModule | None:
    """Build a model for a board with random options; return None if it is refused."""
    random = Random(case.name)
    disabled = [] if random.random() < 0.8 else ["OverlapInputsAndOutputs"]
    path.write_bytes(case.content)
    config = {
        "tir.usmp.use_workspace_io": True,
        "tir.usmp.debug": ["poison_dead_bytes"] if random.random() < 0.5 else [],
        "tir.usmp.optimize": random.choice([*OPTIMIZE]),
    }
    target = f"c -mcpu={_CORES[board.name]}" if board.name in _CORES else "c"
    try:
        with PassContext(opt_level=3, config=config, disabled_pass=disabled):
            return usmp.build(usmp.import_model(path), target, module_name=name, board=board)
    except (usmp.UnsupportedModelError, UnsupportedInC):
        return None


@contextmanager
def loops_of(way: Way) -> Iterator[Way]:
    """Yield the way to build; for LLVM, select the kernels of the core in its target."""
    kind, *core = way.target.split()
    if kind == "c":
        yield way
        return

    def of_core(_: Target | None) -> object:
        return core_of(Target({"kind": "c", "mcpu": core[0]}) if core else None)

    usmp.aot_pipeline.core_of, before = of_core, usmp.aot_pipeline.core_of
    try:
        # Remove the core, because `usmp.build` does not know a target such as "llvm cortex-m4".
        yield replace(way, target="llvm")
    finally:
        usmp.aot_pipeline.core_of = before


if __name__ == "__main__":
    main()
