"""MemoryPlanner: results, what is planned and counted, and what it refuses."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import tvm
from tvm import relax

from support.counted_allocations import run_counted, why_not
from support.managed_models import (
    Branches,
    Chain,
    Functions,
    Types,
    chain_of,
    check_chain,
    compiled,
    plain_machine,
    ramp,
    tensor,
)
from usmp.runtime import CapacityError, GrowthPolicy, MemoryPlanner, compile_managed


@pytest.fixture(scope="module")
def chain():
    return compiled(Chain)


def test_one_plan_serves_all_sizes_that_fit_it(chain):
    planner = MemoryPlanner(chain, poison=True)
    for rows in (3, 40, 7, 40, 1, 39):
        check_chain(planner, rows)
    assert planner.num_plans == 2
    assert planner.num_tensors_alone == 0
    assert planner.total_managed == 2 * 40 * 64


def test_the_counters_of_static_runtime(chain):
    planner = MemoryPlanner(chain)
    assert planner.total_num_managed_tensors == 0
    check_chain(planner, 2)
    assert planner.total_num_managed_tensors == 3
    assert planner.total_reused_tensors == 1
    assert planner.total_num_managed_output_tensors == 1
    assert planner.total_num_unmanaged == 0
    assert planner.total_managed == 2 * 2 * 64
    assert planner.num_output_buffer_bytes == 2 * 2 * 64


def test_groups_share_storage_and_have_the_largest_size(chain):
    planner = MemoryPlanner(chain)
    check_chain(planner, 2)
    check_chain(planner, 3)
    groups = {group.group: group.max_tensor_size for group in planner.storage_groups}
    assert groups == {("main.alloc", "main.alloc2"): 192, ("main.alloc1",): 192}
    assert sum(each.num_managed_tensors for each in planner.storage_groups) == 3


@pytest.mark.slow
def test_views_and_scalars_are_counted():
    planner = MemoryPlanner(compile_managed(Branches))
    planner(tensor(ramp(2)), tensor(np.array(True)))
    assert planner.num_borrowed == planner.num_unmanaged_non_scalars == 1
    assert planner.num_unmanaged_scalars == 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_planner_is_not_copied(chain, copied):
    planner = MemoryPlanner(chain)
    text = (
        "MemoryPlanner cannot be copied or pickled, because it owns the memory of the module's "
        "tensors; make another one of the same module: MemoryPlanner(module, ...)"
    )
    with pytest.raises(TypeError, match=re.escape(text)):
        copied(planner)
    check_chain(planner, 3)


def test_a_compiled_module_is_its_own_copy(chain):
    assert copy.copy(chain) is chain
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="share it, or compile the Relax module again"):
            copied(chain)


def test_all_is_freed(chain):
    planner = MemoryPlanner(chain)
    result = check_chain(planner, 4)
    planner.deallocate()
    assert (planner.total_managed, planner.total_num_managed_tensors) == (0, 0)
    np.testing.assert_array_equal(result.numpy(), chain_of(ramp(4)))
    check_chain(planner, 2)
    assert planner.total_managed == 2 * 2 * 64


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
    held = check_chain(planner, 4)
    check_chain(planner, 10)
    text = r"need 1408 bytes, and the capacity is 1280 bytes; raise it, or give smaller inputs$"
    for _ in range(2):
        with pytest.raises(CapacityError, match=text):
            planner(tensor(ramp(11)))
    np.testing.assert_array_equal(held.numpy(), chain_of(ramp(4)))
    before = planner.num_allocations
    check_chain(planner, 10)
    check_chain(planner, 4)
    assert planner.num_allocations <= before + 1  # One of an output.
    assert planner.total_managed == 2 * 10 * 64


def test_a_capacity_that_no_call_fits(chain):
    planner = MemoryPlanner(chain, capacity_bytes=0)
    with pytest.raises(CapacityError, match="need 128 bytes, and the capacity is 0 bytes"):
        planner(tensor(ramp(1)))
    assert planner.allocated_bytes == 0
    check_chain(planner, 0)


def test_growth_call_after_call_gets_headroom(chain):
    planner = MemoryPlanner(chain, growth=GrowthPolicy(headroom=0.5, after=3))
    for rows in range(10, 100):
        check_chain(planner, rows)
    # 10, 11 and 12 exactly, 13 with room up to 19; 20 to 23 up to 34; 35 to 38; 58 to 61; 92 to 95.
    assert planner.num_plans == 5 * 4
    assert planner.total_managed >= 2 * 99 * 64


def test_sizes_to_and_fro_do_not_plan_again(chain):
    planner = MemoryPlanner(chain)
    for _ in range(20):
        check_chain(planner, 50)
        check_chain(planner, 1)
    assert planner.num_plans == 1


def test_the_module_needs_a_planner(chain):
    machine = relax.VirtualMachine(chain.library, tvm.cpu())
    with pytest.raises(RuntimeError, match=r"compiled for usmp\.runtime\.MemoryPlanner"):
        machine["main"](tensor(ramp(2)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"function": "absent"}, 'the module has no function "absent" to run. Functions: main'),
        ({"capacity_bytes": -1}, "a capacity of -1 bytes cannot be"),
        ({"algorithm": "best"}, 'unknown algorithm "best". Algorithms: auto'),
    ],
)
def test_options_that_cannot_be(chain, options, words):
    with pytest.raises(ValueError, match=words):
        MemoryPlanner(chain, **options)


def test_an_input_of_another_shape_is_refused_by_tvm(chain):
    planner = MemoryPlanner(chain)
    with pytest.raises(RuntimeError, match="param=x"):
        planner(tensor(np.zeros((3, 17), "float32")))
    check_chain(planner, 3)


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
