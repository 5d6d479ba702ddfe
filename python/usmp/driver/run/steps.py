"""`tvmc run --steps`: several runs in order, which share the state of the model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.whole_number import whole_number
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import HostEntry

_MOST_STEPS = 1_000_000


def add_steps_option(group: Any) -> None:
    """Add `--steps`."""
    group.add_argument(
        "--steps",
        type=whole_number(1, _MOST_STEPS),
        metavar="N",
        help="run the model N times, and keep its state from one run to the next: arrays of "
        "--inputs may have an axis of N steps in front, and those of --outputs have it; an input "
        "that runs update, and that has no such axis, is what the step before left",
    )


def check_steps_option(options: argparse.Namespace) -> None:
    """Raise UsageError if `--steps` is combined with `--profile` or `--serial`."""
    if options.steps is not None and (options.profile or options.serial):
        other = "--serial" if options.serial else "--profile"
        raise UsageError(f"--steps cannot be combined with {other}; leave one of them out")


def split_steps(
    entry: HostEntry, given: Mapping[str, np.ndarray], steps: int | None
) -> list[dict[str, np.ndarray]]:
    """Return the arrays of each step: slices if an array has an axis of steps, else whole arrays.

    Raises
    ------
    UsageError
        the axis of steps of an array has another extent.
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
    """Let all steps share one array for each updated input, so that each step continues from it.

    Parameters
    ----------
    given
        inputs of the user; those with an axis of steps are not shared.
    runs
        inputs of each step, which are changed in place.
    """
    import numpy as np

    for name in _carried(entry, given):
        array = np.array(runs[0][name])
        for inputs in runs:
            inputs[name] = array


def check_all_steps_given(entry: HostEntry, given: Mapping[str, np.ndarray]) -> None:
    """Raise UsageError if an updated input has no axis of steps.

    A board receives the inputs of all steps before the first step, so updates cannot reach them.
    """
    for name in _carried(entry, given):
        raise UsageError(
            f'input "{shown(name)}" is updated by each step, and a board is given the inputs of '
            "all steps before the first: give it with an axis of steps in front, or run the steps "
            "on this host"
        )


def _carried(entry: HostEntry, given: Mapping[str, np.ndarray]) -> list[str]:
    """Return the updated inputs without an axis of steps."""
    return [n for n in entry.updated if n not in given or not _has_steps(entry, n, given[n])]


def _has_steps(entry: HostEntry, name: str, array: np.ndarray) -> bool:
    """Return whether the first axis of an array is that of steps."""
    return name in entry.inputs and array.ndim == len(entry.inputs[name]["shape"]) + 1


def joined_steps(
    outputs: Sequence[Mapping[str, np.ndarray]], steps: int | None
) -> Mapping[str, np.ndarray]:
    """Return outputs stacked along a first axis of steps, or unchanged if `steps` is None."""
    import numpy as np

    if steps is None:
        return outputs[0]
    return {name: np.stack([step[name] for step in outputs]) for name in outputs[0]}
