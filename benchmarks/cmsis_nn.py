"""Recorded instructions of CMSIS-NN by layer, and the matching of layers to our operators.

`data/cmsis_nn.csv` has the instructions of CMSIS-NN (commit 99f736a) for each layer of the five
int8 models of MLPerf Tiny. Layers were called one by one as TFLite Micro does, built by gcc 12.2
with -O2, and counted by QEMU 7.2 with -icount on the boards of this project. All outputs equaled
those of TFLite Micro. Sums of weights for the MVE kernels were computed beforehand, not counted.
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
"""Kind of a layer -> our name of the operator, where they differ."""

_WINDOWED = ("conv2d", "depthwise_conv2d")


class Signature(NamedTuple):
    """The properties that a layer shares with an operator that computes it."""

    kind: str
    kernel: str = ""
    stride: str = "1"


@dataclass(frozen=True)
class Layer:
    """A layer of a model on one core.

    Parameters
    ----------
    index
        index in the model file.
    kind
        "conv 1x1", "conv kxk", "first conv", "depthwise" and so on.
    shape
        input and output shape as text, with the kernel window and stride.
    macs
        number of multiply-accumulates, or of elements read if there are none.
    instructions
        instructions of CMSIS-NN.
    """

    index: int
    kind: str
    shape: str
    macs: int
    instructions: int

    @property
    def signature(self) -> Signature:
        """The kind, kernel window and stride."""
        kind = _KINDS.get(self.kind, self.kind)
        window = re.search(r" k(\d+x\d+) s(\d+)$", self.shape)
        return Signature(kind, window[1], window[2]) if window else Signature(kind)


class Operator(Protocol):
    """The part of `usmp.runtime.OperatorProfile` that is needed here."""

    @property
    def kinds(self) -> Sequence[str]:
        """The computations in order, such as "conv2d 3x3 s2"."""

    @property
    def macs(self) -> int | None:
        """The number of multiply-accumulates."""


@cache
def layers_of(model: str, core: str) -> tuple[Layer, ...]:
    """Return the layers of a model on a core such as "cortex-m4"; empty without figures."""
    return tuple(
        Layer(int(row["layer"]), row["kind"], row["shape"], int(row["macs"]), _instructions(row))
        for row in _rows(model, core)
        if row["layer"] != "total"
    )


def total_of(model: str, core: str) -> int:
    """Return the instructions of a whole run, calls of layers included; 0 without figures."""
    return sum(_instructions(row) for row in _rows(model, core) if row["layer"] == "total")


def _rows(model: str, core: str) -> list[dict[str, str]]:
    with FIGURES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if (row["model"], f"cortex-{row['core']}") == (model, core)]


def _instructions(row: dict[str, str]) -> int:
    return int(row["cmsis_nn_instructions"])


def matched(operators: Sequence[Operator], layers: Sequence[Layer]) -> list[list[Layer]]:
    """Return the layers that each operator computes, in the order of the operators.

    An operator may compute several layers, or none. Layers with one signature are matched by their
    multiply-accumulates, or by their order if the counts differ, as after channels were removed.
    """
    layers_of_operators: list[list[Layer]] = [[] for _ in operators]
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
            # Both sorts are stable, so layers with equal counts keep their order.
            numbers.sort(key=lambda number: operators[number].macs or 0)
            wanted.sort(key=lambda layer: layer.macs)
        # Lengths may differ, because the operator of a layer may have been removed.
        for number, layer in zip(numbers, wanted, strict=False):
            layers_of_operators[number].append(layer)
    return [sorted(of_one, key=lambda layer: layer.index) for of_one in layers_of_operators]


def kind_of(layers: Iterable[Layer]) -> str:
    """Return the joined kinds of layers, as "conv kxk + add"."""
    return " + ".join(layer.kind for layer in layers)


def _signature(kind: str) -> Signature:
    """Return the signature of a computation such as "conv2d 3x3 s2"."""
    name, *window = kind.split()
    if name not in _WINDOWED:
        return Signature(name)
    strides = [part[1:] for part in window if part.startswith("s")]
    return Signature(name, window[0], strides[0] if strides else "1")
