"""Random modules of several entries that share states, and what they compute in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule

from usmp import StateInfo
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR

_WEIGHTS = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32) / 4


def _shift(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate([first, second])[1 : len(first) + 1]


def _emit_shift(emit: Callable, first: relax.Expr, second: relax.Expr, rows: int) -> relax.Expr:
    both = emit(relax.op.concat([first, second], 0))
    return relax.op.strided_slice(both, [0], [1], [rows + 1])


_IN_NUMPY: dict[str, Callable] = {
    "add": lambda a, b: np.tanh(a) + b,
    "multiply": lambda a, b: np.tanh(a) * np.tanh(b),
    "matmul": lambda a, _: np.tanh(a) @ _WEIGHTS,
    "negative": lambda a, _: -a,
    "relu": lambda a, _: np.maximum(a, 0),
    "shift": _shift,
}


def _emitted(emit: Callable, name: str, a: relax.Expr, b: relax.Expr, rows: int) -> relax.Expr:
    if name == "add":
        return emit(relax.op.add(emit(relax.op.tanh(a)), b))
    if name == "multiply":
        return emit(relax.op.multiply(emit(relax.op.tanh(a)), emit(relax.op.tanh(b))))
    if name == "matmul":
        return emit(relax.op.matmul(emit(relax.op.tanh(a)), relax.const(_WEIGHTS)))
    if name == "shift":
        return emit(_emit_shift(emit, a, b, rows))
    return emit(relax.op.negative(a) if name == "negative" else relax.op.nn.relu(a))


@dataclass
class Entry:
    """Operators on the input `x`, states and earlier results, all of one shape; which of them are
    outputs, and which the values of states after the run."""

    states: list[str]
    operators: list[tuple[str, str, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    updates: dict[str, str] = field(default_factory=dict)


@dataclass
class Program:
    """Entries, and states with their initial values."""

    rows: int
    states: dict[str, np.ndarray]
    entries: dict[str, Entry]

    def independent(self, random: Random) -> list[tuple[str, str]]:
        """Some pairs of entries that have no state in common, neither through other entries: the
        first run sets the initial values of all states that are connected so."""
        names = list(self.entries)
        groups: list[set[str]] = []
        for name, entry in self.entries.items():
            states = {name, *entry.states}
            connected = [group for group in groups if not states.isdisjoint(group)]
            groups = [group for group in groups if group not in connected]
            groups.append(states.union(*connected))
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        apart = [pair for pair in pairs if not any({*pair} <= group for group in groups)]
        return [pair for pair in apart if random.random() < 0.4]

    def run(self, name: str, x: np.ndarray, states: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs of an entry; `states` are changed as it does."""
        entry = self.entries[name]
        values = {"x": x, **{state: states[state] for state in entry.states}}
        for number, (operator, a, b) in enumerate(entry.operators):
            values[f"t{number}"] = _IN_NUMPY[operator](values[a], values[b])
        states.update({state: values[after] for state, after in entry.updates.items()})
        return [values[output] for output in entry.outputs]

    def module(self) -> IRModule:
        """The same in Relax."""
        builder = relax.BlockBuilder()
        shape = relax.TensorType((self.rows, 8), "float32")
        for name, entry in self.entries.items():
            params = {p: relax.Var(p, shape) for p in ("x", *entry.states)}
            with builder.function(name, list(params.values())):
                with builder.dataflow():
                    values = self._emit(builder.emit, entry, params)
                    results = [*entry.outputs, *entry.updates.values()]
                    returned = [builder.emit_output(values[result]) for result in results]
                builder.emit_func_output(relax.Tuple(returned))
        mod = builder.get()
        functions = {
            GlobalVar(name): mod[name].with_attrs(self._attributes(entry))
            for name, entry in self.entries.items()
        }
        return IRModule(functions).with_attr(ENTRIES_ATTR.name, list(self.entries))

    def _emit(
        self, emit: Callable, entry: Entry, params: Mapping[str, relax.Var]
    ) -> dict[str, relax.Expr]:
        values: dict[str, relax.Expr] = dict(params)
        for number, (operator, a, b) in enumerate(entry.operators):
            values[f"t{number}"] = _emitted(emit, operator, values[a], values[b], self.rows)
        return values

    def _attributes(self, entry: Entry) -> dict[str, list]:
        updated = list(entry.updates)
        places = {s: len(entry.outputs) + updated.index(s) for s in updated}
        return {
            "states": [
                StateInfo(s, places.get(s, -1), tvm.runtime.tensor(self.states[s]))
                for s in entry.states
            ],
            "output_names": [f"y{number}" for number in range(len(entry.outputs))],
        }


def draw_program(random: Random) -> Program:
    """Two to four entries, and up to three states."""
    rows = random.choice([1, 2, 3])
    states = {
        f"s{number}": np.full((rows, 8), random.choice([0, 0, 1.5]), np.float32)
        for number in range(random.randrange(4))
    }
    entries = {f"e{number}": _draw_entry(random, states) for number in range(random.randint(2, 4))}
    return Program(rows, states, entries)


def _draw_entry(random: Random, states: Mapping[str, np.ndarray]) -> Entry:
    entry = Entry([state for state in states if random.random() < 0.6])
    known = ["x", *entry.states]
    for number in range(random.randint(1, 8)):
        operator = random.choice(list(_IN_NUMPY))
        entry.operators.append((operator, random.choice(known), random.choice(known)))
        known.append(f"t{number}")
    made = known[1 + len(entry.states) :]
    entry.outputs = list(dict.fromkeys(random.choices(made, k=random.randint(1, 3))))
    changed = [state for state in entry.states if random.random() < 0.7]
    entry.updates = {state: random.choice([*made, *entry.states]) for state in changed}
    return entry
