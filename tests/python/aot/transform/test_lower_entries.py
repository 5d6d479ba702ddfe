"""LowerEntries: each entry by itself, and again where another form may take less."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import relax as R

from support.filecheck_files import module_of
from support.state_programs import program
from usmp.aot.transform import LowerEntries, LowerMain, LowerOperators
from usmp.passes import ModulePass
from usmp.support.errors import UnsupportedModelError

TWO = module_of("lower_entries")


@tvm.transform.module_pass(opt_level=0, name="Recorded")
class Recorded(ModulePass):
    """Notes by which attributes an entry is lowered; it may split groups."""

    def __init__(self, entry: str, seen: list, splits: tuple[str, ...]) -> None:
        self.entry, self.seen, self.splits = entry, seen, splits

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        attrs = dict(mod.attrs or {})
        extends, fusion = attrs.get("extends_states", True), attrs.get("fusion")
        self.seen.append((self.entry, bool(extends), fusion is None))
        lowered = LowerMain()(mod)
        is_split = self.entry in self.splits and fusion is None
        main = lowered["__tvm_main__"]
        form = "extending" if extends else "apart"
        if is_split or fusion is not None:
            form = "split" if is_split else "whole"
        lowered.update_func(lowered.get_global_var("__tvm_main__"), main.with_attr("form", form))
        return lowered.with_attr("fusion", {"split": ["a group"] if is_split else []})


def lowered(mod: IRModule, splits: tuple[str, ...] = ()) -> tuple[IRModule, list]:
    seen: list = []
    result = LowerEntries(lambda name: [Recorded(name, seen, splits)])(mod)
    return result, seen


def test_entries_become_functions_of_one_module():
    mod, seen = lowered(TWO)
    assert sorted(v.name_hint for v in mod.functions if "__tvm" in v.name_hint) == [
        "__tvm_count__",
        "__tvm_query__",
    ]
    assert list(mod.attrs["entries"]) == ["count", "query"]
    assert seen == [("count", True, True), ("query", True, True)]


def test_entries_that_split_groups_are_lowered_whole_as_well():
    _, seen = lowered(TWO, splits=("query",))
    assert seen == [("count", True, True), ("query", True, True), ("query", True, False)]


def extending(g):
    """What is new lies behind the state."""
    wide = g.join([g.s, g.x])
    return [g.add(g.cut(wide, 2), g.x), g.cut(wide, 4)]


def reading(g):
    return [g.add(g.x, g.s), g.add(g.s, g.s)]


def two_entries(first, second) -> IRModule:
    """Entries `a` and `b`, which share a state."""
    one, other = (program(build, {"s": 1}) for build in (first, second))
    functions = {v: f for v, f in one.functions.items() if v.name_hint != "main"}
    mod = IRModule(functions)
    for name, source in (("a", one), ("b", other)):
        main = source["main"].with_attr("global_symbol", name)
        known = {v.name_hint: v for v in mod.functions}
        body = tvm.relax.Function(main.params, main.body, main.ret_ty, main.is_pure, main.attrs)
        mod[name] = renamed(body, known)
    return mod


def renamed(function: relax.Function, known) -> relax.Function:
    return tvm_ffi.structural_map(
        function, (tvm.ir.GlobalVar, lambda var: known.get(var.name_hint, var))
    )


@pytest.mark.slow
def test_entries_that_extend_states_are_lowered_apart_as_well():
    _, seen = lowered(two_entries(extending, reading))
    assert seen == [("a", True, True), ("b", True, True), ("a", False, True)]
    _, seen = lowered(two_entries(reading, reading))
    assert len(seen) == 2


def test_one_entry_is_lowered_once():
    mod = program(extending, {"s": 1})
    _, seen = lowered(mod, splits=("main",))
    assert seen == [("main", True, True)]


class Failing(ModulePass):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        raise self.error


@pytest.mark.parametrize("kind", [ValueError, UnsupportedModelError])
def test_errors_name_the_entry(kind):
    failing = tvm.transform.module_pass(opt_level=0, name="Failing")(Failing)
    with pytest.raises(kind, match=r'^entry "count": no$'):
        LowerEntries(lambda _: [failing(kind("no"))])(TWO)


def test_several_entries_take_fixed_shapes():
    @I.ir_module
    class Symbolic:
        @R.function
        def a(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

        @R.function
        def b(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

    passes = [relax.transform.LegalizeOps(), LowerOperators(), LowerMain()]
    with pytest.raises(UnsupportedModelError, match='"a" has sizes that only the run knows, n;'):
        LowerEntries(lambda _: passes)(Symbolic)


class Session:
    """Compares nothing: the choice is given, and what has a plan."""

    def __init__(self, choice: int, has_plan: bool, has_time: bool) -> None:
        self.choice, self.has_plan, self.time = choice, has_plan, has_time
        self.not_compared: list[str] = []
        self.compared: list[str] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_) -> None:
        pass

    def has_time(self, _: str) -> bool:
        return self.time

    def best(self, choices, options, name: str) -> int:
        self.compared.append(name)
        return self.choice

    def peaks(self, mod, options):
        return (1,) if self.has_plan else None


def chosen(monkeypatch, mod, splits, session: Session) -> tuple[dict[str, str], list]:
    """The form in which each entry is in the result, and how often needs of others were noted."""
    noted: list = []

    def with_needs(_, mod, choices, options):
        noted.append(len(choices))
        return mod

    where = "usmp.aot.transform.lower_entries"
    monkeypatch.setattr(f"{where}.planning_session", lambda _: session)
    monkeypatch.setattr(f"{where}.with_needs_of_forms", with_needs)
    result, _ = lowered(mod, splits)
    names = {v.name_hint.strip("_").removeprefix("tvm_"): f for v, f in result.functions.items()}
    return {n: str(f.attrs["form"]) for n, f in names.items() if "form" in (f.attrs or {})}, noted


@pytest.mark.parametrize(("choice", "form"), [(0, "whole"), (1, "split")])
def test_groups_are_split_where_that_takes_less(monkeypatch, choice, form):
    session = Session(choice, True, True)
    forms, noted = chosen(monkeypatch, TWO, ("query",), session)
    assert forms == {"count": "extending", "query": form}
    assert (len(session.compared), noted) == (1, [])


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "form"), [(0, "extending"), (1, "apart")])
def test_states_are_extended_where_that_takes_no_more(monkeypatch, choice, form):
    session = Session(choice, True, True)
    forms, noted = chosen(monkeypatch, two_entries(extending, reading), (), session)
    assert forms == {"a": form, "b": "extending"}
    assert (len(session.compared), noted) == (1, [])


def test_without_time_nothing_is_compared(monkeypatch):
    session = Session(0, True, False)
    forms, _ = chosen(monkeypatch, two_entries(extending, reading), ("b",), session)
    assert forms == {"a": "extending", "b": "split"}
    assert session.compared == []


@pytest.mark.slow
@pytest.mark.parametrize("not_compared", [[], ["groups"]])
def test_what_other_forms_need_is_noted_where_none_has_a_plan(monkeypatch, not_compared):
    for mod, splits in ((TWO, ("query",)), (two_entries(extending, reading), ())):
        session = Session(0, False, True)
        session.not_compared = not_compared
        _, noted = chosen(monkeypatch, mod, splits, session)
        assert noted == ([] if not_compared else [2])
