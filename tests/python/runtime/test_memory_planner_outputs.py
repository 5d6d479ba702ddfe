"""Outputs of a MemoryPlanner, which live as long as the caller holds them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from support.managed_models import (
    Chain,
    TwoOutputs,
    chain_of,
    check_chain,
    compiled,
    ramp,
    tensor,
)
from usmp.runtime import MemoryPlanner, compile_managed


@pytest.fixture(scope="module")
def chain():
    return compiled(Chain)


@pytest.mark.slow
def test_outputs_live_as_long_as_the_caller_holds_them(chain):
    planner = MemoryPlanner(chain, poison=True)
    results = [(rows, check_chain(planner, rows)) for rows in (5, 9, 2, 9, 9, 4)]
    assert all(planner.is_managed_output_tensor(each) for _, each in results[1:])
    assert len({each.data_ptr() for _, each in results}) == len(results)
    for rows, result in results:
        np.testing.assert_array_equal(result.numpy(), chain_of(ramp(rows)))


def test_an_array_of_numpy_holds_the_output_too(chain):
    planner = MemoryPlanner(chain, poison=True)
    check_chain(planner, 9)
    view = np.from_dlpack(planner(tensor(ramp(9))))
    for _ in range(4):
        planner(tensor(-ramp(9)))
    np.testing.assert_array_equal(view, chain_of(ramp(9)))


def test_output_buffers_are_used_again(chain):
    planner = MemoryPlanner(chain)
    for _ in range(3):
        result = check_chain(planner, 8)
    before = planner.num_allocations
    for _ in range(10):
        result = check_chain(planner, 8)
    assert planner.num_allocations == before
    assert planner.num_output_buffer_bytes == 2 * 8 * 64
    assert planner.is_managed_output_tensor(result)


@pytest.mark.slow
def test_one_of_two_outputs_keeps_both():
    planner = MemoryPlanner(compile_managed(TwoOutputs), poison=True)
    x = ramp(6)
    kept = planner(tensor(x))[1]
    for rows in (6, 2, 6):
        planner(tensor(-ramp(rows)))
    np.testing.assert_array_equal(kept.numpy(), np.abs(x).T)


def test_freed_outputs_live_on_with_the_caller(chain):
    planner = MemoryPlanner(chain)
    result = check_chain(planner, 4)
    planner.deallocate_output_tensors()
    assert planner.num_output_buffer_bytes == 4 * 64
    assert planner.is_managed_output_tensor(result)
    check_chain(planner, 4)
    np.testing.assert_array_equal(result.numpy(), chain_of(ramp(4)))
    assert planner.num_output_buffer_bytes == 2 * 4 * 64
    del result
    assert planner.num_output_buffer_bytes == 4 * 64


@pytest.mark.parametrize("forget", ["deallocate", "deallocate_output_tensors"])
def test_all_outputs_that_live_are_counted(chain, forget):
    planner = MemoryPlanner(chain)
    held = []
    for rows in (4, 9, 6):  # The second call plans outputs of another size.
        held.append(check_chain(planner, rows))
        getattr(planner, forget)()
        assert planner.num_output_buffer_bytes == planner.allocated_bytes - planner.total_managed
    assert all(planner.is_managed_output_tensor(each) for each in held)
    counts = []
    while held:
        counts.append(planner.num_output_buffer_bytes)
        del held[-1]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.slow
def test_outputs_outlive_the_planner(chain):
    planner = MemoryPlanner(chain)
    result = check_chain(planner, 4)
    gone = weakref.ref(planner)
    del planner
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(result.numpy(), chain_of(ramp(4)))
