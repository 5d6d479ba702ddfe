"""Facts are found once, and only for what they are facts of."""

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis import extract_buffer_info
from usmp.analysis.infer_io import infer_io
from usmp.analysis.memory import facts
from usmp.analysis.memory.access import Access
from usmp.analysis.memory.facts import module_facts, shared_facts
from usmp.analysis.memory.main_statements import main_statements
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.transform import AssignPoolInfo, OrderOperators


@I.ir_module
class Mod:
    @T.prim_func
    def copy(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for i in range(4):
            B[i] = A[i]

    @T.prim_func
    def twice(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        C = T.alloc_buffer((4,), "int8", annotations={})
        Mod.copy(A, C)
        Mod.copy(C, B)

    @T.prim_func
    def __tvm_main__(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        C = T.alloc_buffer((4,), "int8")
        Mod.twice(A, C)
        Mod.copy(C, B)
        T.evaluate(T.call_extern("int32", "later", A.data))


@T.prim_func
def fill(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    A[0] = B[0]


@T.prim_func
def later(A: T.Buffer((4,), "int8")):
    A[3] = T.int8(1)


@pytest.fixture
def walked(monkeypatch):
    """The names of the PrimFuncs that are walked."""
    found = []
    original = facts.memory_events

    def counted(name, *arguments):
        found.append(name)
        return original(name, *arguments)

    monkeypatch.setattr(facts, "memory_events", counted)
    return found


def with_function(mod, name, func):
    changed = tvm.IRModule(mod.functions, attrs=mod.attrs)
    known = {str(variable.name_hint): variable for variable in mod.functions}
    changed.update_func(known.get(name, tvm.ir.GlobalVar(name)), func)
    return changed


def all_of(mod):
    found = module_facts(mod)
    return {name: found.of(name) for name in found.graph.functions}


def test_all_analyses_of_a_version_walk_each_prim_func_once(walked):
    with shared_facts():
        mod = AssignPoolInfo()(with_target(Mod))
        for _ in range(2):
            extract_buffer_info(mod[MAIN_FUNCTION_NAME], mod)
            infer_io(MAIN_FUNCTION_NAME, mod)
            main_statements(module_facts(mod))
            OrderOperators()(mod)
    assert sorted(walked) == [MAIN_FUNCTION_NAME, "copy", "twice"]


def with_target(mod):
    return tvm.tirx.transform.BindTarget(tvm.target.Target("c"))(mod)


def test_attributes_make_no_new_version():
    with shared_facts():
        known = all_of(Mod)
        again = all_of(with_target(Mod))
    assert {name: found is known[name] for name, found in again.items()} == dict.fromkeys(
        known, True
    )


@pytest.mark.parametrize(
    ("name", "kept"), [("copy", set()), ("twice", {"copy"}), ("later", {"copy", "twice"})]
)
def test_who_calls_another_prim_func_is_another_one(name, kept):
    """`later` was a function outside of the module before."""
    changed = with_function(Mod, name, later if name == "later" else fill)
    with shared_facts():
        known = all_of(Mod)
        found = all_of(changed)
    assert {n for n in known if found[n] is known[n]} == kept


def test_what_is_known_of_a_callee_is_that_of_the_new_one():
    with shared_facts():
        before = module_facts(Mod).of(MAIN_FUNCTION_NAME).liveness.parameter_use
        after = module_facts(with_function(Mod, "later", later)).of(MAIN_FUNCTION_NAME)
        assert before[0].access == Access.READ | Access.UNKNOWN
        assert after.liveness.parameter_use[0].access == Access.READ | Access.WRITE
        assert after.liveness.parameter_use[0].by_function["later"] == Access.WRITE


def test_the_same_body_under_another_name_is_another_prim_func():
    with shared_facts():
        mod = with_function(Mod, "other", Mod["copy"])
        found = all_of(mod)
    assert found["other"] is not found["copy"]


def test_facts_end_with_the_outermost_store():
    with shared_facts():
        first = all_of(Mod)
        with shared_facts():
            assert all_of(Mod)["copy"] is first["copy"]
        assert all_of(Mod)["copy"] is first["copy"]
    with shared_facts():
        assert all_of(Mod)["copy"] is not first["copy"]


def test_without_a_store_nothing_is_shared():
    assert all_of(Mod)["copy"] is not all_of(Mod)["copy"]
