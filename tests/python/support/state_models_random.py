"""Random models with states: how to build one in Relax, and what it computes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from support.state_programs import F4, Graph, program

MOVES = ("join", "cut", "split")


class StateModel:
    """A random model of input `x`, each tensor with four elements of int8.

    Parameters
    ----------
    random
        what it is drawn by.
    states
        names of its states.
    initial
        their values before the first run.
    read_only
        whether some states may only be read.
    updated
        the states that are inputs, which each run updates.
    """

    def __init__(
        self,
        random: Random,
        states: Sequence[str],
        initial: Mapping[str, np.ndarray],
        read_only: bool = True,
        updated: Collection[str] = (),
    ) -> None:
        self.updated = updated
        self.states = list(states)
        self.initial = {name: initial[name] for name in states}
        self.steps = [self._step(random, index) for index in range(random.randint(0, 8))]
        count = 2 + len(self.states) + len(self.steps)
        written = [n for n in self.states if not read_only or random.random() < 0.7]
        results = [random.randrange(count) for _ in range(len(written) + random.randint(0, 3))]
        self.results = results
        places = random.sample(range(len(results)), len(written))
        self.places = dict(zip(written, places, strict=True))

    def _step(self, random: Random, index: int) -> tuple[str, int, int]:
        # Most of the time what was computed last: models are chains.
        known = 2 + len(self.states) + index
        a, b = (
            max(known - 1 - random.randrange(3), 0)
            if random.random() < 0.5
            else random.randrange(known)
            for _ in range(2)
        )
        kinds = ["add", "accumulate", "accumulate", "exchange", "before", "reshape", *MOVES, *MOVES]
        return random.choice(kinds), a, b

    def build(self) -> IRModule:
        """A Relax module with a `main`."""
        outputs = {name: self.places.get(name, -1) for name in self.states}
        return program(self._emit, outputs, self.initial, self.updated)

    def _emit(self, graph: Graph) -> list[relax.Expr]:
        values = [graph.x, graph.constant(9), *(graph.params[name] for name in self.states)]
        wide: list[relax.Expr] = []
        for kind, a, b in self.steps:
            if kind in MOVES:
                value = move(graph, kind, a, b, values, wide)
            elif kind == "reshape":
                value = graph.reshape(graph.reshape(values[a]), F4)
            elif kind in ("exchange", "before"):
                value = graph.exchange(values[a], values[b])[kind == "before"]
            else:
                value = getattr(graph, kind)(values[a], values[b])
            values.append(value)
        return [values[index] for index in self.results]

    def compute(self, x: np.ndarray, states: list[np.ndarray]) -> list[np.ndarray]:
        """The results of one run."""
        values = [x, np.full(4, 9, np.int8), *states]
        wide: list[np.ndarray] = []
        for kind, a, b in self.steps:
            if kind in MOVES:
                values.append(move(Arrays(), kind, a, b, values, wide))
                continue
            left, right = values[a], values[b]
            values.append(
                {
                    "add": left + right,
                    "accumulate": left + right[::-1],
                    "exchange": right + np.int8(1),
                    "before": left,
                    "reshape": left,
                }[kind]
            )
        return [values[index] for index in self.results]

    def returned(self, results: list[np.ndarray]) -> list[np.ndarray]:
        """Those of the results that are outputs."""
        kept = set(self.places.values())
        return [result for index, result in enumerate(results) if index not in kept]

    def changed(self, results: list[np.ndarray]) -> dict[str, np.ndarray]:
        """The states after the run that it changes."""
        return {name: results[place] for name, place in self.places.items()}


class Arrays:
    """What `Graph` emits, in numpy."""

    join = staticmethod(np.concatenate)
    split = staticmethod(np.split)

    def cut(self, wide: np.ndarray, begin: int) -> np.ndarray:
        return wide[begin : begin + 4]


def move(to: Graph | Arrays, kind: str, a: int, b: int, values: list, wide: list):
    """Four elements of longer tensors, which are joined of what there is when they are needed, or
    all of shorter ones."""
    if kind == "join" or not wide:
        parts = [values[a], values[b], *wide[-1:]]
        wide.append(to.join(parts[b % 2 :] + parts[: b % 2]))
    candidates = [*wide, *values]
    whole = wide[-1] if kind == "join" else candidates[b % len(candidates)]
    begin = 3 * a + b
    width = int(whole.shape[0] if isinstance(whole, np.ndarray) else whole.ty.shape[0])
    if kind == "split" and width > 4:
        return to.split(whole, width // 4)[begin % (width // 4)]
    return to.cut(whole, begin % (width - 3))
