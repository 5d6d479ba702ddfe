"""Sequences of calls, and a model of what the planner does with them.

The model knows of `Chain` only that two tensors of 64 bytes a row are live at a time, and that one
is the output; and of the planner what its document says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tvm.runtime import Tensor

from support.managed_models import Chain, chain_of, compiled, ramp, tensor
from usmp.runtime import CapacityError, GrowthPolicy, MemoryPlanner

ROW = 64
POLICY = GrowthPolicy(headroom=0.25, after=2)


@pytest.fixture(scope="module")
def chain():
    return compiled(Chain)


def aligned(size: int) -> int:
    return (size + 63) // 64 * 64


@dataclass
class Model:
    """The planner, by its document: bytes of one tensor, and output buffers by number."""

    capacity: int | None = None
    largest: int = -1
    room: int = -1
    buffer: int = -1
    in_a_row: int = 0
    last_planned: int = -1
    run: int = 0
    plans: int = 0
    allocations: int = 0
    output_room: int = -1
    outputs: list[int] = field(default_factory=list)
    made: int = 0
    held: dict[int, int] = field(default_factory=dict)  # result -> its output buffer
    last_output: int = -1
    bytes_of_output: dict[int, int] = field(default_factory=dict)

    def call(self, rows: int) -> bool:
        """Whether it succeeds."""
        self.run += 1
        need = rows * ROW
        if (self.buffer < 0 or need > self.room or need > self.output_room) and not self.plan(need):
            return False
        self.largest = max(self.largest, need)
        busy = {*self.held.values(), self.last_output}
        if busy.issuperset(self.outputs):
            self.add_output()
        return True

    def plan(self, need: int) -> bool:
        if self.run > self.last_planned + 1:
            self.in_a_row = 0
        self.in_a_row += self.run > self.last_planned
        self.last_planned = self.run
        largest = max(self.largest, need)
        raised = largest + int(largest * POLICY.headroom)
        sizes = [raised] if self.in_a_row > POLICY.after else []
        for size in (*sizes, largest, need):
            bytes_of_two = aligned(size) + size
            if self.capacity is None or bytes_of_two <= self.capacity:
                break
        else:
            return False
        self.plans += 1
        self.largest = need if size < largest else largest
        self.room = size
        if bytes_of_two > self.buffer:
            self.buffer = bytes_of_two
            self.allocations += 1
        if aligned(size) != self.output_room:
            self.output_room = aligned(size)
            self.outputs = []
            self.add_output()
            self.add_output()
        return True

    def add_output(self) -> None:
        self.made += 1
        self.allocations += 1
        self.outputs.append(self.made)
        self.bytes_of_output[self.made] = self.output_room

    def output_bytes(self) -> int:
        """Return the bytes of the output buffers, those that only results still hold included."""
        alive = {*self.outputs, *self.held.values(), self.last_output} - {-1}
        return sum(self.bytes_of_output[output] for output in alive)

    def forget(self) -> None:
        self.largest = self.room = self.buffer = self.output_room = self.last_planned = -1
        self.in_a_row = 0
        self.outputs = []


def assert_results_are_intact(held: Iterable[tuple[int, Tensor]]) -> None:
    """Compare results with NumPy, in a function whose end lets go of the last one.

    A result that only a variable of a loop still held would count among the bytes of outputs.
    """
    for rows, result in held:
        np.testing.assert_array_equal(result.numpy(), chain_of(ramp(rows)))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.integers(0, 40)),
        st.tuples(st.just("rise"), st.integers(1, 5)),
        st.tuples(st.just("drop"), st.integers(0, 5)),
        st.tuples(st.just("forget"), st.just(0)),
        st.tuples(st.just("forget outputs"), st.just(0)),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from([None, 0, 2 * 20 * ROW, 2 * 33 * ROW + 17]))
@example([("call", 1), ("call", 2), ("drop", 1), ("drop", 0)], None)
def test_the_planner_does_what_its_document_says(chain, steps, capacity):
    planner = MemoryPlanner(chain, growth=POLICY, capacity_bytes=capacity, poison=True)
    model = Model(capacity)
    held, addresses, number, rows = {}, {}, 0, 0
    for step, value in steps:
        if step == "drop" and held:
            dropped = sorted(held)[value % len(held)]
            del held[dropped], model.held[dropped]
        elif step == "forget":
            planner.deallocate()
            model.forget()
            addresses = {}
        elif step == "forget outputs":
            planner.deallocate_output_tensors()
            model.outputs = []
            addresses = {}
        elif step in ("call", "rise"):
            rows = value if step == "call" else rows + value
            number += 1
            before = list(model.outputs)
            if not model.call(rows):
                with pytest.raises(CapacityError):
                    planner(tensor(ramp(rows)))
            else:
                result = planner(tensor(ramp(rows)))
                if model.outputs[: len(before)] != before:
                    addresses = {}
                output = addresses.get(result.data_ptr())
                if output is None:
                    output = next(o for o in model.outputs if o not in addresses.values())
                    addresses[result.data_ptr()] = output
                assert output not in {*model.held.values(), model.last_output}
                model.last_output = output
                held[number], model.held[number] = (rows, result), output
                del result
        assert_results_are_intact(held.values())
        assert planner.num_plans == model.plans
        assert planner.total_managed == max(model.buffer, 0)
        assert planner.num_output_buffer_bytes == model.output_bytes()
        assert planner.num_allocations == model.allocations
        assert planner.num_tensors_alone == 0
