"""Random Relax functions of rows of 16 floats, and what they compute.

Operators, views, tuples, branches in branches, operators in place, and functions of the test that
keep or return what they are given. All numbers are small integers, so results are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np
import tvm

Compute = Callable[[dict[str, np.ndarray]], list[np.ndarray]]


@dataclass
class Value:
    """A variable, and the numbers of the tensors that it may be; of inputs they are negative."""

    name: str
    tensors: frozenset[int]

    @property
    def is_input(self) -> bool:
        return min(self.tensors) < 0


@dataclass
class RandomFunction:
    """The text of a module, and its operations in order as functions of the variables."""

    random: Random
    lines: list[str] = field(default_factory=list)
    count: int = 0
    total: str = "x"
    kept: frozenset[int] = frozenset()

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"


def random_function(seed: int) -> tuple[tvm.IRModule, Compute]:
    """A module whose `main` takes x and y of (n, 16) and two flags, and what it computes."""
    made = RandomFunction(Random(seed))
    values = [Value("x", frozenset([-1])), Value("y", frozenset([-2]))]
    steps = _sequence(made, values, depth=0, indent=8)
    results = made.random.sample(values, k=made.random.randint(0, 2))
    names = [made.total, *(value.name for value in results)]
    kind = 'R.Tensor(("n", 16), "float32")'
    flag = 'R.Tensor((), "bool")'
    text = "\n".join(
        [
            "@I.ir_module",
            "class Module:",
            "    @T.prim_func(private=True, s_tir=True)",
            "    def negate(a: T.handle):",
            "        n = T.int64()",
            '        A = T.match_buffer(a, (n, 16), "float32")',
            "        for i, j in T.grid(n, 16):",
            '            with T.sblock("negate"):',
            '                vi, vj = T.axis.remap("SS", [i, j])',
            "                A[vi, vj] = T.float32(0) - A[vi, vj]",
            "    @R.function(pure=False)",
            f"    def main(x: {kind}, y: {kind}, c0: {flag}, c1: {flag}):",
            "        n = T.int64()",
            "        cls = Module",
            *made.lines,
            f"        result = ({', '.join(names)},)",
            "        return result",
        ]
    )

    def compute(variables: dict[str, np.ndarray]) -> list[np.ndarray]:
        for step in steps:
            step(variables)
        return [variables[name] for name in names]

    return tvm.script.from_source(text), compute


def _sequence(made: RandomFunction, values: list[Value], depth: int, indent: int):
    """Add statements; those that can stand in a dataflow block stand in one, where views are."""
    steps = []
    for _ in range(made.random.randint(3, 7) if depth == 0 else made.random.randint(1, 3)):
        kind = made.random.choice(["dataflow"] * 3 + ["branch", "keep", "give", "in place"])
        if kind == "branch" and depth == 2:
            kind = "dataflow"
        steps += {
            "dataflow": _dataflow,
            "branch": lambda *a: _branch(*a, depth),
            "keep": _keep,
            "give": _give,
            "in place": _in_place,
        }[kind](made, values, indent)
        steps += _sum_up(made, values, indent) if depth == 0 else []
    return steps


def _sum_up(made: RandomFunction, values: list[Value], indent: int):
    """Let a value have a part in the result, and half of the time let it be used no more."""
    value, new, before = made.random.choice(values), made.name(), made.total
    made.lines.append(f"{' ' * indent}{new} = R.subtract({value.name}, {before})")
    made.total = new
    if not value.is_input and made.random.random() < 0.5:
        values.remove(value)
    return [_binary(new, "subtract", value.name, before)]


def _dataflow(made: RandomFunction, values: list[Value], indent: int):
    """A block of operators; a reshape is a view only where it is no output of the block."""
    pad, steps, own, outer = " " * indent, [], [], list(values)
    made.lines.append(f"{pad}with R.dataflow():")
    for _ in range(made.random.randint(2, 8)):
        # Mostly of the last few, so that results depend on most of them.
        a = made.random.choice((outer + own)[-3:])
        b = made.random.choice((outer + own)[-made.random.choice([3, 8, 20]) :])
        new, kind = made.name(), made.random.choice([*_UNARY, *_BINARY, "view", "view", "tuple"])
        tensors = frozenset([made.count])
        if kind in _UNARY:
            text, step = f"R.{kind}({a.name})", _unary(new, kind, a.name)
        elif kind in _BINARY:
            text, step = f"R.{kind}({a.name}, {b.name})", _binary(new, kind, a.name, b.name)
        elif kind == "view":
            flat = made.name()
            made.lines.append(f"{pad}    {flat} = R.reshape({a.name}, R.shape([n * 16]))")
            text, step = f"R.reshape({flat}, R.shape([n, 16]))", _same(new, a.name)
            tensors = a.tensors
        else:
            pair = made.name()
            made.lines.append(f"{pad}    {pair} = ({a.name}, {b.name})")
            text, step, tensors = f"{pair}[1]", _same(new, b.name), b.tensors
        made.lines.append(f"{pad}    {new} = {text}")
        steps.append(step)
        own.append(Value(new, tensors))
    outputs = [*made.random.sample(own[:-1], k=made.random.randint(0, 1)), own[-1]]
    made.lines.append(f"{pad}    R.output({', '.join(value.name for value in outputs)})")
    values += outputs
    return steps


def _branch(made: RandomFunction, values: list[Value], indent: int, depth: int):
    pad, flag, new = " " * indent, made.random.choice(["c0", "c1"]), made.name()
    branches, tensors = [], frozenset[int]()
    for word in (f"if {flag}:", "else:"):
        made.lines.append(pad + word)
        # What is overwritten in a branch is gone after it, too.
        inner = list(values)
        steps = _sequence(made, inner, depth + 1, indent + 4)
        result = made.random.choice(inner)
        made.lines.append(f"{pad}    {new} = {result.name}")
        branches.append([*steps, _same(new, result.name)])
        values[:] = [value for value in values if value in inner]
        tensors |= result.tensors
    cast = made.name()
    made.lines.append(f'{pad}{cast} = R.match_cast({new}, R.Tensor((n, 16), "float32"))')
    values.append(Value(cast, tensors))

    def step(variables):
        for each in branches[0 if variables[flag] else 1]:
            each(variables)

    return [step, _same(cast, new)]


def _keep(made: RandomFunction, values: list[Value], indent: int):
    a = made.random.choice(values)
    made.kept |= a.tensors
    made.lines.append(
        f'{" " * indent}_k{made.count} = R.call_packed("test.managed.call", {a.name}, '
        "ty_args=R.Tuple())"
    )
    return []


def _give(made: RandomFunction, values: list[Value], indent: int):
    a, new = made.random.choice(values), made.name()
    made.lines.append(
        f'{" " * indent}{new} = R.call_packed("test.managed.rows", {a.name}, '
        'ty_args=R.Tensor((n, 16), "float32"))'
    )
    values.append(Value(new, a.tensors))
    return [_same(new, a.name)]


def _in_place(made: RandomFunction, values: list[Value], indent: int):
    own = [value for value in values if not (value.is_input or value.tensors & made.kept)]
    if not own:
        return []
    a, new = made.random.choice(own), made.name()
    made.lines.append(
        f"{' ' * indent}{new} = R.call_tir_inplace(cls.negate, ({a.name},), "
        'out_ty=R.Tensor((n, 16), "float32"), inplace_indices=[0])'
    )
    values[:] = [value for value in values if not value.tensors & a.tensors]
    values.append(Value(new, a.tensors))
    return [_unary(new, "negative", a.name)]


_UNARY = {"negative": np.negative, "abs": np.abs}
_BINARY = {"maximum": np.maximum, "subtract": np.subtract}


def _unary(new: str, kind: str, a: str):
    return lambda variables: variables.__setitem__(new, _UNARY[kind](variables[a]))


def _binary(new: str, kind: str, a: str, b: str):
    return lambda variables: variables.__setitem__(new, _BINARY[kind](variables[a], variables[b]))


def _same(new: str, a: str):
    return lambda variables: variables.__setitem__(new, variables[a])
