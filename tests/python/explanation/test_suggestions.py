"""Which pairs of options are tried, after each option alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tvm

import usmp
from support.quantized_models.masks import image_to_mask
from support.small_digits import small_convolutions, small_digits
from usmp.explanation.suggestions import Suggestion, _pairs, suggestions
from usmp.explanation.trials import AS_IT_IS, Trial
from usmp.exploration.result import BUILT, REFUSED, Result
from usmp.frontend.tflite.importer import import_tflite
from usmp.planning.session import planning_session

OWN = Result(BUILT, workspace_bytes=100, io_bytes=50, constant_bytes=0)


def outcome(name, workspace=None, io=50, **known):
    """What a trial takes; refused without bytes."""
    result = Result(BUILT, workspace_bytes=workspace, io_bytes=io, constant_bytes=0)
    result = Result(REFUSED, "no") if workspace is None else result
    return Suggestion(Trial(name, f"--{name}", name, config={name: 1}, **known), result)


def pairs(*tried, limit=None):
    return [pair.flag for pair in _pairs(tried, OWN, limit)]


def test_pairs_of_options_that_both_save():
    rows, strips, none = outcome("rows", 100, 2), outcome("strips", 60), outcome("none", 100)
    assert pairs(rows, strips, none) == ["--rows --strips"]
    assert pairs(rows, none, outcome("refused"), outcome("worse", 120)) == []
    assert pairs(rows, outcome("search", 60, search_seconds=1.0)) == []


def test_the_least_expected_comes_first():
    tried = [outcome("a", 90), outcome("b", 80), outcome("c", 60), outcome("d", 70)]
    assert pairs(*tried) == ["--c --d", "--b --c", "--a --c"]


def test_inputs_in_the_workspace_save_no_more_than_what_is_outside():
    inside = outcome("use_workspace_io", 110, 0)
    assert pairs(inside, outcome("rows", 100, 1)) == []
    assert pairs(inside, outcome("types", 100, 20)) == ["--use_workspace_io --types"]


def test_a_byte_is_enough_if_the_limit_needs_it():
    tried = outcome("use_workspace_io", 110, 0), outcome("rows", 100, 1)
    assert pairs(*tried, limit=100) == ["--use_workspace_io --rows"]
    assert pairs(*tried, limit=99) == []


def test_options_of_the_code_go_with_those_that_save_ram():
    code = outcome("code", 100, is_of_code=True)
    assert pairs(outcome("rows", 100, 2), outcome("none", 100), code) == ["--rows --code"]


@pytest.mark.slow
def test_trials_write_no_code_and_lower_the_model_once():
    seen = []

    @tvm.instrument.pass_instrument
    class Noting:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    mod, arguments = import_tflite(small_convolutions()), {"executor": usmp.Executor("aot")}
    with planning_session() as session, tvm.transform.PassContext(instruments=[Noting()]):
        module = usmp.build(mod, **arguments)
        own = module.metadata["modules"]["default"]
        found = list(suggestions(session, mod, arguments, own))
    assert "--workspace-io" in [s.flag for s in found]
    assert seen.count("usmp.MergeSimilarFunctions") == 1
    assert seen.count("usmp.LowerOperators") == 1


@pytest.mark.slow
def test_rows_of_one_of_several_entries_are_planned():
    """Alone and in a pair, by names that the options take."""
    models = {"one": import_tflite(image_to_mask(2)), "two": import_tflite(small_digits())}
    found = {s.flag: s for s in usmp.explain(models).suggestions}
    refused = {flag: s.result.reason for flag, s in found.items() if s.ram_bytes is None}
    assert list(refused) == ["--stream-input two.image"]
    assert refused["--stream-input two.image"].startswith('entry "two": input "image" cannot')
    alone, inside = found["--stream-input one.t0"], found["--workspace-io"]
    pair = found["--workspace-io --stream-input one.t0"]
    assert pair.ram_bytes < min(alone.ram_bytes, inside.ram_bytes)


@pytest.mark.parametrize(("known", "instructions"), [(2, 900), (1, None), (0, None)])
def test_instructions_of_fewer_than_half_of_the_operators_are_left_out(known, instructions):
    result = Result(BUILT, instructions=900, operators=4, estimated_operators=known)
    suggestion = Suggestion(AS_IT_IS, result)
    assert suggestion.figures()["instructions"] == instructions
    measured = replace(suggestion, measured_instructions=7)
    assert measured.figures()["instructions"] == 7
