"""usmp.explain: what it says of a model is what the model's plans have."""

from __future__ import annotations

import io
import re
from contextvars import Context

import pytest
import tvm
from rich.console import Console

import usmp
from conftest import ROOT
from support.planner_contexts import planner_context
from support.small_digits import small_convolutions
from usmp.explanation import suggestions as suggested
from usmp.frontend.tflite.importer import import_tflite
from usmp.planning.session import planning_session
from usmp.report.explanation import print_explanation
from usmp.report.explanation.operators import knows_operators

pytestmark = pytest.mark.usefixtures("digits_session")

PAGE = (ROOT / "docs/explain.md").read_text()
DIGITS = ROOT / "examples/digits/digits_int8.tflite"


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def explanation(told):
    return usmp.explain(DIGITS, progress=told.append)


@pytest.mark.slow
def test_it_is_the_plan_of_a_build(explanation, digits_model):
    built = usmp.build(digits_model)
    assert explanation.module.source == built.source
    assert explanation.document["ram"]["size_bytes"] == built.ram_bytes


@pytest.mark.slow
def test_each_suggestion_is_what_a_build_with_its_options_takes(explanation, digits_model):
    suggestions = {each["flag"]: each for each in explanation.document["suggestions"]}
    assert list(suggestions) == [
        "--workspace-io",
        "--stream-input image",
        "--pass-config tir.usmp.max_extra_macs=10%",
        "--executor-aot-workspace-byte-alignment 4",
    ]
    # One by an option of planning, which shares what is lowered, and one by another executor.
    for flag in (next(iter(suggestions)), list(suggestions)[-1]):
        each, executor = suggestions[flag], {}
        if "alignment" in flag:
            executor = {"workspace-byte-alignment": 4}
        with tvm.transform.PassContext(config=each["pass_config"]):
            built = usmp.build(digits_model, executor=usmp.Executor("aot", executor))
        assert each["ram_bytes_after"] == built.ram_bytes
        assert each["saved_bytes"] == explanation.module.ram_bytes - built.ram_bytes
        assert each["refused"] is None


@pytest.mark.slow
def test_suggestions_are_typed_and_cost_no_code(explanation):
    """The same as in the document, which has no C."""
    of_document = explanation.document["suggestions"]
    assert [s.flag for s in explanation.suggestions] == [each["flag"] for each in of_document]
    own = explanation.module.metadata["modules"]["default"]["memory"]["ram"]["size_bytes"]
    assert explanation.result.ram_bytes == own
    for suggestion, each in zip(explanation.suggestions, of_document, strict=True):
        result = suggestion.result
        assert (suggestion.ram_bytes, result.code_bytes) == (each["ram_bytes_after"], None)
        assert result.instructions == each["instructions_after"] > 0


@pytest.mark.slow
def test_reasons_are_the_overlaps_of_the_plan(explanation):
    """Of the pairs that are live at the peak, those that share bytes do at the distance that is
    given as the reason."""
    (pool,) = explanation.document["pools"]
    pairs = {(pair["dying"], pair["written"]): pair for pair in pool["pairs"]}
    pair = pairs["fused_conv2d2_add", "max_pool"]
    assert (pair["distance_bytes"], pair["shared_bytes"]) == (32, 224)
    because = pair["because"]
    assert because["functions"] == ["conv2d3_to_max_pool"]
    # A pixel of 64 channels is written, then the second of 32 channels is read.
    assert (because["written_end"], because["first_accessed"]) == (64, 32)
    assert (pair["dying_row_bytes"], pair["written_row_bytes"]) == (128, 128)


@pytest.mark.slow
def test_what_forces_the_peak(explanation):
    (pool,) = explanation.document["pools"]
    assert pool["forced_by"] == {
        "kind": "live at one time",
        "buffers": ["fused_conv2d2_add", "max_pool", "conv2d3_ring"],
        "bytes_behind_states": 0,
        "is_irreducible": True,
    }


@pytest.mark.slow
def test_progress_names_what_is_tried(explanation, told):
    assert told[0] == "explaining"
    assert told[1] == "trying --workspace-io (1 of 4)"


@pytest.mark.slow
def test_a_model_without_room_for_more():
    """Refused, with the reason; and by an algorithm that shares nothing."""
    config = {"tir.usmp.algorithm": "no_sharing", "tir.usmp.preserve_inputs": True}
    options = {"interface-api": "packed"}
    with tvm.transform.PassContext(config=config, disabled_pass=["OverlapInputsAndOutputs"]):
        found = usmp.explain(
            import_tflite(small_convolutions()), executor=usmp.Executor("aot", options)
        )
    suggestions = {each["name"]: each for each in found.document["suggestions"]}
    assert suggestions["use_workspace_io"]["refused"] is not None
    assert suggestions["algorithm"]["saved_bytes"] > 0
    (pool,) = found.document["pools"]
    assert {pair["kind"] for pair in pool["pairs"]} == {"overlap is off"}
    assert "by the algorithm no_sharing" in found.document["not_interleaved"]


@pytest.mark.slow
def test_a_session_lowers_one_module_once():
    """Builds of one module in one session share what does not depend on options of planning, nor on
    where buffers may be."""
    module, executor, lowered = import_tflite(small_convolutions()), usmp.Executor("aot"), []

    @tvm.instrument.pass_instrument
    class Noting:
        def run_before_pass(self, mod, info):
            lowered.extend([info.name] if info.name == "usmp.LowerOperators" else [])

    def build(config=None, **arguments):
        with planner_context(config or {}, instruments=[Noting()]):
            return usmp.build(module, **{"executor": executor, **arguments}).ram_bytes

    words = usmp.Executor("aot", {"workspace-byte-alignment": 4})
    pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", ["c"])])
    shared = (
        {},
        {"config": {"disabled_pass": ("StreamOperators",)}},
        {"config": {"stream_inputs": ["image"]}},
        {"executor": words},
        {"workspace_memory_pools": pools},
    )
    packed = usmp.Executor("aot", {"interface-api": "packed"})
    others = ({"config": {"disabled_pass": ("PruneConstantChannels",)}}, {"executor": packed})

    def check():
        with planning_session():
            ram = [build(**each) for each in shared]
            assert len(lowered) == 1
            for count, each in enumerate(others, 2):
                build(**each)
                assert len(lowered) == count
        return ram

    # A context of its own has no session yet.
    assert Context().run(check) == [build(**each) for each in shared]


@pytest.mark.slow
def test_the_example_of_the_page(explanation):
    if not knows_operators(explanation.module.metadata["modules"]["default"]):
        pytest.skip("the metadata does not say when operators run")
    (example,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    terminal = Console(file=io.StringIO(), width=100, highlight=False)
    print_explanation(explanation.document, terminal)
    printed = terminal.file.getvalue().splitlines()
    assert [line.rstrip() for line in printed] == example.splitlines()


@pytest.mark.slow
def test_every_field_has_a_row_in_the_page(explanation):
    document = explanation.document
    (pool,) = document["pools"]
    fields = {*document, *pool, *document["suggestions"][0], *pool["live_at_peak"][0]}
    table = PAGE.split("## JSON")[1].replace("`.", "`").replace("[]`", "`")
    assert [field for field in sorted(fields) if f"`{field}`" not in table] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the pool is full; enlarge it", "the pool is full"),
        ("the pool is full.\nIt has 8 bytes; enlarge it", "the pool is full"),
        ("x" * 160, "x" * 160),
        ("x" * 161, "x" * 157 + "..."),
    ],
)
def test_a_refusal_is_its_cause_in_few_words(text, words):
    assert suggested._in_few_words(ValueError(text)) == words
