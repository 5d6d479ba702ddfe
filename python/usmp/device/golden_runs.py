"""Runs whose inputs and outputs are known: what a self test repeats on a device."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from usmp.runtime.host import HostEntry, HostModule
from usmp.runtime.inputs import checked_run
from usmp.runtime.reference import ReferenceModule
from usmp.runtime.sizes import at_sizes, described
from usmp.support.plain_text import shown


@dataclass(frozen=True)
class GoldenRun:
    """A run of an entry.

    Parameters
    ----------
    entry
        its name.
    sizes
        symbolic sizes, by name, in their order.
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
    """A run whose outputs are given, from another program.

    Raises
    ------
    ValueError
        an array is missing, unknown, or of another shape or element type than the model's; a size
        is out of its range.
    """
    arrays, values = checked_run(interface.inputs, interface.sizes, inputs, sizes)
    expected = at_sizes(interface.results, values)
    names = ", ".join(f'"{shown(name)}"' for name in expected)
    for name in [*expected, *outputs]:
        if name not in outputs or name not in expected:
            fault = "is missing" if name in expected else "is none of the model"
            raise ValueError(f'expected output "{shown(name)}" {fault}; its outputs: {names}')
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
    """Runs on this host, one after the other: entry, inputs, sizes.

    The first one finds the state that the model begins with.

    Raises
    ------
    ValueError, RuntimeError
        as `HostModule.run` raises them.
    """
    module.reset()
    found = []
    for entry, inputs, sizes in runs:
        # A run may update the arrays of its inputs.
        outputs = module.run(copy.deepcopy(dict(inputs)), entry, sizes)
        found.append(golden_run(entry, module.entries[entry], inputs, sizes, outputs))
    return found
