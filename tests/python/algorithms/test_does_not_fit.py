"""The error that says what does not fit: its sizes, its way through C++, its copies."""

import copy
import gc
import pickle
import random
import weakref

import pytest
import tvm

import usmp
import usmp_solver
from support.placement_graphs import graph, pool, run
from support.planner_views import Chain, bound, workspace
from usmp.algorithms import LeastNeed
from usmp.objects import BufferInfo
from usmp.planning.plan import NoPlan
from usmp.planning.session import planning_session
from usmp.relax.limits import LimitError
from usmp.support.deadline import Deadline
from usmp.transform import UnifiedStaticMemoryPlanner
from usmp_solver import Pool

SIZES = ("needed_bytes", "available_bytes", "smallest_pool_bytes", "is_exact")


def misfit(algorithm, buffers):
    with pytest.raises(usmp.DoesNotFitError) as raised:
        run(algorithm, buffers)
    return raised.value


def sizes(error):
    return tuple(getattr(error, name) for name in SIZES)


@pytest.mark.parametrize("algorithm", usmp_solver.ALGORITHMS)
def test_one_pool(algorithm):
    error = misfit(algorithm, graph({"a": 10, "b": 20}, {"a": ["b"]}, [pool("sram", 16)]))
    assert sizes(error) == (30, 16, {"sram": 30}, algorithm in usmp_solver.SEARCHES)
    assert ": 30 for pool" in str(error)


@pytest.mark.parametrize("algorithm", usmp_solver.ALGORITHMS)
def test_either_of_two_pools(algorithm):
    pools = [pool("itcm", 4), pool("dtcm", 8)]
    error = misfit(algorithm, graph({"a": 90, "b": 5}, {"a": ["b"]}, pools))
    assert sizes(error)[:2] == (95, 12) and not error.is_exact
    for name, other in (("itcm", 8), ("dtcm", 4)):
        enough = error.smallest_pool_bytes[name]
        roomy = [pool(name, enough), pool("other", other)]
        run(algorithm, graph({"a": 90, "b": 5}, {"a": ["b"]}, roomy))


@pytest.mark.parametrize("algorithm", usmp_solver.ALGORITHMS)
def test_two_pools_that_are_both_too_small(algorithm):
    buffers = {
        "a": BufferInfo("a", 30, [pool("itcm", 4)]),
        "b": BufferInfo("b", 20, [pool("dtcm", 8)]),
    }
    error = misfit(algorithm, buffers)
    assert (error.needed_bytes, error.available_bytes) in {(30, 4), (20, 8)}
    assert error.smallest_pool_bytes == {"itcm": 30, "dtcm": 20}
    assert not error.is_exact
    assert "smallest" not in str(error)
    enough = 'Enough is size_hint_bytes=30 for pool "itcm" and 20 for pool "dtcm" together.'
    assert enough in str(error)


def test_a_pool_without_a_size_hint_has_no_number_of_bytes():
    limits = [pool("fast", 4), pool("slow")]
    a = BufferInfo("a", 8, limits, fixed_offset=2**63 - 8)
    error = misfit("auto", {"a": a})
    assert sizes(error) == (None, None, {}, False)


@pytest.mark.parametrize("algorithm", usmp_solver.ALGORITHMS)
def test_no_size_helps(algorithm):
    p = pool("sram", 100)
    a, b = (BufferInfo(name, 10, [p], fixed_offset=pin) for name, pin in (("a", 20), ("b", 25)))
    a.set_conflicts([b])
    error = misfit(algorithm, {"a": a, "b": b})
    assert sizes(error) == (None, 100, {}, False)


def test_the_lower_bound_is_below_every_plan():
    """Of one pool, and of two, in random problems that one more byte of a pool may solve."""
    for seed in range(60):
        draw = random.Random(seed)
        pools = [pool("fast", draw.randint(5, 30)), pool("slow", draw.randint(5, 30))]
        names = [f"b{i}" for i in range(5)]
        buffers = {
            name: BufferInfo(
                name, draw.randint(1, 20), draw.choice([pools, pools[:1]]), draw.choice([1, 4])
            )
            for name in names
        }
        for buffer in buffers.values():
            buffer.set_conflicts([b for b in buffers.values() if draw.random() < 0.5])
        try:
            run("auto", buffers)
        except usmp.DoesNotFitError as error:
            refusing = {each.pool.name for each in error.does_not_fit.pools}
            for name, enough in error.smallest_pool_bytes.items():
                total = sum(
                    enough if pool.name == name else pool.limit
                    for pool in (each.pool for each in error.does_not_fit.pools)
                )
                if name in refusing and len(error.does_not_fit.alone):
                    assert error.needed_bytes <= total, seed
                    assert not error.is_exact or error.needed_bytes == enough


