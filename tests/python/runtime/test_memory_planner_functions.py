"""Functions that a module of a MemoryPlanner calls: what they keep, return, raise and run."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tvm
from tvm import relax

from support.managed_models import (
    Called,
    Chain,
    DataDependent,
    called_function,
    chain_of,
    compiled,
    ramp,
    tensor,
)
from usmp.runtime import CapacityError, MemoryPlanner


@pytest.fixture(scope="module")
def chain():
    return compiled(Chain)


@pytest.fixture(scope="module")
def called():
    return compiled(Called)


@pytest.fixture(scope="module")
def data_dependent():
    return compiled(DataDependent)


def nothing(_):
    return None


def test_every_tensor_is_aligned(called):
    addresses = []
    with called_function("call", lambda data: addresses.append(data.data_ptr())):
        planner = MemoryPlanner(called)
        for rows in (1, 3, 2):
            addresses.append(planner(tensor(ramp(rows))).data_ptr())
    assert [address % 64 for address in addresses] == [0] * 6


@pytest.mark.slow
def test_sizes_that_depend_on_data(data_dependent):
    taken = tensor(ramp(7))
    with called_function("rows", lambda _: taken):
        planner = MemoryPlanner(data_dependent, poison=True)
        for rows in (2, 5, 9):
            taken = tensor(ramp(rows))
            for _ in range(2):
                result = planner(tensor(ramp(3))).numpy()
                np.testing.assert_array_equal(result, chain_of(ramp(rows)))
        # The first call of each finds no room for them, and leaves a plan that has it.
        assert planner.num_tensors_alone == 3 * 4
        before = planner.num_allocations
        planner(tensor(ramp(3)))
        assert planner.num_allocations == before


def test_what_a_function_keeps_is_never_overwritten(called):
    kept = []
    with called_function("call", kept.append):
        planner = MemoryPlanner(called, poison=True)
        for rows in (6, 3, 6, 2):
            np.testing.assert_array_equal(planner(tensor(ramp(rows))).numpy(), 8 * ramp(rows))
    for rows, each in zip((6, 3, 6, 2), kept, strict=True):
        np.testing.assert_array_equal(each.numpy(), -ramp(rows))
    assert planner.num_unmanaged_non_scalars == 1
    assert planner.total_num_managed_tensors == 3


def test_a_function_that_returns_what_it_was_given(data_dependent):
    with called_function("rows", lambda data: data):
        planner = MemoryPlanner(data_dependent, poison=True)
        for rows in (4, 8, 4):
            result = planner(tensor(ramp(rows))).numpy()
            np.testing.assert_array_equal(result, chain_of(-ramp(rows)))
    assert planner.num_unmanaged_non_scalars == 2


def raise_error(_):
    raise KeyError("of the function")


def test_an_error_of_a_function_comes_through_and_the_planner_goes_on(called):
    planner = MemoryPlanner(called, poison=True)
    for rows in (4, 9):
        with called_function("call", raise_error), pytest.raises(KeyError, match="of the function"):
            planner(tensor(ramp(rows)))
        with called_function("call", nothing):
            np.testing.assert_array_equal(planner(tensor(ramp(rows))).numpy(), 8 * ramp(rows))
    before = planner.num_allocations
    with called_function("call", nothing):
        planner(tensor(ramp(9)))
    assert planner.num_allocations == before


@pytest.mark.slow
def test_a_planner_that_its_own_function_calls_is_refused(called):
    planner = MemoryPlanner(called)
    text = "calls the planner again; use another planner"
    again = called_function("call", lambda data: (planner(data), None)[1])
    with again, pytest.raises(RuntimeError, match=text):
        planner(tensor(ramp(2)))


def test_another_planner_may_run_inside(called, chain):
    inner, seen = MemoryPlanner(chain, poison=True), []

    def call(data):
        seen.append(inner(data).numpy().copy())

    with called_function("call", call):
        outer = MemoryPlanner(called, poison=True)
        for rows in (3, 5):
            np.testing.assert_array_equal(outer(tensor(ramp(rows))).numpy(), 8 * ramp(rows))
            np.testing.assert_array_equal(seen.pop(), chain_of(-ramp(rows)))


def test_two_threads_are_refused(called):
    inside, go_on, errors = threading.Event(), threading.Event(), []

    def wait(_):
        inside.set()
        assert go_on.wait(30)

    with called_function("call", wait):
        planner = MemoryPlanner(called)
        thread = threading.Thread(target=lambda: planner(tensor(ramp(2))))
        thread.start()
        assert inside.wait(30)
        for use in (lambda: planner(tensor(ramp(2))), planner.deallocate):
            try:
                use()
            except RuntimeError as error:
                errors.append(str(error))
        go_on.set()
        thread.join()
    assert len(errors) == 2
    assert all("another thread runs this planner now" in error for error in errors)


def test_a_capacity_in_the_middle_of_a_call(data_dependent):
    taken = tensor(ramp(2))
    with called_function("rows", lambda _: taken):
        planner = MemoryPlanner(data_dependent, capacity_bytes=1024, poison=True)
        held = planner(tensor(ramp(2)))
        taken = tensor(ramp(50))
        text = r'tensor "main\.alloc1" needs 3200 bytes beside the \d+ bytes that intermediates'
        with pytest.raises(CapacityError, match=text):
            planner(tensor(ramp(2)))
        np.testing.assert_array_equal(held.numpy(), chain_of(ramp(2)))
        taken = tensor(ramp(3))
        np.testing.assert_array_equal(planner(tensor(ramp(2))).numpy(), chain_of(ramp(3)))
        assert planner.allocated_bytes <= 1024 + planner.num_output_buffer_bytes + 192


def test_a_capacity_counts_what_a_function_keeps(called):
    kept = []
    with called_function("call", kept.append):
        planner = MemoryPlanner(called, capacity_bytes=1300, poison=True)
        planner(tensor(ramp(4)))
        text = r"the managed buffer needs \d+ bytes beside the 768 bytes that intermediates take"
        with pytest.raises(CapacityError, match=text):
            planner(tensor(ramp(4)))
        np.testing.assert_array_equal(kept.pop().numpy(), -ramp(4))
        np.testing.assert_array_equal(planner(tensor(ramp(3))).numpy(), 8 * ramp(3))


def test_intermediates_lie_in_the_managed_buffer(called):
    found = []
    planner = MemoryPlanner(called)

    def call(data):
        found.append(planner.overlap_with_internal_buffer(data))

    with called_function("call", call):
        result = planner(tensor(ramp(3)))
    assert found == [True]
    assert not planner.overlap_with_internal_buffer(result)
    assert not planner.overlap_with_internal_buffer(3)
    assert not planner.is_managed_output_tensor("text")


def test_a_function_of_another_planner(called, chain):
    foreign = relax.VirtualMachine(chain.library, tvm.cpu())["main"]
    call_it = called_function("call", lambda data: (foreign(data), None)[1])
    with call_it, pytest.raises(RuntimeError, match="compiled for another planner"):
        MemoryPlanner(called)(tensor(ramp(2)))
