"""One operator with its attributes and inputs, what a reference computes for it, and what becomes
of it here."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

import numpy as np
from tvm.ir import IRModule

import usmp
from usmp.codegen.c.types import UnsupportedInC
from usmp.runtime import HostModule

ENDINGS = {"onnx": ".onnx", "tflite": ".tflite", "pytorch": ".pt2"}
C_FLAGS = ("-O1",)
RUN_SECONDS = 60
LONGEST_MESSAGE = 1000

T = TypeVar("T")
Inputs = Mapping[str, np.ndarray]
Results = Sequence[np.ndarray]
Verdict = Literal["equal", "close", "refused", "wrong", "crash", "taken", "no reference"]


class NoReferenceError(Exception):
    """The reference does not know this operator with these types or attributes."""


@dataclass(frozen=True)
class Tolerance:
    """How far a float may be from the reference: both bounds added, as in `numpy.isclose`.

    Integers and booleans are always exact. NaN must be where the reference has it, and nowhere
    else; with `nan_is_free` anything may be where the reference has NaN.
    """

    relative: float = 1e-5
    absolute: float = 1e-6
    nan_is_free: bool = False


CLOSE, EXACT = Tolerance(), Tolerance(0, 0)


@dataclass(frozen=True, eq=False)
class Trial:
    """A model of one operator.

    Parameters
    ----------
    front_end
        "onnx", "tflite" or "pytorch".
    operator
        the name by which the front end knows it.
    description
        attributes, types and shapes, as a person reads them.
    model
        the content of the file.
    runs
        the inputs of each run, by name; state, if there is any, is kept from one to the next.
    reference
        the outputs of one run, in the order of the model; raises `NoReferenceError`.
    tolerance
        how far floats may be apart.
    """

    front_end: str
    operator: str
    description: str
    model: bytes
    runs: Sequence[Inputs]
    reference: Callable[[Inputs], Results]
    tolerance: Tolerance = CLOSE

    def expected(self) -> list[Results]:
        """The reference's outputs of each run; raises `NoReferenceError`."""
        return [list(self.reference(inputs)) for inputs in self.runs]

    def has_reference(self) -> bool:
        """Whether the reference has outputs of all runs."""
        try:
            self.expected()
        except NoReferenceError:
            return False
        return True


Generator = Callable[[Random], Trial]


@dataclass(frozen=True)
class Outcome:
    """What became of a trial.

    `equal`: every element is the reference's. `close`: floats are within the tolerance. `refused`:
    an error of one line for the user. `wrong`: an element, a shape or a type is another. `crash`:
    anything else, a C program that does not compile or ends by a signal included. `taken`: a model
    that is not valid, which the reference refuses. `no reference`: there is nothing to compare
    with.
    """

    verdict: Verdict
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        return self.verdict in ("wrong", "crash", "taken")

    @property
    def is_compared(self) -> bool:
        return self.verdict in ("equal", "close")


def outcome(trial: Trial, flags: Sequence[str] = C_FLAGS) -> Outcome:
    """Compile the model, build its C with `flags`, run it and compare."""
    try:
        expected = trial.expected()
    except NoReferenceError as error:
        return Outcome("no reference", str(error))
    module = _built(trial, flags)
    return module if isinstance(module, Outcome) else _compared(trial, module, expected)


def imported_with_references(
    trials: Mapping[str, Trial],
) -> tuple[dict[str, Outcome], dict[str, IRModule], dict[str, list[Results]]]:
    """What can be compared: by name of a trial, its model and the results of the reference; and in
    front, the outcomes of those that cannot."""
    found: dict[str, Outcome] = {}
    models: dict[str, IRModule] = {}
    expected: dict[str, list[Results]] = {}
    for name, trial in trials.items():
        try:
            results = trial.expected()
        except NoReferenceError as error:
            found[name] = Outcome("no reference", str(error))
            continue
        model = imported_or_refused(trial)
        if isinstance(model, Outcome):
            found[name] = model
        else:
            models[name], expected[name] = model, results
    return found, models, expected


def outcomes(trials: Mapping[str, Trial], flags: Sequence[str] = C_FLAGS) -> dict[str, Outcome]:
    """The outcome of each trial, by its name, all of them as entries of one C program.

    If that cannot be built, or ends by a signal, each of them is tried in a program of its own.
    """
    found, models, expected = imported_with_references(trials)
    entries = {name: f"entry{index}" for index, name in enumerate(models)}
    module = _unless_refused(
        lambda: _host_module(usmp.build({entries[name]: m for name, m in models.items()}), flags)
    )

    def run() -> dict[str, list[Results]]:
        assert isinstance(module, HostModule)
        return {
            name: [list(module.run(inputs, entry=entry).values()) for inputs in trials[name].runs]
            for name, entry in entries.items()
        }

    actual = "" if isinstance(module, Outcome) else _in_child(run)
    for name, model in models.items():
        if not isinstance(actual, str):
            found[name] = judged(trials[name], actual[name], expected[name])
            continue
        alone = _unless_refused(lambda model=model: _host_module(usmp.build(model), flags))
        is_built = not isinstance(alone, Outcome)
        found[name] = _compared(trials[name], alone, expected[name]) if is_built else alone
    return {name: found[name] for name in trials}


