"""Random Relax models whose states are extended, read in parts and shifted, and numpy's."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule

from usmp import StateInfo

WIDTH = 3
LIMIT = 60


class WindowModel:
    """One to three states of some rows; all tensors have three columns.

    Each step joins a state with new rows, reads the join whole and in parts, and computes one row
    for the next step. States become a part of a join, their old value, or what was computed.
    """

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.random_seed = seed
        self.axis = random.choice([0, 1])
        self.dtype = random.choice(["float32", "int8", "int32"])
        self.rows = [random.choice([1, 1, 2, 3, 5, 9]) for _ in range(random.randint(1, 3))]
        self.input_rows = random.choice([1, 1, 2, 4, 7])
        self.initial = [
            random.choice([0, 0, -5, np.arange(rows * WIDTH) % 50 - 20]) for rows in self.rows
        ]

    @property
    def names(self) -> list[str]:
        return [f"s{index}" for index in range(len(self.rows))]

    def shape(self, rows: int) -> tuple[int, ...]:
        return (rows, WIDTH) if self.axis == 0 else (1, rows, 1, WIDTH)

    def run(self, ops: Ops | Numbers, x, states: list) -> tuple[list, list]:
        """Outputs, and states after the run."""
        random, axis = Random(-self.random_seed - 1), self.axis
        rows_of = dict(zip(range(len(states)), self.rows, strict=True))
        current, current_rows = x, self.input_rows
        windows: list[tuple] = []
        rows: list = []
        for index, state in enumerate(states):
            parts = [(state, rows_of[index]), (current, current_rows)]
            if random.random() < 0.2:
                parts.reverse()
            if random.random() < 0.2:
                other = random.randrange(len(states))
                parts.append((states[other], rows_of[other]))
            whole = sum(count for _, count in parts)
            window = ops.join([part for part, _ in parts], axis)
            windows.append((window, whole))
            for _ in range(random.randint(1, 3)):
                begin = random.randrange(whole)
                end = random.randint(begin + 1, whole)
                value = ops.part(window, axis, begin, end) if end - begin < whole else window
                if random.random() < 0.3 and WIDTH > 1:
                    value = ops.columns(value, self.axis)
                rows.append(ops.reduce(value, axis))
            current, current_rows = ops.limit(ops.add(rows[-1], rows[0])), 1
            if random.random() < 0.3:
                # All of the window once more.
                current, current_rows = ops.limit(ops.add(window, current)), whole
        new = []
        for index, state in enumerate(states):
            count = rows_of[index]
            fitting = [w for w in windows if w[1] >= count]
            kind = random.choice(["shift"] * 5 + ["same", "other", "any"])
            if kind == "shift" and windows[index][1] >= count:
                window, whole = windows[index]
                new.append(ops.part(window, axis, whole - count, whole))
            elif kind in ("any", "other") and fitting:
                window, whole = random.choice(fitting)
                begin = random.randint(0, whole - count)
                new.append(ops.part(window, axis, begin, begin + count))
            elif kind == "same":
                twins = [s for i, s in enumerate(states) if rows_of[i] == count]
                new.append(random.choice(twins))
            else:
                new.append(ops.limit(ops.add(state, rows[-1])))
        outputs = [current]
        for _ in range(random.randint(0, 2)):
            outputs.append(
                random.choice([*states, *new, *(window for window, _ in windows), *rows])
            )
        return outputs, new

    def build(self) -> IRModule:
        """In Relax; input `x`, and a state for each name."""
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType(self.shape(self.input_rows), self.dtype))
        states = [
            relax.Var(name, relax.TensorType(self.shape(rows), self.dtype))
            for name, rows in zip(self.names, self.rows, strict=True)
        ]
        with builder.function("main", [x, *states]):
            with builder.dataflow():
                outputs, new = self.run(Ops(builder, self.dtype), x, states)
                results = [builder.emit_output(value) for value in (*outputs, *new)]
            builder.emit_func_output(relax.Tuple(results))
        mod = builder.get()
        infos = [
            StateInfo(name, len(outputs) + index, tvm.runtime.tensor(value))
            for index, (name, value) in enumerate(zip(self.names, self.values(), strict=True))
        ]
        names = [f"y{index}" for index in range(len(outputs))]
        main = mod["main"].with_attrs({"states": infos, "output_names": names})
        return IRModule({GlobalVar("main"): main})

    def values(self) -> list[np.ndarray]:
        """The initial states."""
        return [
            np.broadcast_to(np.asarray(value, self.dtype).reshape(-1), (rows * WIDTH,))
            .reshape(self.shape(rows))
            .copy()
            for value, rows in zip(self.initial, self.rows, strict=True)
        ]

    def input(self, random: np.random.Generator) -> np.ndarray:
        return random.integers(-50, 50, self.shape(self.input_rows)).astype(self.dtype)


class Ops:
    """Emits Relax."""

    def __init__(self, builder: relax.BlockBuilder, dtype: str) -> None:
        self.emit: Callable[[relax.Expr], relax.Var] = builder.emit
        self.dtype = dtype

    def join(self, parts: list, axis: int) -> relax.Var:
        return self.emit(relax.op.concat(parts, axis))

    def part(self, value: relax.Expr, axis: int, begin: int, end: int) -> relax.Var:
        return self.emit(relax.op.strided_slice(value, [axis], [begin], [end]))

    def columns(self, value: relax.Expr, axis: int) -> relax.Var:
        """The last column in the place of all."""
        last = 1 if axis == 0 else 3
        part = self.emit(relax.op.strided_slice(value, [last], [WIDTH - 1], [WIDTH]))
        return self.emit(relax.op.concat([part] * WIDTH, last))

    def reduce(self, value: relax.Expr, axis: int) -> relax.Var:
        return self.emit(relax.op.max(value, [axis], keepdims=True))

    def add(self, a: relax.Expr, b: relax.Expr) -> relax.Var:
        return self.emit(relax.op.add(a, b))

    def limit(self, value: relax.Expr) -> relax.Var:
        low, high = (relax.const(v, self.dtype) for v in (-LIMIT, LIMIT))
        return self.emit(relax.op.minimum(self.emit(relax.op.maximum(value, low)), high))


class Numbers:
    """Computes in numpy."""

    def join(self, parts: list, axis: int) -> np.ndarray:
        return np.concatenate(parts, axis)

    def part(self, value: np.ndarray, axis: int, begin: int, end: int) -> np.ndarray:
        return value[begin:end] if axis == 0 else value[:, begin:end]

    def columns(self, value: np.ndarray, axis: int) -> np.ndarray:
        return np.concatenate([value[..., -1:]] * WIDTH, -1)

    def reduce(self, value: np.ndarray, axis: int) -> np.ndarray:
        return value.max(axis=axis, keepdims=True)

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b

    def limit(self, value: np.ndarray) -> np.ndarray:
        return np.clip(value, -LIMIT, LIMIT)
