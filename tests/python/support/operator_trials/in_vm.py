"""Trials whose models TVM compiles for this host: what an importer makes of operators, without
lowering, planning and C."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from support.operator_trials.sweep import trial_of
from support.operator_trials.trial import (
    Outcome,
    Trial,
    imported_with_references,
    judged,
)
from support.relax_vm import compiled, load_fixed_point_functions
from usmp.relax.join_models import join_models


def faults_in_vm(front_end: str, operators: Iterable[str], seeds: Iterable[int]) -> dict[str, str]:
    """What is wrong with operators: what one computes, or that none of its trials is compared."""
    seeds = list(seeds)
    names = {f"{operator} {seed}": operator for operator in operators for seed in seeds}
    trials = {
        f"{operator} {seed}": trial_of(front_end, operator, seed)
        for operator in dict.fromkeys(names.values())
        for seed in seeds
    }
    found = outcomes_in_vm(trials)
    faults = {
        f"{name}: {trials[name].description}": result.detail
        for name, result in found.items()
        if result.is_fault
    }
    compared = {names[name] for name, result in found.items() if result.is_compared}
    never = dict.fromkeys(set(names.values()) - compared, "no trial is compared")
    return faults | never


def outcomes_in_vm(trials: Mapping[str, Trial]) -> dict[str, Outcome]:
    """The outcome of each trial of a model without state, by its name, all compiled at once."""
    found, models, expected = imported_with_references(trials)
    if not models:
        return found
    load_fixed_point_functions()
    entries = {name: f"entry{index}" for index, name in enumerate(models)}
    joined = join_models({entries[name]: m for name, m in models.items()}, shared_state=False)
    run = compiled(joined)
    for name, model in models.items():
        params = [str(param.name) for param in model["main"].params]
        actual = [
            run(*(inputs[param] for param in params), name=entries[name])
            for inputs in trials[name].runs
        ]
        found[name] = judged(trials[name], actual, expected[name])
    return found


def outcome_of_program(operators: Iterable[str], seeds: Iterable[int]) -> Outcome:
    """The outcome of one PyTorch program of many operators: to export one takes seconds."""
    from support.operator_trials.pytorch import CASES, trial_of_cases

    seeds = list(seeds)
    cases = [CASES[name](Random(f"{name} {seed}")) for name in operators for seed in seeds]
    cases = [case for case in cases if trial_of_cases("one", [case]).has_reference()]
    return outcomes_in_vm({"program": trial_of_cases("many", cases)})["program"]
