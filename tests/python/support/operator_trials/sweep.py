"""Trials of every operator of a front end, and the table of what became of them."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from support.operator_trials.trial import (
    C_FLAGS,
    ENDINGS,
    Generator,
    Outcome,
    Trial,
    outcome,
    outcome_of_mutant,
    outcomes,
)

FRONT_ENDS = tuple(ENDINGS)
VERDICTS = ("equal", "close", "refused", "wrong", "crash", "taken", "no reference")


def generators(front_end: str) -> Mapping[str, Generator]:
    """By the name of the operator, what makes a trial of it with random attributes."""
    return importlib.import_module(f"support.operator_trials.{front_end}").GENERATORS


def operators(front_end: str) -> list[str]:
    """The names of the operators that the front end accepts."""
    module = importlib.import_module(f"support.operator_trials.{front_end}")
    return sorted(module.registered_operators())


def never_compared(front_end: str) -> list[str]:
    """The operators that the front end accepts and of which no trial is made."""
    known = generators(front_end)
    return [operator for operator in operators(front_end) if operator not in known]


def trial_of(front_end: str, operator: str, seed: int) -> Trial:
    """The same trial whenever it is made."""
    return generators(front_end)[operator](Random(f"{operator} {seed}"))


def faults_of(
    front_end: str, operators: Iterable[str], flags: Sequence[str], least: int = 1, most: int = 24
) -> dict[str, str]:
    """What is wrong with operators: what one computes, or that none of its trials is compared.

    Parameters
    ----------
    least, most
        how many trials of each: `least`, and more until one was compared.
    """
    faults: dict[str, str] = {}
    compared: set[str] = set()
    pending = list(operators)
    for seed in range(most):
        trials = {operator: trial_of(front_end, operator, seed) for operator in pending}
        for operator, result in outcomes(trials, flags).items():
            if result.is_fault:
                description = trials[operator].description
                faults[operator] = f"seed {seed}: {description}: {result.detail}"
            elif result.is_compared:
                compared.add(operator)
        pending = [
            operator
            for operator in pending
            if operator not in faults and (seed + 1 < least or operator not in compared)
        ]
        if not pending:
            break
    return faults | {operator: f"no trial of {most} is compared" for operator in pending}


@dataclass
class Row:
    """What became of the trials of one operator."""

    operator: str
    verdicts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    """Messages, and how often each came."""

    def add(self, seed: int, trial: Trial, result: Outcome) -> None:
        self.verdicts[result.verdict] += 1
        if result.is_fault:
            what = f"seed {seed}: {result.verdict}: {trial.description}\n      {result.detail}"
            self.faults.append(what)
        if result.verdict == "refused":
            self.refusals[result.detail] += 1


def sweep(
    front_end: str,
    operators: Iterable[str],
    seeds: Sequence[int],
    flags: Sequence[str] = C_FLAGS,
    is_mutated: bool = False,
) -> Iterator[Row]:
    """One row an operator, with a trial of each seed; or with one number of each trial changed, of
    those that have any."""
    for operator in operators:
        row = Row(operator)
        for seed in seeds:
            trial = trial_of(front_end, operator, seed)
            if not is_mutated:
                row.add(seed, trial, outcome(trial, flags))
                continue
            mutants = importlib.import_module("support.operator_trials.onnx.mutants")
            mutant = mutants.mutant_of(trial, Random(f"mutant of {operator} {seed}"))
            if mutant is not None:
                row.add(seed, mutant, outcome_of_mutant(mutant, flags))
        yield row
