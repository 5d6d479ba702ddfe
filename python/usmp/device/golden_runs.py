"""Runs with known inputs and outputs, which a self test repeats on a device."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from usmp.runtime.host import HostEntry, HostModule
from usmp.runtime.inputs import checked_run
from usmp.runtime.reference import ReferenceModule
from usmp.runtime.sizes import at_sizes, described
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown


@dataclass(frozen=True)
class GoldenRun:
    """A run of an entry with its expected outputs.

    Parameters
    ----------
    entry
        name of the entry.
    sizes
        symbolic sizes by name, in the order of the model.
    inputs, outputs
        arrays by name, in the order of the model.
    """

    entry: str
    sizes: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]


def golden_run(
    entry: str,
    interface: HostEntry,
    inputs: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    outputs: Mapping[str, np.ndarray],
) -> GoldenRun:
    """Construct a run from inputs, and from outputs of another program.

    Raises
    ------
    ValueError
        an array is missing, unknown, or has another shape or element type than in the model; or a
        size is out of range.
    """
    arrays, values = checked_run(interface.inputs, interface.sizes, inputs, sizes)
    expected = at_sizes(interface.results, values)
    for name in [*expected, *outputs]:
        if name not in outputs or name not in expected:
            is_missing = name in expected
            fault = "is missing" if is_missing else "is none of the model"
            problem = f'expected output "{shown(name)}" {fault}'
            known, heading = (outputs, "Given") if is_missing else (expected, "Its outputs")
            raise ValueError(unknown_name(problem, name, list(known), heading))
        array, info = outputs[name], expected[name]
        if str(array.dtype) != info["dtype"] or list(array.shape) != info["shape"]:
            raise ValueError(
                f'expected output "{shown(name)}" is {array.dtype}{list(array.shape)}; the model '
                f"gives {described(interface.results[name])}, here {info['dtype']}{info['shape']}"
            )
    return GoldenRun(entry, values, arrays, {name: outputs[name] for name in expected})


def runs_on_host(
    module: HostModule | ReferenceModule,
    runs: Sequence[tuple[str, Mapping[str, np.ndarray], Mapping[str, int]]],
) -> list[GoldenRun]:
    """Run entries with inputs and sizes on this host in order, from the initial state.

    Raises
    ------
    ValueError, RuntimeError
        as in `HostModule.run`.
    """
    module.reset()
    golden = []
    for entry, inputs, sizes in runs:
        # Copy the inputs, because a run may update them.
        outputs = module.run(copy.deepcopy(dict(inputs)), entry, sizes)
        golden.append(golden_run(entry, module.entries[entry], inputs, sizes, outputs))
    return golden