def test_a_bound_of_pools_that_are_far_too_small():
    need = LeastNeed(512, 100, (Pool("sram", 100),))
    error = usmp.DoesNotFitError(need, not_compared=["order"])
    assert sizes(error) == (512, 100, {}, False)
    time = str(error).removeprefix(need.text())
    assert time == (
        "\nThe time budget ended before all choices were compared (orders of operators): another "
        "one may fit; please try a longer tir.usmp.time_budget."
    )
    in_words = error.for_board("mine", "memory {}".format)
    assert str(in_words) == need.text_for_board("mine", "memory {}".format) + time


def copies(error):
    yield pickle.loads(pickle.dumps(error))
    yield pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error))))
    yield copy.copy(error)
    yield copy.deepcopy(error)


@pytest.mark.parametrize("algorithm", ["auto", "greedy_by_size"])
def test_copies_are_the_error(algorithm):
    """The names have what means something to texts that are formatted."""
    error = misfit(algorithm, graph({"{a}": 10, "b%s": 20}, {"{a}": ["b%s"]}, [pool("p", 16)]))
    error.__notes__ = ["of mine"]
    error.model = "mine.tflite"
    for other in (error, error.for_board("mine", "{}".format)):
        for loaded in copies(other):
            assert type(loaded) is usmp.DoesNotFitError
            assert str(loaded) == str(other) and sizes(loaded) == sizes(other)
            assert repr(loaded) == repr(other) and loaded.args == other.args == (str(other),)
            assert loaded.does_not_fit == other.does_not_fit
            assert getattr(loaded, "__notes__", None) == getattr(other, "__notes__", None)
            assert getattr(loaded, "model", None) == getattr(other, "model", None)


@tvm.transform.module_pass(opt_level=0, name="of_the_user")
class Inner:
    def transform_module(self, mod, _):
        return UnifiedStaticMemoryPlanner()(mod)


def in_passes(mod):
    return tvm.transform.Sequential([Inner()])(mod)


@pytest.mark.parametrize("apply", [UnifiedStaticMemoryPlanner(), in_passes])
def test_out_of_passes_of_tvm_comes_the_error(apply):
    with pytest.raises(usmp.DoesNotFitError) as raised:
        apply(bound(Chain, [workspace("sram", 64)]))
    assert sizes(raised.value) == (80, 64, {"sram": 80}, True)
    assert "The smallest size_hint_bytes with which a plan fits: 80" in str(raised.value)
    for loaded in copies(raised.value):
        assert sizes(loaded) == sizes(raised.value) and str(loaded) == str(raised.value)


def test_out_of_an_algorithm_that_c_calls_comes_the_error():
    algorithm = tvm.get_global_func("tir.usmp.algo.greedy_by_size")
    with pytest.raises(usmp.DoesNotFitError) as raised:
        algorithm([BufferInfo("a", 100, [pool("sram", 64)])], 0)
    assert sizes(raised.value) == (100, 64, {"sram": 100}, False)


@tvm.transform.module_pass(opt_level=0, name="refusing")
class Refusing:
    def transform_module(self, *_):
        raise LimitError("too many operators")


def test_out_of_passes_of_tvm_come_other_errors_as_their_classes():
    with pytest.raises(usmp.UnsupportedModelError) as raised:
        tvm.transform.Sequential([Refusing()])(bound(Chain))
    assert type(raised.value) is LimitError
    for loaded in copies(raised.value):
        assert type(loaded) is LimitError and str(loaded) == "too many operators"


def test_a_value_error_of_c_stays_one():
    with pytest.raises(ValueError) as raised:
        BufferInfo("a", -1, [pool()])
    assert type(raised.value) is ValueError


class OfMine(usmp.DoesNotFitError):
    pass


def test_errors_of_custom_algorithms_come_as_they_are():
    """Subclasses, and copies, as they come from another process."""
    error = pickle.loads(pickle.dumps(misfit("auto", graph({"a": 20}, {}, [pool("p", 16)]))))
    with planning_session(Deadline(0)) as session:
        assert session.unplanned(NoPlan(error)) is error
        assert not session.has_time("order")
        advised = session.unplanned(NoPlan(error))
    assert str(advised).startswith(f"{error}\nThe time budget ended")
    assert sizes(error) == (20, 16, {"p": 20}, True)
    assert sizes(advised) == (20, 16, {"p": 20}, False)
    mine = OfMine(LeastNeed(512, 100, (Pool("sram", 100),)))
    with planning_session() as session:
        assert session.unplanned(NoPlan(mine)) is mine


@pytest.mark.slow
def test_an_error_whose_text_was_read_is_freed():
    """With its traceback, and with that what was compiled."""
    error = usmp.DoesNotFitError(LeastNeed(512, 100, (Pool("sram", 100),)))
    assert "512" in str(error)
    known = weakref.ref(error)
    del error
    gc.collect()
    assert known() is None
