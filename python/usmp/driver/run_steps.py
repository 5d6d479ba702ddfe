"""`tvmc run --steps`: several runs, one after the other, with what the model keeps between them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.support.plain_text import shown

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import HostEntry

_MOST_STEPS = 1_000_000


def add_steps_option(group: Any) -> None:
    """Add the option."""
    group.add_argument(
        "--steps",
        type=_steps,
        metavar="N",
        help="run the model N times, and keep its state from one run to the next: arrays of "
        "--inputs may have an axis of N steps in front, and those of --outputs have it",
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
        has_steps = name in entry.inputs and array.ndim == len(entry.inputs[name]["shape"]) + 1
        if has_steps and len(array) != steps:
            raise UsageError(
                f'input "{shown(name)}" has {len(array)} steps in front, as its shape is '
                f"{list(array.shape)}; --steps says {steps}"
            )
        parts.append(list(array) if has_steps else [array] * steps)
    return [dict(zip(given, step, strict=True)) for step in zip(*parts, strict=True)] or [
        {} for _ in range(steps)
    ]


def joined_steps(
    outputs: Sequence[Mapping[str, np.ndarray]], steps: int | None
) -> Mapping[str, np.ndarray]:
    """The outputs of all steps, with an axis of steps in front; or of the only run."""
    import numpy as np

    if steps is None:
        return outputs[0]
    return {name: np.stack([step[name] for step in outputs]) for name in outputs[0]}


def _steps(text: str) -> int:
    """A number of steps."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_STEPS))
    if not is_number or not 1 <= int(text) <= _MOST_STEPS:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {_MOST_STEPS}, not {text}")
    return int(text)
