"""LowerEntries: each entry by itself, as a module of its own, and all joined."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import Sequential
from tvm.script import ir as I
from tvm.script import relax as R

from support.filecheck_files import module_of
from usmp.aot.transform import LowerEntries, LowerMain, LowerOperators
from usmp.support.errors import UnsupportedModelError

TWO = module_of("lower_entries")


def test_entries_become_functions_of_one_module():
    mod = LowerEntries()(TWO)
    assert sorted(v.name_hint for v in mod.functions if "__tvm" in v.name_hint) == [
        "__tvm_count__",
        "__tvm_query__",
    ]
    assert list(mod.attrs["entries"]) == ["count", "query"]


def test_the_entries_are_those_of_the_module():
    lower_entries = LowerEntries()
    for names in (["count"], ["query"], ["count", "query"]):
        mod = lower_entries(TWO.with_attr("entries", names))
        mains = [v.name_hint for v in mod.functions if v.name_hint.startswith("__tvm")]
        assert sorted(mains) == [f"__tvm_{name}__" for name in names]


def test_an_entry_is_the_same_module_whatever_its_attributes():
    """So that a search lowers it once."""
    seen: dict[str, list[IRModule]] = {}

    def lower(name, alone, streams):
        seen.setdefault(name, []).append(alone)
        return LowerMain()(alone)

    lower_entries = LowerEntries(lower)
    for value in (1, 2):
        lower_entries(TWO.with_attr("asked", value))
    for first, second in seen.values():
        assert first["main"].same_as(second["main"])
        assert (int(first.attrs["asked"]), int(second.attrs["asked"])) == (1, 2)


@pytest.mark.parametrize("kind", [ValueError, UnsupportedModelError])
def test_errors_name_the_entry(kind):
    def failing(name, alone, streams):
        raise kind("no")

    with pytest.raises(kind, match=r'^entry "count": no$'):
        LowerEntries(failing)(TWO)


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

    passes = Sequential([relax.transform.LegalizeOps(), LowerOperators(), LowerMain()])
    with pytest.raises(UnsupportedModelError, match='"a" has sizes that only the run knows, n;'):
        LowerEntries(lambda name, alone, streams: passes(alone))(Symbolic)
