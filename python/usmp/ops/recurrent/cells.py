"""One step of recurrent layers, for one row of a batch.

A step reads the whole previous hidden state, so the new hidden state of a unit is first stored
elsewhere: in the output, or in a scratch row if there is no output. A `GruCell` without
`resets_after` has the previous state times the reset gate in a scratch row instead.

Source: ONNX operators, LSTM, GRU and RNN, for the equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from tvm import tirx

from usmp.ops.recurrent.activation import SIGMOID, TANH, Activation
from usmp.ops.recurrent.placed import Row
from usmp.ops.statements import Local, loop

ONE = tirx.FloatImm("float32", 1)


@dataclass(frozen=True)
class CellStep:
    """The tensors of a step.

    Parameters
    ----------
    units
        number of units.
    data
        a row of features.
    data_weight, hidden_weight, bias, hidden_bias
        see `Weights`.
    states
        rows of the hidden state, and of the cell state if there is one.
    output
        row for the new hidden state, or None.
    scratch
        scratch rows, as many as `scratch_rows` of the cell.
    """

    units: int
    features: int
    data: Row
    data_weight: tirx.Buffer
    hidden_weight: tirx.Buffer
    bias: tirx.Buffer | None
    hidden_bias: tirx.Buffer | None
    states: Sequence[Row]
    output: Row | None
    scratch: Sequence[Row]

    @property
    def hidden(self) -> Row:
        """The hidden state before the step."""
        return self.states[0]

    def sum(self, name: str, gate: int, u: tirx.Expr) -> tuple[Local, list[tirx.Stmt]]:
        """Return a sum for a unit of a gate, and statements that start it at the biases' sum."""
        return self._sum(name, gate, u, self.bias, self.hidden_bias)

    def sum_of_data(self, name: str, gate: int, u: tirx.Expr) -> tuple[Local, list[tirx.Stmt]]:
        """Return a sum for a unit of a gate, and statements that start it at `bias`."""
        return self._sum(name, gate, u, self.bias)

    def sum_of_hidden(self, name: str, gate: int, u: tirx.Expr) -> tuple[Local, list[tirx.Stmt]]:
        """Return a sum for a unit of a gate, and statements that start it at `hidden_bias`."""
        return self._sum(name, gate, u, self.hidden_bias)

    def _sum(
        self, name: str, gate: int, u: tirx.Expr, *biases: tirx.Buffer | None
    ) -> tuple[Local, list[tirx.Stmt]]:
        total = Local.of(name, "float32")
        terms = [bias[gate * self.units + u] for bias in biases if bias is not None]
        begin = terms[0] if terms else tirx.FloatImm("float32", 0)
        for term in terms[1:]:
            begin = begin + term
        return total, total.declared(begin)

    def add_data(self, sums: Sequence[Local], gates: Sequence[int], u: tirx.Expr) -> tirx.Stmt:
        """Add the products of the data to the unit's sums of some gates."""
        return self._add(sums, gates, u, self.data, self.data_weight, self.features)

    def add_hidden(
        self, sums: Sequence[Local], gates: Sequence[int], u: tirx.Expr, row: Row | None = None
    ) -> tirx.Stmt:
        """Add the products of the hidden state, or of `row` in its place, to the unit's sums."""
        return self._add(sums, gates, u, row or self.hidden, self.hidden_weight, self.units)

    def _add(
        self,
        sums: Sequence[Local],
        gates: Sequence[int],
        u: tirx.Expr,
        row: Row,
        weight: tirx.Buffer,
        extent: int,
    ) -> tirx.Stmt:
        def products(k: tirx.Var) -> list[tirx.Stmt]:
            value = Local.of("value", "float32")
            added = [
                total.add(value.get() * weight[gate * self.units + u, k])
                for total, gate in zip(sums, gates, strict=True)
            ]
            return [*value.declared(row.load(k)), *added]

        return loop("k", extent, products)

    def wait(self, value: tirx.Expr, u: tirx.Expr) -> tirx.Stmt:
        """Store a unit's new hidden state in the output or scratch row; `keep` copies it later."""
        return (self.output or self.scratch[0]).store(value, u)

    def keep(self) -> tirx.Stmt:
        """Copy the new hidden state from the output or scratch row to the state."""
        waiting = self.output or self.scratch[0]
        return loop("u", self.units, lambda u: self.hidden.store(waiting.load(u), u))


