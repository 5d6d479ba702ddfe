"""A search walks through passes and stages, lowers nothing twice, and keeps what it lowered."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from support.operator_programs import BRANCHES
from usmp.objects.attributes.compared import Alternative, Compared, compared_of
from usmp.passes import ModulePass
from usmp.planning.options import PlanningOptions
from usmp.planning.search import Allowance, Choice, Search, Stage
from usmp.planning.session import PlanningSession, planning_session

WORD = tirx.PrimFunc([], tirx.Evaluate(0))


def spelled(mod) -> str:
    """The letters that passes and stages have written into the function `f`."""
    return str((mod["f"].attrs or {}).get("word", ""))


def total(word) -> int:
    """The plan of a word."""
    return sum(map(ord, word))


def with_letter(mod, letter) -> IRModule:
    func = mod["f"].with_attr("word", spelled(mod) + letter)
    changed = IRModule(mod.functions, attrs=mod.attrs)
    changed.update_func(mod.get_global_var("f"), func)
    return changed


@tvm.transform.module_pass(opt_level=0, name="usmp.Write")
class Write(ModulePass):
    """Writes a letter."""

    def __init__(self, letter, runs, is_search=False):
        self.letter, self.runs, self.is_search = letter, runs, is_search

    def searches(self, mod):
        return self.is_search

    def transform_module(self, mod, context):
        self.runs.append(self.letter)
        return with_letter(mod, self.letter)


class Letters(Stage):
    """Writes one of some letters."""

    def __init__(self, name, letters, decides=(), rewrites_model=False):
        self.name, self.pass_name = name, f"usmp.{name}"
        self.letters, self.decides = letters, frozenset(decides)
        self.rewrites_model = rewrites_model
        self.allowance = Allowance.LEAST

    @property
    def key(self):
        return self.name

    def choices(self, mod, race):
        return [Choice(letter, letter) for letter in self.letters]

    def apply(self, mod, choice):
        return with_letter(mod, choice.value)


@pytest.fixture
def planned(monkeypatch):
    """The words that were planned; the plan of a word is its place in the alphabet."""
    found = []

    def peaks(session, mod, options, limit=None):
        found.append(spelled(mod))
        return (total(spelled(mod)),)

    monkeypatch.setattr(PlanningSession, "peaks", peaks)
    return found


def searched(steps, how=None, session=None, mod=None):
    with planning_session() as opened:
        search = Search(session or opened, PlanningOptions(), steps, how)
        return search.best(mod or IRModule({"f": WORD}))


def test_one_choice_each_runs_the_passes_once(planned):
    runs = []
    found = searched([Write("a", runs), Letters("order", "b"), Write("c", runs)])
    assert (spelled(found.mod), runs, planned) == ("abc", ["a", "c"], [])


def test_the_winner_is_not_lowered_again(planned):
    runs = []
    first = Letters("layout", "zy", decides=["order"], rewrites_model=True)
    found = searched([Write("a", runs), first, Write("b", runs), Letters("order", "dc")])
    assert spelled(found.mod) == "aybc"
    assert runs == ["a", "b", "b"]
    # Orders are decided in the comparison of layouts, whose winner is planned already.
    assert planned == ["azbd", "azbc", "azbc", "aybd", "aybc", "aybc"]
    assert compared_of(found.mod) == [
        Compared("layout", "y", total("aybc"), (Alternative("z", "larger", total("azbc")),)),
        Compared("order", "c", total("aybc"), (Alternative("d", "larger", total("aybd")),)),
    ]


def test_stages_that_a_comparison_does_not_decide_take_their_first_choice(planned):
    first = Letters("layout", "zy", decides=["segments"], rewrites_model=True)
    steps = [first, Letters("order", "dc"), Letters("segments", "f"), Letters("tiles", "h")]
    assert spelled(searched(steps).mod) == "ycfh"
    assert planned == ["zdf", "ydf", "yd", "yc"]


def test_a_comparison_ends_after_the_last_pass_that_makes_operators(planned):
    runs = []
    first = Letters("layout", "zy", rewrites_model=True)
    steps = [first, Write("a", runs), Letters("groups", "b", rewrites_model=True)]
    searched([*steps, Write("c", runs), Letters("order", "e"), Write("d", runs)])
    assert planned == ["zabc", "yabc"]
    assert runs == ["a", "c", "a", "c", "d"]


def test_a_fixed_choice_is_not_compared(planned):
    steps = [Letters("layout", "zyx", rewrites_model=True)]
    mod = IRModule({"f": WORD}).with_attr("fixed_choices", {"layout": "y"})
    assert (spelled(searched(steps, mod=mod).mod), planned) == ("y", [])
    unknown = IRModule({"f": WORD}).with_attr("fixed_choices", {"layout": "w"})
    assert spelled(searched(steps, mod=unknown).mod) == "z"


def test_what_follows_a_fixed_choice_is_what_a_search_that_finds_it_made(planned):
    runs, mod = [], IRModule({"f": WORD})
    first, again = (Letters("layout", "zy", rewrites_model=True) for _ in range(2))
    steps = [first, again, Letters("order", "dc"), Write("a", runs, is_search=True)]
    with planning_session() as session:
        found = searched(steps, "one", session, mod).mod
        assert (spelled(found), len(runs)) == ("yyca", 4)
        fixed = mod.with_attr("fixed_choices", {"layout": "y"})
        assert searched(steps, "one", session, fixed).mod["f"].same_as(found["f"])
        assert len(runs) == 4
        # Both stages of the name take it.
        larger = mod.with_attr("fixed_choices", {"layout": "z"})
        assert spelled(searched(steps, "one", session, larger).mod) == "zzca"


def test_a_disabled_stage_leaves_the_module(planned):
    with PassContext(disabled_pass=["usmp.order"]):
        found = searched([Letters("order", "ba"), Letters("tiles", "c")])
    assert (spelled(found.mod), planned) == ("c", [])


def test_searches_for_the_same_share_what_they_lower(planned):
    runs, mod = [], IRModule({"f": WORD})
    with planning_session() as session:
        for how, count in (("one", 1), ("one", 1), ("other", 2), (None, 3), (None, 4)):
            searched([Write("a", runs), Letters("order", "ba")], how, session, mod)
            assert len(runs) == count


@pytest.mark.parametrize(("is_search", "count"), [(False, 1), (True, 2)])
def test_passes_that_do_not_search_run_once_for_all_memories(planned, is_search, count):
    runs = []
    main = tvm.relax.Function([], tvm.relax.Tuple([]), is_pure=True)
    mod = IRModule({"f": WORD, "main": main.with_attr("global_symbol", "main")})
    with planning_session() as session:
        for extends in (True, False):
            step = Write("a", runs, is_search)
            asked = mod.with_attr("extends_states", extends)
            found = searched([step, Letters("order", "b")], "one", session, asked)
            assert bool(found.mod.attrs["extends_states"]) == extends
    assert len(runs) == count


def test_instruments_see_stages_as_passes(planned):
    seen = []

    @tvm.ir.instrument.pass_instrument
    class Recorder:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    with PassContext(instruments=[Recorder()]):
        searched([Letters("order", "a"), Write("b", []), Letters("tiles", "c")])
    assert [name for name in seen if name != "usmp.Passes"] == [
        "usmp.order",
        "usmp.Write",
        "usmp.tiles",
    ]


def test_errors_come_out_as_they_were_raised():
    class Refused(ValueError):
        pass

    class Failing(Letters):
        def apply(self, mod, choice):
            raise Refused("no")

    with pytest.raises(Refused, match=r"^no$"):
        searched([Failing("order", "a")], mod=BRANCHES)


def test_before_a_stage(planned):
    runs = []
    first, second = Letters("layout", "b"), Letters("order", "c")
    with planning_session() as session:
        search = Search(session, PlanningOptions(), [first, Write("a", runs), second])
        mod = IRModule({"f": WORD})
        assert spelled(search.before(mod, first)) == ""
        assert spelled(search.before(mod, second)) == "ba"
        assert spelled(search.best(mod).mod) == "bac"
    assert runs == ["a"]
