"""Recurrent cells compute their equations, whatever the order of the gates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir import IRModule

from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.ops.recurrent.activation import Activation
from usmp.ops.recurrent.cells import Cell, GruCell, LstmCell, RnnCell
from usmp.ops.recurrent.layer import Weights, recurrent_layer
from usmp.ops.recurrent.placed import Placed
from usmp.tir.nodes import nodes_of

STEPS, UNITS, FEATURES = 2, 3, 2
GATE, CANDIDATE = Activation("hard_sigmoid", 0.3, 0.4), Activation("softsign")
OUTPUT = Activation("affine", 0.7, 0.1)


def gate(x):
    return np.clip(0.3 * x + 0.4, 0, 1)


def candidate(x):
    return x / (1 + np.abs(x))


def clipped(x, limit):
    return x if limit is None else np.clip(x, -limit, limit)


def lstm_step(cell, data, hidden, states):
    """The states after a step, from what data and hidden state give to each gate of the weights."""
    h, c = states
    i, o, f, new = (clipped((data + hidden(h))[place], cell.clip) for place in cell.order)
    forget = 1 - gate(i) if cell.couples_forget else gate(f)
    c = clipped(forget * c + gate(i) * candidate(new), cell.cell_clip)
    return [gate(o) * (0.7 * c + 0.1), c]


def gru_step(cell, data, hidden, states):
    (h,) = states
    z, r, n = cell.order
    update, reset = (gate(clipped((data + hidden(h))[place], cell.clip)) for place in (z, r))
    of_hidden = reset * hidden(h)[n] if cell.resets_after else hidden(reset * h)[n]
    new = candidate(clipped(data[n] + of_hidden, cell.clip))
    return [(1 - update) * new + update * h]


def rnn_step(cell, data, hidden, states):
    return [candidate(clipped((data + hidden(states[0]))[0], cell.clip))]


LSTM = {"gate": GATE, "candidate": CANDIDATE, "output": OUTPUT}
GRU = {"gate": GATE, "candidate": CANDIDATE}
STEP_OF = {LstmCell: lstm_step, GruCell: gru_step, RnnCell: rnn_step}
CELLS = {
    "lstm": LstmCell(**LSTM),
    "lstm, other order": LstmCell(**LSTM, order=(2, 0, 3, 1)),
    "lstm, coupled": LstmCell(**LSTM, couples_forget=True, order=(3, 1, 0, 2)),
    "lstm, clipped": LstmCell(**LSTM, clip=0.5, cell_clip=0.2),
    "gru": GruCell(**GRU),
    "gru, other order": GruCell(**GRU, clip=0.4, order=(1, 2, 0)),
    "gru, reset after": GruCell(**GRU, resets_after=True, order=(2, 0, 1)),
    "gru, reset after, clipped": GruCell(**GRU, clip=0.4, resets_after=True),
    "rnn": RnnCell(CANDIDATE),
    "rnn, clipped": RnnCell(CANDIDATE, clip=0.4),
}


@dataclass
class Layer:
    """A cell with random states, data and weights."""

    cell: Cell
    has_output: bool = True
    biases: tuple[str, ...] = ("bias", "hidden_bias")
    arrays: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self):
        generator = np.random.default_rng(5)
        rows = self.cell.gates * UNITS
        shapes = {name: (1, UNITS) for name in ("hidden", "cell")[: self.cell.states]}
        shapes |= {"data": (STEPS, 1, FEATURES), "data_weight": (rows, FEATURES)}
        shapes |= {"hidden_weight": (rows, UNITS)} | dict.fromkeys(self.biases, (rows,))
        self.arrays = {
            name: generator.uniform(-1.5, 1.5, shape).astype(np.float32)
            for name, shape in shapes.items()
        }

    @property
    def states(self):
        return [self.arrays[name] for name in ("hidden", "cell")[: self.cell.states]]

    def function(self):
        """The PrimFunc, whose parameters are `arrays` and the output."""
        builder = relax.BlockBuilder()
        variables = {
            name: relax.Var(name, relax.TensorType(array.shape, "float32"))
            for name, array in self.arrays.items()
        }
        names = ("data_weight", "hidden_weight", *self.biases)
        weights = Weights(**{name: variables[name] for name in names})
        states = [Placed(v, "bu") for n, v in variables.items() if n in ("hidden", "cell")]
        output = Placed(relax.TensorType((STEPS, 1, UNITS), "float32"), "tbu")
        with builder.function("main", list(variables.values())):
            after, written = recurrent_layer(
                builder,
                self.cell,
                Placed(variables["data"], "tbu"),
                weights,
                states,
                output if self.has_output else None,
            )
            results = [*after, *([] if written is None else [written])]
            builder.emit_func_output(relax.Tuple(results))
        (func,) = (f for f in builder.get().functions.values() if isinstance(f, tirx.PrimFunc))
        return func.with_attr("global_symbol", "f")

    def computed(self, unreadable=()):
        """States, and output if there is one, after a run that must not read some rows of the
        weights and biases."""
        memories = {name: list(array.tobytes()) for name, array in self.arrays.items()}
        for name in ("data_weight", "hidden_weight", *self.biases):
            size = len(memories[name]) // (self.cell.gates * UNITS)
            for row in unreadable:
                memories[name][row * size : (row + 1) * size] = [None] * size
        if self.has_output:
            memories["output"] = [None] * (4 * STEPS * UNITS)
        interpreter = Interpreter(IRModule({"f": self.function()}))
        interpreter.call("f", [Pointer(memory) for memory in memories.values()])
        names = [name for name in ("hidden", "cell", "output") if name in memories]
        return [np.frombuffer(bytes(memories[n]), np.float32).reshape(-1, UNITS) for n in names]

    def expected(self):
        """The same by the equations."""
        gates, arrays = (self.cell.gates, UNITS), self.arrays
        states, outputs = [state[0] for state in self.states], []
        bias, hidden_bias = (
            arrays[name].reshape(gates) if name in self.biases else 0
            for name in ("bias", "hidden_bias")
        )

        def of_hidden(values):
            return (arrays["hidden_weight"] @ values).reshape(gates) + hidden_bias

        for t in range(STEPS):
            of_data = (arrays["data_weight"] @ arrays["data"][t, 0]).reshape(gates) + bias
            states = STEP_OF[type(self.cell)](self.cell, of_data, of_hidden, states)
            outputs.append(states[0])
        return [*(state[None] for state in states), *([np.stack(outputs)] * self.has_output)]


def check(layer, unreadable=()):
    for got, numbers in zip(layer.computed(unreadable), layer.expected(), strict=True):
        np.testing.assert_allclose(got, numbers, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("has_output", [True, False])
@pytest.mark.parametrize("name", CELLS)
def test_states_and_output_are_those_of_the_equations(name, has_output):
    check(Layer(CELLS[name], has_output))


@pytest.mark.parametrize("biases", [(), ("bias",), ("hidden_bias",)])
@pytest.mark.parametrize("name", ["lstm", "gru", "gru, reset after", "rnn"])
def test_a_bias_that_is_not_there_is_zero(name, biases):
    check(Layer(CELLS[name], biases=biases))


def test_a_coupled_forget_gate_needs_no_weights():
    """The interpreter refuses to read those of the third gate of the order, which is the first."""
    check(Layer(CELLS["lstm, coupled"]), range(UNITS))


@pytest.mark.parametrize(
    ("name", "with_output", "without"),
    [("lstm", 0, 1), ("gru", 2, 2), ("gru, reset after", 0, 1), ("rnn", 0, 1)],
)
def test_hidden_states_wait_in_the_output_or_in_scratch_memory(name, with_output, without):
    def rows(has_output):
        allocated = nodes_of(Layer(CELLS[name], has_output).function().body, tirx.AllocBuffer)
        return sum(stmt.buffer.name.startswith("scratch") for stmt in allocated)

    assert (rows(True), rows(False)) == (with_output, without)
