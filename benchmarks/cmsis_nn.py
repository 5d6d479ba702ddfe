"""CMSIS-NN's recorded instructions by layer, and which of our operators does the work of which.

`data/cmsis_nn.csv` has what CMSIS-NN (commit 99f736a) took for each layer of the five int8 models
of MLPerf Tiny: called layer by layer as TFLite Micro does, built by gcc 12.2 with -O2, counted by
QEMU 7.2 with -icount on the boards of this project; all its outputs were those of TFLite Micro.
Sums of weights that its kernels for MVE want are computed beforehand and not counted.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

FIGURES = Path(__file__).parent / "data/cmsis_nn.csv"

_KINDS = {
    "conv 1x1": "conv2d",
    "conv kxk": "conv2d",
    "first conv": "conv2d",
    "depthwise": "depthwise_conv2d",
    "fully connected": "fully_connected",
    "average pool": "average_pool",
}
"""What we call a kind of theirs, if that is another name."""

_WINDOWED = ("conv2d", "depthwise_conv2d")


class Signature(NamedTuple):
    """What one layer has in common with an operator that computes it."""

    kind: str
    kernel: str = ""
    stride: str = "1"


@dataclass(frozen=True)
class Layer:
    """A layer of a model on one core.

    Parameters
    ----------
    index
        in the file of the model.
    kind
        "conv 1x1", "conv kxk", "first conv", "depthwise" and so on.
    shape
        from what to what.
    macs
        its multiply-accumulates; of what has none, elements that it reads.
    instructions
        that CMSIS-NN took.
    """

    index: int
    kind: str
    shape: str
    macs: int
    instructions: int

    @property
    def signature(self) -> Signature:
        """Its kind, kernel and stride."""
        kind = _KINDS.get(self.kind, self.kind)
        window = re.search(r" k(\d+x\d+) s(\d+)$", self.shape)
        return Signature(kind, window[1], window[2]) if window else Signature(kind)


class Operator(Protocol):
    """What is needed of `usmp.runtime.OperatorProfile`."""

    @property
    def kinds(self) -> Sequence[str]:
        """What it computes, one after the other, as "conv2d 3x3 s2"."""

    @property
    def macs(self) -> int | None:
        """Its multiply-accumulates."""


@cache
def layers_of(model: str, core: str) -> tuple[Layer, ...]:
    """The layers of a model on a core such as "cortex-m4"; empty if there are no figures."""
    return tuple(
        Layer(int(row["layer"]), row["kind"], row["shape"], int(row["macs"]), _instructions(row))
        for row in _rows(model, core)
        if row["layer"] != "total"
    )


def total_of(model: str, core: str) -> int:
    """The instructions of a whole run, with the calls of layers; 0 if there are no figures."""
    return sum(_instructions(row) for row in _rows(model, core) if row["layer"] == "total")


def _rows(model: str, core: str) -> list[dict[str, str]]:
    with FIGURES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if (row["model"], f"cortex-{row['core']}") == (model, core)]


def _instructions(row: dict[str, str]) -> int:
    return int(row["cmsis_nn_instructions"])


def matched(operators: Sequence[Operator], layers: Sequence[Layer]) -> list[list[Layer]]:
    """The layers that each operator does the work of, in the order of the operators.

    An operator may compute several layers, or none. Layers of one signature are told apart by their
    multiply-accumulates, or if these are others, as after channels were removed, by their order.
    """
    found: list[list[Layer]] = [[] for _ in operators]
    steps = [
        (number, _signature(kind))
        for number, operator in enumerate(operators)
        for kind in operator.kinds
    ]
    for signature in dict.fromkeys(layer.signature for layer in layers):
        numbers = [number for number, of_step in steps if of_step == signature]
        wanted = [layer for layer in layers if layer.signature == signature]
        macs = [operators[number].macs for number in numbers]
        if sorted(layer.macs for layer in wanted) == sorted(count or 0 for count in macs):
            # Both sorts are stable: what takes the same stays in its order.
            numbers.sort(key=lambda number: operators[number].macs or 0)
            wanted.sort(key=lambda layer: layer.macs)
        # An operator that was removed leaves a layer without one.
        for number, layer in zip(numbers, wanted, strict=False):
            found[number].append(layer)
    return [sorted(of_one, key=lambda layer: layer.index) for of_one in found]


def kind_of(layers: Iterable[Layer]) -> str:
    """The kind of what computes these layers, as "conv kxk + add"."""
    return " + ".join(layer.kind for layer in layers)


def _signature(kind: str) -> Signature:
    """That of "conv2d 3x3 s2"."""
    name, *window = kind.split()
    if name not in _WINDOWED:
        return Signature(name)
    strides = [part[1:] for part in window if part.startswith("s")]
    return Signature(name, window[0], strides[0] if strides else "1")