def _clipped(total: Local, clip: float | None) -> list[tirx.Stmt]:
    """Clamp a sum to [-clip, clip]; do nothing without a clip."""
    if clip is None:
        return []
    low, high = tirx.FloatImm("float32", -clip), tirx.FloatImm("float32", clip)
    return [total.set(tirx.min(tirx.max(total.get(), low), high))]


@dataclass(frozen=True)
class LstmCell:
    """A cell of long short-term memory.

    i, o, f = gate(...); c = candidate(...)
    cell = f * cell + i * c
    hidden = o * output(cell)

    Parameters
    ----------
    clip
        greatest magnitude of the arguments of gate and candidate functions.
    cell_clip
        greatest magnitude of the cell state.
    couples_forget
        whether f is 1 - i; its weights are not used then.
    order
        positions of i, o, f and c among the gates in the weights.
    """

    gate: Activation = SIGMOID
    candidate: Activation = TANH
    output: Activation = TANH
    clip: float | None = None
    cell_clip: float | None = None
    couples_forget: bool = False
    order: tuple[int, int, int, int] = (0, 1, 2, 3)

    name: ClassVar[str] = "lstm"
    gates: ClassVar[int] = 4
    states: ClassVar[int] = 2
    """Hidden state and cell state."""

    def scratch_rows(self, has_output: bool) -> int:
        """Return the number of scratch rows of a step."""
        return 0 if has_output else 1

    def step(self, step: CellStep) -> list[tirx.Stmt]:
        """Return the statements of a step."""

        def unit(u: tirx.Var) -> Iterator[tirx.Stmt]:
            names = ("input_gate", "output_gate", "forget_gate", "candidate")
            used = [index for index in range(4) if index != 2 or not self.couples_forget]
            places = [self.order[index] for index in used]
            sums = {index: step.sum(names[index], self.order[index], u) for index in used}
            totals = [total for total, _ in sums.values()]
            for _, begin in sums.values():
                yield from begin
            yield step.add_data(totals, places, u)
            yield step.add_hidden(totals, places, u)
            for index, (total, _) in sums.items():
                yield from _clipped(total, self.clip)
                function = self.candidate if index == 3 else self.gate
                yield total.set(function.of(total.get()))
            of_input, of_output, candidate = (sums[i][0].get() for i in (0, 1, 3))
            forget = ONE - of_input if self.couples_forget else sums[2][0].get()
            cell = Local.of("cell_value", "float32")
            memory = step.states[1]
            yield from cell.declared(forget * memory.load(u) + of_input * candidate)
            yield from _clipped(cell, self.cell_clip)
            yield memory.store(cell.get(), u)
            yield step.wait(of_output * self.output.of(cell.get()), u)

        return [loop("u", step.units, unit), step.keep()]


