"""A Relax module with several entries that share a state, and the same in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule

from usmp import StateInfo
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR

WEIGHTS = np.arange(64, dtype=np.float32).reshape(8, 8) / 64
INITIAL = np.arange(8, dtype=np.float32)
ENTRIES = ("learn", "tell", "plain")


def entry_model() -> IRModule:
    """`learn` adds its input to the state `total`, `tell` reads it, `plain` knows no state. All
    have an input `x` and the constant `WEIGHTS`."""
    return module_of(
        {
            "learn": ({"x": (1, 8), "total": (1, 8)}, _learn),
            "tell": ({"x": (1, 8), "total": (1, 8)}, _tell),
            "plain": ({"x": (3, 8)}, _plain),
        },
        {"learn": {"total": 1}, "tell": {"total": -1}},
        {"learn": ["y"], "tell": ["y"], "plain": ["y", "largest"]},
    )


def forgetting_model() -> IRModule:
    """`learn` and `tell`; and `forget`, which halves the state, without inputs and outputs."""
    return module_of(
        {
            "learn": ({"x": (1, 8), "total": (1, 8)}, _learn),
            "forget": ({"total": (1, 8)}, _forget),
            "tell": ({"x": (1, 8), "total": (1, 8)}, _tell),
        },
        {"learn": {"total": 1}, "forget": {"total": 0}, "tell": {"total": -1}},
        {"learn": ["y"], "forget": [], "tell": ["y"]},
    )


def _forget(emit: Callable, total: relax.Expr) -> list[relax.Expr]:
    return [emit(relax.op.multiply(total, relax.const(np.float32(0.5))))]


def _learn(emit: Callable, x: relax.Expr, total: relax.Expr) -> list[relax.Expr]:
    summed = emit(relax.op.add(total, x))
    product = emit(relax.op.matmul(x, relax.const(WEIGHTS)))
    return [emit(relax.op.nn.relu(product)), summed]


def _tell(emit: Callable, x: relax.Expr, total: relax.Expr) -> list[relax.Expr]:
    product = emit(relax.op.matmul(total, relax.const(WEIGHTS)))
    return [emit(relax.op.multiply(product, x))]


def _plain(emit: Callable, x: relax.Expr) -> list[relax.Expr]:
    product = emit(relax.op.matmul(x, relax.const(WEIGHTS)))
    again = emit(relax.op.matmul(product, relax.const(WEIGHTS)))
    return [emit(relax.op.exp(again)), emit(relax.op.max(again, axis=[1]))]


def module_of(
    functions: Mapping[str, tuple[Mapping[str, Sequence[int]], Callable]],
    states: Mapping[str, Mapping[str, int]],
    output_names: Mapping[str, Sequence[str]],
) -> IRModule:
    """A module of Relax functions of float32 tensors.

    Parameters
    ----------
    functions
        the shapes of each function's parameters, and what builds its results.
    states
        of a function, the states by name with the index of their results.
    output_names
        of each function.
    """
    builder = relax.BlockBuilder()
    for name, (shapes, build) in functions.items():
        params = [relax.Var(p, relax.TensorType(s, "float32")) for p, s in shapes.items()]
        with builder.function(name, params):
            with builder.dataflow():
                results = [builder.emit_output(r) for r in build(builder.emit, *params)]
            builder.emit_func_output(relax.Tuple(results))
    mod = builder.get()
    initial = tvm.runtime.tensor(INITIAL.reshape(1, 8))
    listed = {
        name: [StateInfo(state, place, initial) for state, place in places.items()]
        for name, places in states.items()
    }
    changed = {
        GlobalVar(name): mod[name].with_attrs(
            {"output_names": list(output_names[name]), "states": listed.get(name, [])}
        )
        for name in functions
    }
    return IRModule(changed).with_attr(ENTRIES_ATTR.name, list(functions))


class Entries:
    """What the entries of `entry_model` compute."""

    def __init__(self) -> None:
        self.total = INITIAL.reshape(1, 8)

    def run(self, x: np.ndarray, entry: str) -> dict[str, np.ndarray]:
        """The outputs of an entry; the state is changed as it does."""
        if entry == "tell":
            return {"y": self.total @ WEIGHTS * x}
        if entry == "learn":
            self.total = self.total + x
            return {"y": np.maximum(x @ WEIGHTS, 0)}
        again = x @ WEIGHTS @ WEIGHTS
        return {"y": np.exp(again), "largest": again.max(axis=1)}


def calls(count: int, seed: int = 0) -> list[tuple[str, np.ndarray]]:
    """Entries in a random order, each with an input."""
    random = np.random.default_rng(seed)
    names = random.choice(ENTRIES, count)
    shapes = {"learn": (1, 8), "tell": (1, 8), "plain": (3, 8)}
    return [(str(n), random.standard_normal(shapes[n]).astype(np.float32)) for n in names]


def check_entries_compute(
    run: Callable[[Mapping[str, np.ndarray], str], Mapping[str, np.ndarray]], count: int = 30
) -> None:
    """Check that calls of the entries in any order give what numpy does."""
    reference = Entries()
    for entry, x in calls(count):
        outputs, expected = run({"x": x}, entry), reference.run(x, entry)
        assert list(outputs) == list(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-4, atol=1e-5)
