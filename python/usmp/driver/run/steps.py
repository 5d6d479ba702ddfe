"""`tvmc run --steps`: several runs, one after the other, with what the model keeps between them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.whole_number import whole_number
from usmp.support.plain_text import shown

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import HostEntry

_MOST_STEPS = 1_000_000


def add_steps_option(group: Any) -> None:
    """Add the option."""
    group.add_argument(
        "--steps",
        type=whole_number(1, _MOST_STEPS),
        metavar="N",
        help="run the model N times, and keep its state from one run to the next: arrays of "
        "--inputs may have an axis of N steps in front, and those of --outputs have it; an input "
        "that runs update, and that has no such axis, is what the step before left",
    )


def check_steps_option(options: argparse.Namespace) -> None:
    """Refuse what is about one run.

    Raises
    ------
    UsageError
        `--steps` with a profile, or on a device.
    """
    if options.steps is not None and (options.profile or options.serial):
        other = "--serial" if options.serial else "--profile"
        raise UsageError(f"--steps cannot be combined with {other}; leave one of them out")


def split_steps(
    entry: HostEntry, given: Mapping[str, np.ndarray], steps: int | None
) -> list[dict[str, np.ndarray]]:
    """The arrays of each step: parts of those that have an axis of steps, others as they are.

    Raises
    ------
    UsageError
        an array has that axis, but another number of steps.
    """
    if steps is None:
        return [dict(given)]
    parts = []
    for name, array in given.items():
        has_steps = _has_steps(entry, name, array)
        if has_steps and len(array) != steps:
            raise UsageError(
                f'input "{shown(name)}" has {len(array)} steps in front, as its shape is '
                f"{list(array.shape)}; --steps says {steps}"
            )
        parts.append(list(array) if has_steps else [array] * steps)
    return [dict(zip(given, step, strict=True)) for step in zip(*parts, strict=True)] or [
        {} for _ in range(steps)
    ]


def carry_updated_inputs(
    entry: HostEntry, given: Mapping[str, np.ndarray], runs: Sequence[dict[str, np.ndarray]]
) -> None:
    """Let each step find what the one before left in the inputs that it updates.

    Parameters
    ----------
    given
        as the user gives them: those with an axis of steps are not carried.
    runs
        the inputs of each step, which are changed: all have one array, which runs update.
    """
    import numpy as np

    for name in _carried(entry, given):
        array = np.array(runs[0][name])
        for inputs in runs:
            inputs[name] = array


def check_all_steps_given(entry: HostEntry, given: Mapping[str, np.ndarray]) -> None:
    """Refuse steps on a board that depend on the step before: it reads the inputs of all steps.

    Raises
    ------
    UsageError
        an input that runs update has no axis of steps.
    """
    for name in _carried(entry, given):
        raise UsageError(
            f'input "{shown(name)}" is updated by each step, and a board is given the inputs of '
            "all steps before the first: give it with an axis of steps in front, or run the steps "
            "on this host"
        )


def _carried(entry: HostEntry, given: Mapping[str, np.ndarray]) -> list[str]:
    """The inputs that runs update, but for those that are given for each step."""
    return [n for n in entry.updated if n not in given or not _has_steps(entry, n, given[n])]


def _has_steps(entry: HostEntry, name: str, array: np.ndarray) -> bool:
    """Whether an array has an axis of steps in front."""
    return name in entry.inputs and array.ndim == len(entry.inputs[name]["shape"]) + 1


def joined_steps(
    outputs: Sequence[Mapping[str, np.ndarray]], steps: int | None
) -> Mapping[str, np.ndarray]:
    """The outputs of all steps, with an axis of steps in front; or of the only run."""
    import numpy as np

    if steps is None:
        return outputs[0]
    return {name: np.stack([step[name] for step in outputs]) for name in outputs[0]}
