import pytest
import tvm_ffi

from usmp.algorithms import get_algorithm, get_custom_algorithm
from usmp.names import DEFAULT_ALGORITHM
from usmp.objects import BufferInfo, PoolAllocation, WorkspacePoolInfo
from usmp_solver import ALGORITHMS


def test_builtin_algorithms_are_those_known_to_users():
    assert ALGORITHMS == (
        "auto",
        "exact",
        "greedy_by_size",
        "greedy_by_conflicts",
        "hill_climb",
        "no_sharing",
    )
    assert DEFAULT_ALGORITHM == "auto"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_builtin_algorithm_places_nothing_if_there_is_nothing(name):
    assert dict(get_algorithm(name)([], 0)) == {}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_builtin_algorithm_is_a_custom_one_too(name):
    buffer = BufferInfo("a", 8, [WorkspacePoolInfo("sram", [])])
    assert get_custom_algorithm(name)([buffer], 8)[buffer].byte_offset == 0


def test_unknown_builtin_algorithm():
    with pytest.raises(ValueError) as error:
        get_algorithm("nope")
    assert str(error.value) == (
        "The selected USMP algorithm : nope is not defined. "
        "Algorithms: auto, exact, greedy_by_size, greedy_by_conflicts, hill_climb, "
        "no_sharing"
    )


def test_unknown_custom_algorithm_names_what_is_registered():
    with pytest.raises(ValueError) as error:
        get_custom_algorithm("nope")
    head, _, names = str(error.value).partition(" Registered algorithms: ")
    assert head == (
        "The selected custom USMP algorithm : nope is not defined. "
        "Please register it as tir.usmp.algo.nope."
    )
    assert set(names.split(", ")) >= set(ALGORITHMS)


def test_algorithm_registered_from_python():
    @tvm_ffi.register_global_func("tir.usmp.algo.trivial")
    def trivial(buffers, memory_pressure):
        assert memory_pressure == 30
        plan, offset = {}, 0
        for buffer in buffers:
            plan[buffer] = PoolAllocation(buffer.pool_candidates[0], offset)
            offset += buffer.size_bytes
        return plan

    try:
        pool = WorkspacePoolInfo("sram", [])
        a, b = BufferInfo("a", 10, [pool]), BufferInfo("b", 20, [pool])
        plan = get_custom_algorithm("trivial")([a, b], 30)
        assert {buffer.name_hint: plan[buffer].byte_offset for buffer in plan} == {"a": 0, "b": 10}
        with pytest.raises(ValueError, match="=trivial chooses"):
            get_algorithm("trivial")
    finally:
        tvm_ffi.registry.remove_global_func("tir.usmp.algo.trivial")
