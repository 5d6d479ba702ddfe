"""The element types with which an operator of a front end was compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from support.lazy import lazy
from support.operator_trials.sweep import generators, trial_of
from support.operator_trials.tflite import generators_by_type
from support.operator_trials.trial import NoReferenceError, Outcome, Trial, outcome
from support.tflite_tensors import GraphTensor, graph_tensors

torch = lazy("torch")
pytree = lazy("torch.utils._pytree")
pytorch_trials = lazy("support.operator_trials.pytorch")
Case = lazy("support.operator_trials.pytorch:Case")
trial_of_cases = lazy("support.operator_trials.pytorch:trial_of_cases")
quiet = lazy("usmp.frontend.pytorch.read_program:quiet")

_FLAGS = ("-O0",)
"""As fast to compile as can be."""

_SEEDS_OF_A_TYPE = 6
"""Trials of a TFLite operator on data of one type, until one is compared."""


@dataclass
class Types:
    """Names of element types, as TVM and NumPy have them.

    Parameters
    ----------
    inputs
        of the inputs of models; constants are none.
    outputs
        of the outputs of these models.
    """

    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)

    def has(self, other: Types) -> bool:
        """Whether all types of the other are among these, and there is one."""
        has_any = bool(self.outputs)
        return has_any and other.inputs <= self.inputs and other.outputs <= self.outputs

    def add(self, other: Types) -> None:
        """Take the types of the other too."""
        self.inputs |= other.inputs
        self.outputs |= other.outputs


def compared_types(front_end: str, operator: str, seeds: int) -> Types:
    """The types of those trials of an operator whose results equal those of the reference, or are
    close to them.

    Parameters
    ----------
    seeds
        how many trials are drawn; those with types that were compared already are not compiled.
    """
    if operator not in generators(front_end):
        return Types()
    if front_end == "pytorch":
        return _of_programs(operator, seeds)
    found = Types()
    for trial in _trials(front_end, operator, seeds, found):
        _compare(trial, found)
    return found


def _trials(front_end: str, operator: str, seeds: int, found: Types) -> Iterator[Trial]:
    by_type = generators_by_type(operator) if front_end == "tflite" else {}
    for dtype, generator in by_type.items():
        for seed in range(_SEEDS_OF_A_TYPE):
            if dtype not in found.inputs & found.outputs:
                yield generator(Random(f"{operator} {dtype} {seed}"))
    for seed in range(seeds):
        yield trial_of(front_end, operator, seed)


def _compare(trial: Trial, found: Types) -> None:
    """Add the types of a trial that has others than are found, if it is compared."""
    if trial.front_end == "tflite" and found.has(_types_of_tflite(trial)):
        return
    try:
        expected = trial.expected()
    except NoReferenceError:
        return
    types = Types(_names(trial.runs[0].values()), _names(expected[0]))
    results = iter(expected)
    if not found.has(types):
        trial = replace(trial, reference=lambda inputs: next(results))
        if _is_compared(trial, outcome(trial, _FLAGS)):
            found.add(types)


def _types_of_tflite(trial: Trial) -> Types:
    """As the file says, which takes less time than to run the model."""
    inputs, outputs = graph_tensors(trial.model)
    return Types(_names(inputs), _names(outputs))


def _of_programs(operator: str, seeds: int) -> Types:
    """The types of the cases of a PyTorch operator. Those with new types are tried as one program,
    since to export a program takes longer than to compile it, and alone only if that is refused."""
    drawn = Types()
    chosen: list[tuple[Case, Types]] = []
    for seed in range(seeds):
        case = pytorch_trials.CASES[operator](Random(f"{operator} {seed}"))
        types = _types_of_case(case)
        if types is not None and not drawn.has(types):
            drawn.add(types)
            chosen.append((case, types))
    if _are_compared(operator, [case for case, _ in chosen]):
        return drawn
    found = Types()
    for case, types in chosen:
        if not found.has(types) and _are_compared(operator, [case]):
            found.add(types)
    return found


def _are_compared(operator: str, cases: Sequence[Case]) -> bool:
    trial = trial_of_cases(operator, cases)
    return _is_compared(trial, outcome(trial, _FLAGS))


def _types_of_case(case: Case) -> Types | None:
    """None if PyTorch refuses the case."""
    with torch.no_grad(), quiet():
        try:
            results = pytree.tree_leaves(case.function(*(each.clone() for each in case.inputs)))
        except (RuntimeError, NotImplementedError, IndexError):
            return None
    return Types(_names(case.inputs), _names(results))


def _names(tensors: Iterable[torch.Tensor | np.ndarray | GraphTensor]) -> set[str]:
    return {str(each.dtype).removeprefix("torch.") for each in tensors}


def _is_compared(trial: Trial, result: Outcome) -> bool:
    """Whether the trial was compared.

    Raises
    ------
    ValueError
        its result is wrong.
    """
    if result.is_fault:
        raise ValueError(
            f"{trial.operator}: {result.verdict}: {trial.description}: {result.detail}"
        )
    return result.is_compared
