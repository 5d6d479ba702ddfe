"""MemoryPlanner: results, memory, and what it refuses."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import tvm
from tvm import relax

from support.counted_allocations import run_counted, why_not
from support.managed_models import (
    Branches,
    Called,
    Chain,
    DataDependent,
    Functions,
    TwoOutputs,
    Types,
    called_function,
    chain_of,
    plain_machine,
    ramp,
    tensor,
)
from usmp.runtime import CapacityError, GrowthPolicy, MemoryPlanner, compile_managed


@pytest.fixture(scope="module")
def chain():
    return compile_managed(Chain)


@pytest.fixture(scope="module")
def called():
    return compile_managed(Called)


@pytest.fixture(scope="module")
def data_dependent():
    return compile_managed(DataDependent)


def nothing(_):
    return None


def check(planner, rows):
    x = ramp(rows)
    result = planner(tensor(x))
    np.testing.assert_array_equal(result.numpy(), chain_of(x))
    return result


def test_one_plan_serves_all_sizes_that_fit_it(chain):
    planner = MemoryPlanner(chain, poison=True)
    for rows in (3, 40, 7, 40, 1, 39):
        check(planner, rows)
    assert planner.num_plans == 2
    assert planner.num_tensors_alone == 0
    assert planner.total_managed == 2 * 40 * 64


def test_the_counters_of_static_runtime(chain):
    planner = MemoryPlanner(chain)
    assert planner.total_num_managed_tensors == 0
    check(planner, 2)
    assert planner.total_num_managed_tensors == 3
    assert planner.total_reused_tensors == 1
    assert planner.total_num_managed_output_tensors == 1
    assert planner.total_num_unmanaged == 0
    assert planner.total_managed == 2 * 2 * 64
    assert planner.num_output_buffer_bytes == 2 * 2 * 64


def test_groups_share_storage_and_have_the_largest_size(chain):
    planner = MemoryPlanner(chain)
    check(planner, 2)
    check(planner, 3)
    groups = {group.group: group.max_tensor_size for group in planner.storage_groups}
    assert groups == {("main.alloc", "main.alloc2"): 192, ("main.alloc1",): 192}
    assert sum(each.num_managed_tensors for each in planner.storage_groups) == 3


@pytest.mark.slow
def test_views_and_scalars_are_counted():
    planner = MemoryPlanner(compile_managed(Branches))
    planner(tensor(ramp(2)), tensor(np.array(True)))
    assert planner.num_borrowed == planner.num_unmanaged_non_scalars == 1
    assert planner.num_unmanaged_scalars == 0


@pytest.mark.slow
def test_outputs_live_as_long_as_the_caller_holds_them(chain):
    planner = MemoryPlanner(chain, poison=True)
    results = [(rows, check(planner, rows)) for rows in (5, 9, 2, 9, 9, 4)]
    assert all(planner.is_managed_output_tensor(each) for _, each in results[1:])
    assert len({each.data_ptr() for _, each in results}) == len(results)
    for rows, result in results:
        np.testing.assert_array_equal(result.numpy(), chain_of(ramp(rows)))


def test_an_array_of_numpy_holds_the_output_too(chain):
    planner = MemoryPlanner(chain, poison=True)
    check(planner, 9)
    view = np.from_dlpack(planner(tensor(ramp(9))))
    for _ in range(4):
        planner(tensor(-ramp(9)))
    np.testing.assert_array_equal(view, chain_of(ramp(9)))


def test_output_buffers_are_used_again(chain):
    planner = MemoryPlanner(chain)
    for _ in range(3):
        result = check(planner, 8)
    before = planner.num_allocations
    for _ in range(10):
        result = check(planner, 8)
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
    result = check(planner, 4)
    planner.deallocate_output_tensors()
    assert planner.num_output_buffer_bytes == 4 * 64
    assert planner.is_managed_output_tensor(result)
    check(planner, 4)
    np.testing.assert_array_equal(result.numpy(), chain_of(ramp(4)))
    assert planner.num_output_buffer_bytes == 2 * 4 * 64
    del result
    assert planner.num_output_buffer_bytes == 4 * 64


@pytest.mark.parametrize("forget", ["deallocate", "deallocate_output_tensors"])
def test_all_outputs_that_live_are_counted(chain, forget):
    planner = MemoryPlanner(chain)
    held = []
    for rows in (4, 9, 6):  # The second call plans outputs of another size.
        held.append(check(planner, rows))
        getattr(planner, forget)()
        assert planner.num_output_buffer_bytes == planner.allocated_bytes - planner.total_managed
    assert all(planner.is_managed_output_tensor(each) for each in held)
    counts = []
    while held:
        counts.append(planner.num_output_buffer_bytes)
        del held[-1]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_planner_is_not_copied(chain, copied):
    planner = MemoryPlanner(chain)
    text = (
        "MemoryPlanner cannot be copied or pickled, because it owns the memory of the module's "
        "tensors; make another one of the same module: MemoryPlanner(module, ...)"
    )
    with pytest.raises(TypeError, match=re.escape(text)):
        copied(planner)
    check(planner, 3)


def test_a_compiled_module_is_its_own_copy(chain):
    assert copy.copy(chain) is chain
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="share it, or compile the Relax module again"):
            copied(chain)


def test_all_is_freed(chain):
    planner = MemoryPlanner(chain)
    result = check(planner, 4)
    planner.deallocate()
    assert (planner.total_managed, planner.total_num_managed_tensors) == (0, 0)
    np.testing.assert_array_equal(result.numpy(), chain_of(ramp(4)))
    check(planner, 2)
    assert planner.total_managed == 2 * 2 * 64


@pytest.mark.slow
def test_outputs_outlive_the_planner(chain):
    planner = MemoryPlanner(chain)
    result = check(planner, 4)
    gone = weakref.ref(planner)
    del planner
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(result.numpy(), chain_of(ramp(4)))


def test_every_tensor_is_aligned(called):
    addresses = []
    with called_function("call", lambda data: addresses.append(data.data_ptr())):
        planner = MemoryPlanner(called)
        for rows in (1, 3, 2):
            addresses.append(planner(tensor(ramp(rows))).data_ptr())
    assert [address % 64 for address in addresses] == [0] * 6


@pytest.mark.slow
@pytest.mark.parametrize("taken", [True, False])
def test_branches(taken):
    planner = MemoryPlanner(compile_managed(Branches), poison=True)
    machine = plain_machine(Branches)
    for rows in (3, 20, 5, 20):
        for branch in (taken, not taken):
            inputs = (tensor(ramp(rows)), tensor(np.array(branch)))
            np.testing.assert_array_equal(planner(*inputs).numpy(), machine(*inputs).numpy())
    before = planner.num_allocations
    for branch in (True, False, False, True):
        planner(tensor(ramp(20)), tensor(np.array(branch)))
    assert planner.num_allocations == before


@pytest.mark.slow
def test_types_scalars_and_nothing_at_all():
    planner = MemoryPlanner(compile_managed(Types), poison=True)
    machine = plain_machine(Types)
    random = np.random.default_rng(1)
    for rows in (4, 0, 30, 0, 1):
        data = tensor(random.integers(-9, 9, (rows, 3), "int8"))
        np.testing.assert_array_equal(planner(data).numpy(), machine(data).numpy())
    assert planner.num_tensors_alone == 0


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


def test_a_planner_for_each_thread(chain):
    planners, wrong = [MemoryPlanner(chain, poison=True) for _ in range(3)], []

    def run(planner):
        for rows in (3, 30, 11, 30) * 5:
            x = ramp(rows)
            if not np.array_equal(planner(tensor(x)).numpy(), chain_of(x)):
                wrong.append(rows)

    threads = [threading.Thread(target=run, args=(planner,)) for planner in planners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [planner.num_plans for planner in planners] == [2, 2, 2]


@pytest.mark.slow
def test_functions_of_one_module():
    module = compile_managed(Functions)
    assert list(module.functions) == ["main", "other"]
    main, other = MemoryPlanner(module, poison=True), MemoryPlanner(module, "other", poison=True)
    for rows in (3, 8, 5):
        x = ramp(rows) - 1
        np.testing.assert_array_equal(main(tensor(x)).numpy(), 2 * np.abs(x))
        np.testing.assert_array_equal(other(tensor(x)).numpy(), -np.abs(x))


def test_a_capacity_is_kept(chain):
    planner = MemoryPlanner(chain, capacity_bytes=2 * 10 * 64, poison=True)
    held = check(planner, 4)
    check(planner, 10)
    text = r"need 1408 bytes, and the capacity is 1280 bytes; raise it, or give smaller inputs$"
    for _ in range(2):
        with pytest.raises(CapacityError, match=text):
            planner(tensor(ramp(11)))
    np.testing.assert_array_equal(held.numpy(), chain_of(ramp(4)))
    before = planner.num_allocations
    check(planner, 10)
    check(planner, 4)
    assert planner.num_allocations <= before + 1  # One of an output.
    assert planner.total_managed == 2 * 10 * 64


def test_a_capacity_that_no_call_fits(chain):
    planner = MemoryPlanner(chain, capacity_bytes=0)
    with pytest.raises(CapacityError, match="need 128 bytes, and the capacity is 0 bytes"):
        planner(tensor(ramp(1)))
    assert planner.allocated_bytes == 0
    check(planner, 0)


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


def test_growth_call_after_call_gets_headroom(chain):
    planner = MemoryPlanner(chain, growth=GrowthPolicy(headroom=0.5, after=3))
    for rows in range(10, 100):
        check(planner, rows)
    # 10, 11 and 12 exactly, 13 with room up to 19; 20 to 23 up to 34; 35 to 38; 58 to 61; 92 to 95.
    assert planner.num_plans == 5 * 4
    assert planner.total_managed >= 2 * 99 * 64


def test_sizes_to_and_fro_do_not_plan_again(chain):
    planner = MemoryPlanner(chain)
    for _ in range(20):
        check(planner, 50)
        check(planner, 1)
    assert planner.num_plans == 1


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


def test_the_module_needs_a_planner(chain):
    machine = relax.VirtualMachine(chain.library, tvm.cpu())
    with pytest.raises(RuntimeError, match=r"compiled for usmp\.runtime\.MemoryPlanner"):
        machine["main"](tensor(ramp(2)))


def test_a_function_of_another_planner(called, chain):
    foreign = relax.VirtualMachine(chain.library, tvm.cpu())["main"]
    call_it = called_function("call", lambda data: (foreign(data), None)[1])
    with call_it, pytest.raises(RuntimeError, match="compiled for another planner"):
        MemoryPlanner(called)(tensor(ramp(2)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"function": "absent"}, 'the module has no function "absent" to run; it has: main'),
        ({"capacity_bytes": -1}, "a capacity of -1 bytes cannot be"),
        ({"algorithm": "best"}, 'unknown algorithm "best"; known: auto'),
    ],
)
def test_options_that_cannot_be(chain, options, words):
    with pytest.raises(ValueError, match=words):
        MemoryPlanner(chain, **options)


def test_an_input_of_another_shape_is_refused_by_tvm(chain):
    planner = MemoryPlanner(chain)
    with pytest.raises(RuntimeError, match="param=x"):
        planner(tensor(np.zeros((3, 17), "float32")))
    check(planner, 3)


STEADY = """
import sys
import numpy as np
from support.counted_allocations import Counts
from support.encoder import WIDTH, encoder
from support.managed_models import tensor
from usmp.runtime import MemoryPlanner, compile_managed

planner = MemoryPlanner(compile_managed(encoder()))
random = np.random.default_rng(3)
inputs = [tensor(random.standard_normal((n, WIDTH), np.float32)) for n in range(1, 49)]
for data in (inputs[20], inputs[-1], inputs[0]):
    result = planner(data)
counts = Counts()
before, managed = counts.allocations, planner.num_allocations
for data in inputs:
    result = planner(data)
print(counts.allocations - before, planner.num_allocations - managed)
counts.forget_peak()
before = counts.allocations, counts.bytes
planner.deallocate()
result = planner(inputs[-1])
print(counts.allocations > before[0], counts.bytes <= before[1])
"""


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_nothing_is_allocated_once_the_largest_was_there():
    done = run_counted(["-c", STEADY], stdout=subprocess.PIPE, check=True, cwd=folder_of_tests())
    steady, anew = done.stdout.splitlines()[-2:]
    assert steady == "0 0"
    assert anew == "True True"


def folder_of_tests():
    return next(path for path in sys.path if path.endswith("tests/python"))
