import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.entry_buffers import entry_buffers, entry_lengths
from usmp.analysis.joint_buffers import entry_ranges, join_buffers
from usmp.analysis.stmt_pool_allocations import create_array_buffer_info
from usmp.objects.entries import concurrent_entries
from usmp.transform import AssignPoolInfo

DATA = tvm.runtime.tensor(np.arange(20, dtype=np.int8))
PAIR = [["a", "b"]]


def module(*, written=True, shared_scratch=False, sizes=(8, 8), dtypes=("int8", "int8")):
    """Entries a and b; both read the state s, a may write it; b reads a constant."""
    size_a, size_b = sizes
    dtype_a, dtype_b = dtypes

    @I.ir_module
    class Mod:
        I.module_attrs({"entries": ["a", "b"]})

        @T.prim_func(private=True)
        def twice(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            x = T.decl_buffer((32,), "int8", data=x_ptr)
            y = T.decl_buffer((32,), "int8", data=y_ptr)
            scratch = T.alloc_buffer((64,), "int8")
            for i in range(32):
                scratch[i] = x[i]
            for i in range(32):
                y[31 - i] = scratch[i]

        @T.prim_func
        def __tvm_a__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            y = T.decl_buffer((32,), "int8", data=y_ptr)
            s = T.alloc_buffer((size_a,), dtype_a, annotations={"state_tensor": "s"})
            first = T.alloc_buffer((32,), "int8")
            second = T.alloc_buffer((32,), "int8")
            Mod.twice(x_ptr, first.data)
            Mod.twice(first.data, second.data)
            for i in range(32):
                y[i] = second[i] + T.cast(s[0], "int8")
            if written:
                s[0] = T.cast(0, dtype_a)

        @T.prim_func
        def __tvm_b__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            x = T.decl_buffer((32,), "int8", data=x_ptr)
            y = T.decl_buffer((32,), "int8", data=y_ptr)
            s = T.alloc_buffer((size_b,), dtype_b, annotations={"state_tensor": "s"})
            weights = T.alloc_buffer((20,), "int8", annotations={"constant_data": DATA})
            wide = T.alloc_buffer((128,), "int8")
            for i in range(128):
                wide[i] = x[i // 4] + weights[i // 8] + T.cast(s[1], "int8")
            for i in range(32):
                y[i] = wide[4 * i]
            if shared_scratch:
                Mod.twice(x_ptr, y_ptr)

    return AssignPoolInfo()(Mod)


def joined(mod, together=()):
    mod = mod.with_attr("concurrent_entries", together) if together else mod
    return join_buffers(entry_buffers(mod), concurrent_entries(mod), pack_constants=True)


def described(analysis):
    return {
        str(b.name_hint): [(int(r.start), int(r.stop)) for r in b.live_ranges]
        for b in create_array_buffer_info(analysis.buffer_info_stmts)
    }


def conflicts(analysis):
    placed = create_array_buffer_info(analysis.buffer_info_stmts)
    return {str(b.name_hint): sorted(str(o.name_hint) for o in b.conflicts) for b in placed}


def test_entries_follow_each_other_and_states_live_throughout():
    mod = module()
    lengths = entry_lengths(mod)
    ranges = entry_ranges(lengths)
    assert ranges == {"a": (0, lengths["a"]), "b": (lengths["a"], sum(lengths.values()))}
    found = described(joined(mod))
    end = ranges["b"][1]
    assert list(found) == ["s", "a.first", "a.second", "a.scratch", "b.weights", "b.wide"]
    assert found["s"] == [(0, end)]
    assert found["b.weights"] == [(0, end)]
    for name, ranges in found.items():
        if name.startswith("a."):
            assert all(stop <= lengths["a"] for _, stop in ranges), name
    assert len(found["a.scratch"]) == 1
    assert found["b.wide"][0][0] >= lengths["a"]


def test_buffers_of_two_entries_do_not_conflict():
    found = conflicts(joined(module()))
    assert found["b.wide"] == ["s"]
    assert found["a.first"] == ["a.scratch", "s"]


@pytest.mark.slow
def test_pressure_is_that_of_the_larger_entry_and_the_state():
    analysis = joined(module())
    assert analysis.memory_pressure == 8 + 128
    assert dict(analysis.pool_memory_pressure.items()) == {
        "global_workspace": 136,
        "global_const_workspace": 20,
    }


def test_a_state_is_one_buffer_with_two_allocations():
    analysis = joined(module())
    states = [b for b in analysis.buffer_info_stmts if b.kind == 3]
    assert len(states) == 2
    assert sum(b.kind == 3 for b in create_array_buffer_info(analysis.buffer_info_stmts)) == 1


def test_entries_that_may_run_at_once_conflict_and_add_up():
    mod = module(written=False)
    analysis = joined(mod, PAIR)
    found = conflicts(analysis)
    assert found["b.wide"] == ["a.first", "a.scratch", "a.second", "s"]
    assert "b.wide" in found["a.scratch"]
    end = sum(entry_lengths(mod).values())
    together = [name for name, ranges in described(analysis).items() if ranges[-1][1] == end + 1]
    # What is live at the fullest position of each is live together at one more.
    assert "b.wide" in together
    assert "a.scratch" in together
    # The state, the fullest position of a, and that of b.
    assert analysis.memory_pressure == 8 + (64 + 32) + 128


def test_scratch_of_an_operator_that_both_call_is_one_buffer():
    mod = module(shared_scratch=True)
    found = described(joined(mod))
    assert len(found["a.scratch"]) == 2
    assert found["a.scratch"][-1][0] >= entry_lengths(mod)["a"]


def test_scratch_of_another_entry_that_may_run_at_once_stays_off_what_lies_behind_a_state():
    """c shares its scratch with b and the state with a, of whose rows a uses those behind the state
    while b may run."""

    @I.ir_module
    class Mod:
        I.module_attrs({"entries": ["a", "b", "c"]})

        @T.prim_func(private=True)
        def twice(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            x = T.decl_buffer((32,), "int8", data=x_ptr)
            y = T.decl_buffer((32,), "int8", data=y_ptr)
            scratch = T.alloc_buffer((32,), "int8")
            for i in range(32):
                scratch[i] = x[i]
            for i in range(32):
                y[31 - i] = scratch[i]

        @T.prim_func
        def __tvm_a__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            x = T.decl_buffer((32,), "int8", data=x_ptr)
            y = T.decl_buffer((32,), "int8", data=y_ptr)
            s = T.alloc_buffer((64,), "int8", annotations={"state_tensor": "s", "state_bytes": 32})
            for i in range(32):
                s[32 + i] = x[i]
            for i in range(32):
                y[i] = s[32 + i]

        @T.prim_func
        def __tvm_b__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            Mod.twice(x_ptr, y_ptr)

        @T.prim_func
        def __tvm_c__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            s = T.alloc_buffer((64,), "int8", annotations={"state_tensor": "s", "state_bytes": 32})
            s[63] = T.int8(0)
            Mod.twice(x_ptr, y_ptr)

    mod = AssignPoolInfo()(Mod)

    def behind_the_state(together=()):
        placed = create_array_buffer_info(joined(mod, together).buffer_info_stmts)
        (state,) = (info for info in placed if str(info.name_hint) == "s")
        return {str(other.name_hint): int(least) for other, least in state.overlaps.items()}

    (scratch,) = behind_the_state()
    assert behind_the_state() == {scratch: 32}
    assert behind_the_state([["a", "b"]]) == {}


def message(mod, together=()):
    with pytest.raises(ValueError) as error:
        joined(mod, together)
    return str(error.value)


def test_entries_that_may_run_at_once_share_nothing_that_is_written():
    assert message(module(), PAIR) == (
        'entries "a" and "b" may run at once, but both use the state "s", which a may write; '
        "let them run in turn, or give each a state of its own"
    )
    assert message(module(written=False, shared_scratch=True), PAIR) == (
        'entries "a" and "b" may run at once, but share the buffer "scratch" of an operator; give '
        "each one of its own"
    )


@pytest.mark.slow
def test_states_of_two_sizes_or_types():
    assert message(module(sizes=(8, 9))) == (
        'state "s" is 8 bytes of int8, aligned to 16 in entry "a", but 9 bytes of int8, aligned to '
        '16 in entry "b"; one state has one place, size and type'
    )
    assert message(module(sizes=(8, 2), dtypes=("int8", "int32"))) == (
        'state "s" is 8 bytes of int8, aligned to 16 in entry "a", but 8 bytes of int32, aligned '
        'to 16 in entry "b"; one state has one place, size and type'
    )


def test_constants_that_fill_no_line_are_packed():
    analysis = joined(module())
    (weights,) = [b for b in analysis.buffer_info_stmts if "weights" in b.name_hint]
    assert weights.alignment == 4