def outcome_of_mutant(trial: Trial, flags: Sequence[str] = C_FLAGS) -> Outcome:
    """The same of a model that may be invalid: it must be refused if the reference refuses it, and
    nothing of it may end this process."""

    def judged() -> Outcome:
        module = _built(trial, flags)
        if isinstance(module, Outcome):
            return module
        try:
            expected = trial.expected()
        except NoReferenceError as error:
            is_unknown = "NOT_IMPLEMENTED" in str(error)
            return Outcome("no reference" if is_unknown else "taken", str(error))
        return _compared(trial, module, expected)

    result = _in_child(judged, "the compiler")
    return Outcome("crash", result) if isinstance(result, str) else result


def _built(trial: Trial, flags: Sequence[str]) -> HostModule | Outcome:
    """The program of a model, or how it is refused."""
    return _unless_refused(lambda: _host_module(usmp.build(_imported(trial)), flags))


def _unless_refused(make: Callable[[], T]) -> T | Outcome:
    """What is made, or how it is refused."""
    try:
        return make()
    except (usmp.UnsupportedModelError, UnsupportedInC) as error:
        return _refusal(str(error))
    except Exception as error:
        return Outcome("crash", f"{type(error).__name__}: {error}")


def _compared(trial: Trial, module: HostModule, expected: Sequence[Results]) -> Outcome:
    """What became of a program whose outputs are known."""
    actual = _in_child(lambda: [list(module.run(inputs).values()) for inputs in trial.runs])
    if isinstance(actual, str):
        return Outcome("crash", actual)
    return judged(trial, actual, expected)


def judged(trial: Trial, actual: Sequence[Results], expected: Sequence[Results]) -> Outcome:
    """What became of a trial, by what was computed and what the reference computes."""
    verdict: Verdict = "equal"
    for run, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        compared = compare(ours, theirs, trial.tolerance)
        if compared.is_fault:
            return Outcome("wrong", f"run {run}, {compared.detail}")
        verdict = compared.verdict if compared.verdict != "equal" else verdict
    return Outcome(verdict)


def imported_or_refused(trial: Trial) -> IRModule | Outcome:
    """The model as a module of Relax, or how it is refused."""
    return _unless_refused(lambda: _imported(trial))


def _imported(trial: Trial) -> IRModule:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{ENDINGS[trial.front_end]}"
        path.write_bytes(trial.model)
        try:
            return usmp.import_model(path)
        except usmp.UnsupportedModelError as error:
            raise usmp.UnsupportedModelError(str(error).removeprefix(f"{path}: ")) from error


def _host_module(factory: usmp.AOTExecutorFactoryModule, flags: Sequence[str]) -> HostModule:
    return HostModule(factory.files(), factory.metadata["modules"]["default"], flags)


def _refusal(message: str) -> Outcome:
    """A refusal, if the message is one for a user."""
    if "\n" in message or not 0 < len(message) < LONGEST_MESSAGE:
        return Outcome("crash", f"unclear message: {message}")
    return Outcome("refused", message)


def _in_child(compute: Callable[[], T], name: str = "the C program") -> T | str:
    """What is computed in a process of its own, or what that process came to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result"
        child = os.fork()
        if child == 0:
            signal.alarm(RUN_SECONDS)
            try:
                result: T | str = compute()
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
            path.write_bytes(pickle.dumps(result))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"{name} ends by {signal.Signals(-code).name}"
        return pickle.loads(path.read_bytes())


def compare(ours: Results, theirs: Results, tolerance: Tolerance) -> Outcome:
    """Whether outputs equal those of the reference, are close to them, or are wrong."""
    if len(ours) != len(theirs):
        return Outcome("wrong", f"{len(ours)} outputs, not {len(theirs)}")
    verdict: Verdict = "equal"
    for number, (mine, value) in enumerate(zip(ours, theirs, strict=True)):
        if (mine.dtype, mine.shape) != (value.dtype, value.shape):
            what = f"{mine.dtype}{list(mine.shape)}, not {value.dtype}{list(value.shape)}"
            return Outcome("wrong", f"output {number} is {what}")
        same = _same(mine, value)
        if same.all():
            continue
        verdict, near = "close", same | _near(mine, value, tolerance)
        if not near.all():
            at = tuple(int(i) for i in np.argwhere(~near)[0])
            return Outcome(
                "wrong",
                f"output {number}: {np.count_nonzero(~near)} of {near.size} elements differ, first "
                f"at {list(at)}: {mine[at]}, not {value[at]}",
            )
    return Outcome(verdict)


def _same(mine: np.ndarray, value: np.ndarray) -> np.ndarray:
    same = mine == value
    return same | (np.isnan(mine) & np.isnan(value)) if value.dtype.kind == "f" else same


def _near(mine: np.ndarray, value: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    if value.dtype.kind != "f":
        return np.zeros(value.shape, bool)
    near = np.isclose(mine, value, tolerance.relative, tolerance.absolute)
    return near | np.isnan(value) if tolerance.nan_is_free else near
