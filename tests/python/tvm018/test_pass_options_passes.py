"""Passes that a PassContext of TVM 0.18 disables or requires, and its levels of optimization."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.instrument import pass_instrument
from tvm.ir.transform import PassContext

import usmp
from support import levels
from support.compatibility_notes import WITH_PARAMS, Fused, told, without_notes
from support.relax_models import Attention, X, attention
from usmp.current_context import PASSES, current_context
from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning
from usmp.tvm018 import DISABLED_PASSES
from usmp.tvm018.pass_options import OPTIONAL_PASSES


def test_passes_that_can_be_left_out_are_written_with_the_package_or_without():
    for name in OPTIONAL_PASSES:
        for written in (name, f"usmp.{name}"):
            with PassContext(disabled_pass=[written]):
                assert list(current_context()[0].disabled_pass) == [f"usmp.{name}"]


def passes_without(*names: str) -> set[str]:
    """Which passes of the package run, without these."""
    ran: set[str] = set()

    @pass_instrument
    class Names:
        def run_before_pass(self, mod, info):
            ran.add(str(info.name).removeprefix("usmp."))

    with PassContext(disabled_pass=names, instruments=[Names()]):
        usmp.build(Fused)
    return ran


@pytest.mark.slow
def test_passes_that_can_be_left_out():
    usual = passes_without() & {*OPTIONAL_PASSES}
    remaining = passes_without(*OPTIONAL_PASSES)
    assert not remaining & {*OPTIONAL_PASSES}
    assert "LowerMain" in remaining
    for name in levels.sample(sorted(usual), 3):
        assert name not in passes_without(name)


@pytest.mark.slow
@pytest.mark.cc
def test_without_all_passes_that_can_be_left_out_results_are_the_same():
    factory, notes = told(Attention, WITH_PARAMS, disabled_pass=list(OPTIONAL_PASSES))
    assert notes == []
    (output,) = factory.run({"x": X}).values()
    np.testing.assert_allclose(output, attention(), rtol=1e-5)


def test_passes_that_are_needed_are_refused():
    needed = sorted({*PASSES} - {*OPTIONAL_PASSES})
    assert len(needed) > 10
    for name in needed:
        with (
            PassContext(disabled_pass=[name]),
            pytest.raises(ValueError, match=f"^disabled_pass={name}: there is no code without"),
        ):
            usmp.build(Fused)


def test_without_fold_constant_our_pass_is_left_out():
    factory, (note,) = told(disabled_pass=["FoldConstant"])
    assert note == "disabled_pass=FoldConstant: usmp.FoldConstants takes its place"
    assert factory.files() == without_notes(disabled_pass=["FoldConstants"])


@pytest.mark.parametrize("name", ["FuseOps", "relax.FuseOps"])
def test_without_fuse_ops_nothing_is_fused(name):
    separate, (note,) = told(disabled_pass=[name])
    assert note == f"disabled_pass={name}: each operator of the model is a function of its own"
    assert separate.files() == without_notes(config={"relax.FuseOps.max_depth": 1})


def test_passes_that_are_gone_are_told():
    gone = [row for row in DISABLED_PASSES if "of Relay is gone" in row.reason]
    names = [row.name.partition("=")[2] for row in gone]
    factory, notes = told(disabled_pass=names)
    assert notes == [row.sentence() for row in gone]
    assert factory.files() == without_notes()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Nope", "Such passes: ChooseSchedules, "),
        ("LegalizeOps", "Such passes: "),
        ("StreamOperator", 'Did you mean "StreamOperators"?'),
    ],
)
def test_names_that_no_pass_has_are_told(name, meant):
    factory, (note,) = told(disabled_pass=[name])
    assert note.startswith(f"disabled_pass={name}: no pass that can be left out has this name")
    assert f"so nothing is turned off. {meant}" in note
    assert factory.files() == without_notes()


def test_required_passes_are_told():
    factory, (note,) = told(required_pass=["FastMath"])
    assert note.startswith("required_pass=FastMath: has no effect")
    assert factory.files() == without_notes()


@pytest.mark.parametrize(
    ("level", "category"),
    [(0, CompatibilityWarning), (1, CompatibilityNote), (4, CompatibilityNote)],
)
def test_levels_of_optimization_are_told(level, category):
    with (
        PassContext(opt_level=level),
        pytest.warns(category, match=f"^opt_level={level}: ") as notes,
    ):
        files = usmp.build(Fused).files()
    assert [warning.category for warning in notes] == [category]
    fusing = next(list(row.to) for row in DISABLED_PASSES if "FuseOps" in row.name)
    assert files == without_notes(disabled_pass=fusing if level == 0 else [])


def test_levels_that_tvm_0_18_had_no_passes_for():
    with PassContext(opt_level=9), pytest.warns(CompatibilityNote, match="^opt_level=9: all pa"):
        usmp.build(Fused)
    with PassContext(opt_level=-1), pytest.raises(ValueError) as error:
        usmp.build(Fused)
    assert str(error.value) == "opt_level=-1: a level is 0 or more; leave it out for all passes"


@pytest.mark.parametrize("level", [2, 3])
def test_usual_levels_are_not_told(level):
    assert without_notes(opt_level=level) == without_notes()
