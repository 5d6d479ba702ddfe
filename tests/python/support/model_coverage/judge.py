"""Compile a model file, run it, and compare it with its own runtime, in a process of its own."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

import usmp
from support.model_coverage.case import Case
from support.model_coverage.references import Run, entry_reference, references
from support.operator_trials.trial import NoReferenceError, Tolerance, compare
from usmp.codegen.c.types import UnsupportedInC
from usmp.runtime import HostModule

Verdict = Literal["equal", "close", "different", "refused", "crash", "no reference", "timeout"]
VERDICTS: tuple[Verdict, ...] = (
    "equal",
    "close",
    "different",
    "refused",
    "crash",
    "timeout",
    "no reference",
)
FAULTS = frozenset({"different", "crash", "timeout"})
"""What nobody may see of a model that is correct."""

_RELATIVE = 1e-3
_LARGEST_INDEX = 9
"""Integers of 32 and 64 bits are mostly indices into tables."""


@dataclass(frozen=True)
class Judged:
    """What became of a model file.

    `equal`: every element is the reference's. `close`: floats differ by less than a thousandth of
    the largest, or, where the file has outputs with it, of each. `different`: something else.
    `refused`: an error for the user. `crash`: any other error, or a signal. `no reference`: it
    compiled and ran, and no runtime here takes the file.
    """

    case: Case
    verdict: Verdict
    detail: str = ""
    reference: str = ""
    seconds: float = 0.0
    workspace_bytes: int = 0


def judge(case: Case, runs: int, seconds: int) -> Judged:
    """Compare `runs` runs on random inputs, or those that lie beside the file; `seconds` is the
    longest that it may take."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path, errors = Path(folder) / "result", Path(folder) / "stderr"
        child = os.fork()
        if child == 0:
            _redirect(errors)
            signal.alarm(seconds)
            path.write_bytes(pickle.dumps(_judged(case, runs, path)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        result = pickle.loads(path.read_bytes()) if path.exists() else "it started"
    took = time.monotonic() - start
    if isinstance(result, Judged):
        return Judged(**{**result.__dict__, "seconds": took})
    ended = signal.Signals(-code).name if code < 0 else f"status {code}"
    verdict: Verdict = "timeout" if code == -signal.SIGALRM else "crash"
    return Judged(case, verdict, f"{ended} when {result}", seconds=took)


def _redirect(errors: Path) -> None:
    """Runtimes write what they think of a file to the outputs of the process."""
    descriptor = os.open(errors, os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def _judged(case: Case, runs: int, stage: Path) -> Judged:
    def enter(what: str) -> None:
        stage.write_bytes(pickle.dumps(what))

    try:
        enter("it was compiled here")
        factory = usmp.build(usmp.import_model(case.path))
        module = HostModule(factory.files(), factory.metadata["modules"]["default"], ("-O1",))
    except (usmp.UnsupportedModelError, UnsupportedInC) as error:
        return Judged(case, "refused", str(error).removeprefix(f"{case.path}: "))
    except Exception as error:
        return Judged(case, "crash", f"{type(error).__name__}: {error}")
    size = factory.interface.workspace_size_bytes
    try:
        return _compared(case, module, runs, size, enter)
    except NoReferenceError as error:
        return Judged(case, "no reference", str(error), workspace_bytes=size)
    except Exception as error:
        return Judged(case, "crash", f"{type(error).__name__}: {error}", workspace_bytes=size)


def _compared(
    case: Case, module: HostModule, runs: int, size: int, enter: Callable[[str], None]
) -> Judged:
    enter("its C ran")
    inputs, ours = [], []
    for entry in module.entries:
        for given in _inputs(case, module, entry, runs):
            inputs.append((entry, given))
            ours.append(module.run(given, entry))
    enter("its own runtime ran it")
    name, theirs = _expected(case, inputs, ours)
    verdict: Verdict = "equal"
    for run, (mine, value) in enumerate(zip(ours, theirs, strict=True)):
        outcome = compare(list(mine.values()), value, _tolerance(case, value))
        if outcome.is_fault:
            detail = f"run {run}, {outcome.detail}"
            return Judged(case, "different", detail, name, workspace_bytes=size)
        verdict = "close" if outcome.verdict == "close" else verdict
    return Judged(case, verdict, "", name, workspace_bytes=size)


def _inputs(
    case: Case, module: HostModule, entry: str, runs: int
) -> Iterator[dict[str, np.ndarray]]:
    tensors = module.entries[entry].inputs
    for data in case.data:
        yield dict(zip(tensors, data.inputs, strict=True))
    for seed in range(0 if case.data else runs):
        generator = np.random.default_rng(seed)
        yield {
            name: _random_array(generator, np.dtype(str(tensor["dtype"])), list(tensor["shape"]))
            for name, tensor in tensors.items()
        }


def _expected(
    case: Case,
    inputs: Sequence[tuple[str, Mapping[str, np.ndarray]]],
    ours: Sequence[Mapping[str, np.ndarray]],
) -> tuple[str, list[list[np.ndarray]]]:
    """What the file brings, or what the first runtime computes that takes it; and who says so."""
    if case.data:
        return "its own data", [list(data.outputs) for data in case.data]
    if len({entry for entry, _ in inputs}) > 1:
        entries = {entry: entry_reference(case.path, entry) for entry, _ in inputs}
        found = [entries[entry](given) for entry, given in inputs]
        outputs = zip(ours, found, strict=True)
        return "LiteRT", [[theirs[name] for name in mine] for mine, theirs in outputs]
    reasons = []
    for name, load in references(case.path):
        try:
            run: Run = load()
            return name, [run(list(given.values())) for _, given in inputs]
        except Exception as error:
            reasons.append(f"{name}: {' '.join(str(error).split())[:200]}")
    raise NoReferenceError("; ".join(reasons))


def _tolerance(case: Case, outputs: Sequence[np.ndarray]) -> Tolerance:
    if case.data:
        return Tolerance(_RELATIVE, 1e-7)
    floats = [value[np.isfinite(value)] for value in outputs if value.dtype.kind == "f"]
    largest = max((float(np.abs(value).max()) for value in floats if value.size), default=0.0)
    return Tolerance(0, _RELATIVE * largest)


def _random_array(
    generator: np.random.Generator, dtype: np.dtype, shape: Sequence[int]
) -> np.ndarray:
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.itemsize >= 4:
        return generator.integers(0, _LARGEST_INDEX, shape, dtype, endpoint=True)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
