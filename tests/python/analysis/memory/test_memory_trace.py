"""The accesses of a PrimFunc to memory, in the order in which they run."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import ModuleFacts, facts_of_functions
from usmp.analysis.memory.memory_trace import fold_trace
from usmp.analysis.memory.walk.event_walk import memory_events


def trace_of(mod, name="main"):
    functions = prim_funcs(mod) if isinstance(mod, IRModule) else {name: mod}
    known: ModuleFacts = facts_of_functions(functions)
    facts = known.of(name)
    reach = {callee: each.overlap.reach for callee, each in facts.callees.items()}
    events = memory_events(name, facts.func.body, facts.calls.resolve, facts.kernels)
    return fold_trace(events, facts.points_to, reach)


def accesses_of(trace):
    """By name of the memory: r or w, bytes, whether the address is known, loops, conditions."""
    return {
        str(memory.name): [
            (
                "w" if access.is_write else "r",
                access.end - access.first,
                access.address.terms is not None,
                len(access.statement.loops),
                [truth for _, truth in access.conditions],
            )
            for access in accesses
        ]
        for memory, accesses in trace.accesses.items()
    }


def names(memories):
    return {str(memory.name) for memory in memories}


def test_loads_and_stores_have_their_loops_and_conditions():
    @T.prim_func
    def func(x: T.Buffer((8,), "int16"), y: T.Buffer((8,), "int8"), z: T.Buffer((8,), "int32")):
        for i in range(4):
            if x[i] > T.int16(0):
                y[i] = T.int8(1)
            else:
                for j in range(2):
                    y[i + j] = T.Cast("int8", z[j])
        z[0] = T.if_then_else(y[0] > T.int8(0), z[1], T.Select(y[1] > T.int8(0), 1, z[2]))

    trace = trace_of(func)
    found = accesses_of(trace)
    assert found["x"] == [("r", 2, True, 1, [])]
    assert found["y"][:2] == [("w", 1, True, 1, [True]), ("w", 1, True, 2, [False])]
    assert sorted(found["y"][2:]) == [("r", 1, True, 0, []), ("r", 1, True, 0, [False])]
    of_z = found["z"]
    assert of_z[0] == ("r", 4, True, 2, [False])
    assert sorted(of_z[1:]) == sorted(
        [
            ("r", 4, True, 0, [True]),
            ("r", 4, True, 0, [False, False]),
            ("w", 4, True, 0, []),
        ]
    )
    order = {str(m.name): [a.statement.order for a in each] for m, each in trace.accesses.items()}
    assert order["x"][0] < order["y"][0] < order["y"][1] < order["z"][-1]
    assert order["z"][0] == order["y"][1]
    stores = [a.statement for each in trace.accesses.values() for a in each if a.is_write]
    assert all(statement.loads_first for statement in stores)
    (condition,) = (each for memory, each in trace.accesses.items() if str(memory.name) == "x")
    assert not condition[0].statement.loads_first


def test_registers_are_no_memory():
    """No other function can have their address; what is computed from them is followed."""

    @T.prim_func
    def func(x: T.Buffer((8,), "int8")):
        a = T.alloc_buffer((4,), "int8", scope="local")
        b = T.alloc_buffer((4,), "int8")
        a[0] = x[0]
        b[0] = a[0]

    trace = trace_of(func)
    assert names(trace.accesses) == {"x", "b"}
    assert names(trace.allocated) == {"b"}
    assert trace.escaped == set()


def test_addresses_that_are_given_away_reach_all_of_a_memory():
    @T.prim_func
    def func(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8"), z: T.Buffer((8,), "int8")):
        T.evaluate(T.call_extern("int32", "f", x.data, T.address_of(y[z[0]])))
        T.evaluate(T.call_extern("int32", "g", z.access_ptr("r")))

    trace = trace_of(func)
    assert trace.escaped == set()
    assert accesses_of(trace) == {
        "x": [("w", 0, False, 0, [])],
        "y": [("w", 0, False, 0, [])],
        "z": [("r", 1, True, 0, []), ("r", 0, False, 0, [])],
    }


def test_addresses_that_are_kept_escape():
    @T.prim_func
    def func(x: T.handle("int8"), y: T.Buffer((8,), "int8"), z: T.Buffer((8,), "int8")):
        T.evaluate(T.tvm_struct_set(x, 0, 1, y.data))
        z[0] = T.int8(1)

    assert names(trace_of(func).escaped) >= {"y"}
    assert "z" not in names(trace_of(func).escaped)


def test_bounds_of_loops_are_read_before_and_in_each_iteration():
    @T.prim_func
    def func(n: T.Buffer((1,), "int32"), y: T.Buffer((8,), "int8"), flag: T.Buffer((1,), "bool")):
        for i in range(n[0]):
            y[i] = T.int8(1)
        while flag[0]:
            y[0] = T.int8(2)
        assert flag[0], "x"

    assert accesses_of(trace_of(func)) == {
        "n": [("r", 4, True, 0, []), ("r", 4, True, 1, [])],
        "y": [("w", 1, True, 1, []), ("w", 1, True, 1, [])],
        "flag": [("r", 1, True, 1, []), ("r", 1, True, 0, [])],
    }


def test_variables_that_are_bound():
    @T.prim_func
    def func(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int8")):
        at: T.let[T.int32] = x[0]
        y[at] = T.int8(1)

    trace = trace_of(func)
    assert [str(variable.name) for variable in trace.bound] == ["at"]
    assert accesses_of(trace) == {"x": [("r", 4, True, 0, [])], "y": [("w", 1, True, 0, [])]}


@I.ir_module
class Calling:
    @T.prim_func(private=True)
    def inner(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((8,), "int8", data=p)
        Q = T.decl_buffer((8,), "int8", data=q)
        scratch = T.alloc_buffer((4,), "int8")
        for i in range(4):
            scratch[i] = P[i + 2]
        for i in range(4):
            Q[i + 1] = scratch[i]

    @T.prim_func
    def main(x: T.handle("int8"), y: T.handle("int8")):
        for _ in range(3):
            Calling.inner(x, T.address_of(T.decl_buffer((16,), "int8", data=y)[8]))


def test_calls_access_what_their_callees_do():
    mod = IRModule(Calling.functions)
    trace = trace_of(mod)
    found = {
        str(memory.name): [(a.first, a.end, a.is_write, a.statement.callee) for a in each]
        for memory, each in trace.accesses.items()
    }
    assert found["x"][0][0] == 2 and not found["x"][0][2]
    assert found["y"] == [(1, 5, True, "inner")]
    assert found["scratch"] == [(0, 4, True, "inner")]
    assert names(trace.allocated) == {"scratch"}
    assert all(len(a.statement.loops) == 1 for each in trace.accesses.values() for a in each)
