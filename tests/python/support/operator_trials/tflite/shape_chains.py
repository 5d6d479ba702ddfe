"""Random arithmetic on the shape of an input, as converters write it, and a RANGE at its end."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import tflite

from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.trial import Trial
from support.tflite_builder import Graph, Options, options, per_tensor, write_model

_TYPES = {name: getattr(tflite.TensorType, name.upper()) for name in ("int32", "int64", "float32")}
_BINARY = {
    "ADD": ("AddOptions", np.add),
    "SUB": ("SubOptions", np.subtract),
    "MUL": ("MulOptions", np.multiply),
    "MAXIMUM": ("MaximumMinimumOptions", np.maximum),
    "MINIMUM": ("MaximumMinimumOptions", np.minimum),
}
_COMPARED = {
    "EQUAL": ("EqualOptions", np.equal),
    "GREATER": ("GreaterOptions", np.greater),
    "LESS_EQUAL": ("LessEqualOptions", np.less_equal),
}
_DIVIDED = {
    "DIV": ("DivOptions", lambda a, b: np.trunc(a / b)),
    "FLOOR_DIV": ("FloorDivOptions", np.floor_divide),
    "FLOOR_MOD": ("FloorModOptions", np.mod),
}
_REDUCED = {
    "REDUCE_PROD": np.prod,
    "SUM": np.sum,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
}


class _Chain:
    """Tensors of an integer type whose values are known, with what they are."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.graph = draw, Graph()
        self.dtype = draw.choice(("int32", "int32", "int64"))
        self.is_open = draw.flag(0.3)
        self.known: list[tuple[int, np.ndarray]] = []
        shape = draw.shape(1, 4, 5)
        self.x = self.graph.input(shape, "int8", per_tensor(0.1, 3))
        table = options("ShapeOptions", out_type=_TYPES[self.dtype])
        self.add("SHAPE", [self.x], np.array(shape), table)

    def constant(self, value: Any, dtype: str = "int32") -> int:
        return self.graph.constant(np.array(value, dtype))

    def add(self, code: str, inputs: list[int], value: Any, table: Options | None = None) -> int:
        """An operator that gives this, of a shape that the file may leave open."""
        value = np.asarray(value)
        dtype = "bool" if value.dtype == bool else self.dtype
        opened = [self.is_open and self.draw.flag() for _ in value.shape]
        pairs = list(zip(value.shape, opened, strict=True))
        shape = [1 if is_open else extent for extent, is_open in pairs]
        signature = [-1 if is_open else extent for extent, is_open in pairs]
        result = self.graph.tensor(shape, dtype, signature=signature if any(opened) else None)
        self.graph.operator(code, inputs, [result], table)
        if dtype != "bool":
            self.known.append((result, np.asarray(value, dtype)))
        return result

    def pick(self, rank: int | None = None) -> tuple[int, np.ndarray]:
        """Mostly the newest; a constant if there is none."""
        fitting = [k for k in self.known if rank is None or k[1].ndim == rank]
        if fitting and self.draw.flag(0.9):
            return fitting[-1] if self.draw.flag(0.6) else self.draw.choice(fitting)
        value = self.draw.generator.integers(1, 6, (2,) * (rank or 0)).astype(self.dtype)
        return self.constant(value, self.dtype), value

    def step(self) -> None:
        """One more operator."""
        self.draw.choice((self._binary, self._chosen, self._divided, self._reduced, self._moved))()

    def _binary(self) -> None:
        (a, one), (b, other) = self.pick(), self.pick()
        if _go_together(one, other):
            code = self.draw.choice(list(_BINARY))
            table, function = _BINARY[code]
            value = function(one, other)
            if np.abs(value).max(initial=0) < 10_000:
                self.add(code, [a, b], value, options(table))

    def _divided(self) -> None:
        (a, one), (b, other) = self.pick(), self.pick()
        if _go_together(one, other) and np.all(other):
            code = self.draw.choice(list(_DIVIDED))
            table, function = _DIVIDED[code]
            self.add(code, [a, b], np.asarray(function(one, other), self.dtype), options(table))

    def _chosen(self) -> None:
        (a, one), (b, other) = self.pick(), self.pick()
        if one.shape == other.shape:
            code = self.draw.choice(list(_COMPARED))
            table, function = _COMPARED[code]
            condition = function(one, other)
            flag = self.add(code, [a, b], condition, options(table))
            chosen = np.where(condition, one, other)
            self.add("SELECT_V2", [flag, a, b], chosen, options("SelectV2Options"))

    def _reduced(self) -> None:
        a, one = self.pick(1)
        code, keeps = self.draw.choice(list(_REDUCED)), self.draw.flag()
        value = np.asarray(_REDUCED[code](one, axis=0, keepdims=keeps), one.dtype)
        if abs(value).max() < 10_000:
            table = options("ReducerOptions", keep_dims=keeps)
            self.add(code, [a, self.constant([0])], value, table)

    def _moved(self) -> None:
        draw, (a, one), (s, single) = self.draw, self.pick(1), self.pick(0)
        length = len(one)
        kind = draw.number(0, 6)
        if kind == 0:
            at, end = draw.number(-length, length - 1), draw.number(-length - 1, length + 1)
            shrink = draw.flag()
            # Of a single element, LiteRT reads anything if the step is negative.
            step = 1 if shrink else draw.choice((1, 1, 2, -1))
            numbers = [self.constant([v]) for v in (at, end, step)]
            value = one[at] if shrink else one[at:end:step]
            if np.size(value):
                table = options("StridedSliceOptions", shrink_axis_mask=int(shrink))
                self.add("STRIDED_SLICE", [a, *numbers], value, table)
        elif kind == 1:
            begin = draw.number(0, length - 1)
            count = draw.number(1, length - begin)
            size = -1 if begin + count == length and draw.flag() else count
            numbers = [self.constant([v]) for v in (begin, size)]
            self.add("SLICE", [a, *numbers], one[begin:][:count], options("SliceOptions"))
        elif kind == 2:
            values = [(s, single)] + [self.pick(0) for _ in range(draw.number(0, 2))]
            table = options("PackOptions", values_count=len(values), axis=draw.choice((0, -1)))
            self.add("PACK", [i for i, _ in values], np.stack([v for _, v in values]), table)
        elif kind == 3:
            b, other = self.pick(1)
            table = options("ConcatenationOptions", axis=draw.choice((0, -1)))
            self.add("CONCATENATION", [a, b], np.concatenate([one, other]), table)
        elif kind == 4:
            indices = draw.generator.integers(0, length, draw.shape(0, 2, 3))
            table = options("GatherOptions", axis=0)
            taken = self.constant(indices)
            self.add("GATHER", [a, taken], one[indices], table)
        elif kind == 5:
            shape = draw.choice(((1, length), (length, 1), (length,)))
            table = options("ReshapeOptions", new_shape=list(shape))
            self.add("RESHAPE", [a, self.constant(shape)], one.reshape(shape), table)
        else:
            shape = draw.shape(1, 2, 3)
            self.add(
                "FILL", [self.constant(shape), s], np.full(shape, single), options("FillOptions")
            )