@dataclass(frozen=True)
class GruCell:
    """A gated recurrent unit.

    z, r = gate(...)
    h = candidate(data_weight @ data + hidden_weight @ (r * hidden) + bias), or with `resets_after`
    h = candidate(data_weight @ data + bias + r * (hidden_weight @ hidden + hidden_bias))
    hidden = (1 - z) * h + z * hidden

    Parameters
    ----------
    clip
        greatest magnitude of the arguments of gate and candidate functions.
    order
        positions of z, r and h among the gates in the weights.
    """

    gate: Activation = SIGMOID
    candidate: Activation = TANH
    clip: float | None = None
    resets_after: bool = False
    order: tuple[int, int, int] = (0, 1, 2)

    name: ClassVar[str] = "gru"
    gates: ClassVar[int] = 3
    states: ClassVar[int] = 1

    def scratch_rows(self, has_output: bool) -> int:
        """Return the number of scratch rows of a step."""
        if self.resets_after:
            return 0 if has_output else 1
        return 2

    def step(self, step: CellStep) -> list[tirx.Stmt]:
        """Return the statements of a step."""
        if self.resets_after:
            return [
                loop("u", step.units, lambda u: self._unit_reset_after(step, u)),
                step.keep(),
            ]
        return [
            loop("u", step.units, lambda u: self._gates(step, u)),
            loop("u", step.units, lambda u: self._unit(step, u)),
        ]

    def _unit_reset_after(self, step: CellStep, u: tirx.Var) -> Iterator[tirx.Stmt]:
        of_update, of_reset, of_candidate = self.order
        sums = [
            step.sum("update", of_update, u),
            step.sum("reset", of_reset, u),
            step.sum_of_data("candidate", of_candidate, u),
            step.sum_of_hidden("linear", of_candidate, u),
        ]
        update, reset, candidate, linear = (total for total, _ in sums)
        for _, begin in sums:
            yield from begin
        yield step.add_data([update, reset, candidate], self.order, u)
        yield step.add_hidden([update, reset, linear], self.order, u)
        for total in (update, reset):
            yield from self._set_gate(total)
        yield candidate.add(reset.get() * linear.get())
        yield from _clipped(candidate, self.clip)
        yield step.wait(self._mixed(step, update.get(), candidate, u), u)

    def _gates(self, step: CellStep, u: tirx.Var) -> Iterator[tirx.Stmt]:
        gates = self.order[:2]
        of_gates = [
            step.sum(n, gate, u) for n, gate in zip(("update", "reset"), gates, strict=True)
        ]
        totals = [total for total, _ in of_gates]
        for _, begin in of_gates:
            yield from begin
        yield step.add_data(totals, gates, u)
        yield step.add_hidden(totals, gates, u)
        for total in totals:
            yield from self._set_gate(total)
        updates, reset_hidden = step.scratch
        yield updates.store(totals[0].get(), u)
        yield reset_hidden.store(totals[1].get() * step.hidden.load(u), u)

    def _unit(self, step: CellStep, u: tirx.Var) -> Iterator[tirx.Stmt]:
        updates, reset_hidden = step.scratch
        gate = self.order[2]
        candidate, begin = step.sum("candidate", gate, u)
        yield from begin
        yield step.add_data([candidate], [gate], u)
        yield step.add_hidden([candidate], [gate], u, reset_hidden)
        yield from _clipped(candidate, self.clip)
        hidden = Local.of("hidden_value", "float32")
        yield from hidden.declared(self._mixed(step, updates.load(u), candidate, u))
        yield step.hidden.store(hidden.get(), u)
        if step.output is not None:
            yield step.output.store(hidden.get(), u)

    def _set_gate(self, total: Local) -> Iterator[tirx.Stmt]:
        yield from _clipped(total, self.clip)
        yield total.set(self.gate.of(total.get()))

    def _mixed(
        self, step: CellStep, update: tirx.Expr, candidate: Local, u: tirx.Expr
    ) -> tirx.Expr:
        new = self.candidate.of(candidate.get())
        return (ONE - update) * new + update * step.hidden.load(u)


@dataclass(frozen=True)
class RnnCell:
    """A simple cell: hidden = function(data_weight @ data + hidden_weight @ hidden + bias).

    Parameters
    ----------
    clip
        greatest magnitude of the argument of the function.
    """

    function: Activation = TANH
    clip: float | None = None

    name: ClassVar[str] = "rnn"
    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def scratch_rows(self, has_output: bool) -> int:
        """Return the number of scratch rows of a step."""
        return 0 if has_output else 1

    def step(self, step: CellStep) -> list[tirx.Stmt]:
        """Return the statements of a step."""

        def unit(u: tirx.Var) -> Iterator[tirx.Stmt]:
            total, begin = step.sum("total", 0, u)
            yield from begin
            yield step.add_data([total], [0], u)
            yield step.add_hidden([total], [0], u)
            yield from _clipped(total, self.clip)
            yield step.wait(self.function.of(total.get()), u)

        return [loop("u", step.units, unit), step.keep()]


Cell: TypeAlias = LstmCell | GruCell | RnnCell