def _go_together(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return math.prod(np.broadcast_shapes(one.shape, other.shape)) < 50
    except ValueError:
        return False


def shape_chain(random: Random) -> Trial:
    """What is computed is an output; the shape of a RESHAPE is one of a few numbers."""
    draw = Draw(random)
    chain = _Chain(draw)
    for _ in range(draw.number(2, 10)):
        chain.step()
    graph = chain.graph
    results = [index for index, value in chain.known if value.size]
    limit, value = next((k for k in reversed(chain.known) if not k[1].ndim), (None, np.array(7)))
    limit = chain.constant(value, chain.dtype) if limit is None else limit
    start, step = draw.number(-3, 3), draw.number(1, 4)
    step = step if start <= value else -step
    if abs(int(value)) < 200 and start != value:
        ends = [chain.constant(start, chain.dtype), limit, chain.constant(step, chain.dtype)]
        numbers = np.arange(start, value, step)
        results.append(chain.add("RANGE", ends, numbers, options("RangeOptions")))
    graph.output(*dict.fromkeys(results))
    y = graph.tensor(graph.tensors[chain.x].shape, "int8", per_tensor(0.1, 3))
    graph.operator("ABS", [chain.x], [y], options("AbsOptions"))
    graph.output(y)
    codes = " ".join(str(operator.code) for operator in graph.operators)
    model = Model([], [], is_for_litert=chain.is_open)
    return trial("RANGE", write_model(graph), codes, model, random)
