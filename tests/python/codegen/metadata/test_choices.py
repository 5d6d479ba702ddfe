"""What metadata.json says of choices of the compiler: from the attributes of the module."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import tirx as T

from usmp.codegen.metadata.choices import (
    float_operators,
    image_layout,
    merged_operators,
    model_files,
    operator_order,
    pruned_channels,
    reference,
    schedule_choices,
    search,
    streaming,
)
from usmp.objects.attributes.compared import Alternative, Compared, with_compared
from usmp.objects.attributes.module_attributes import (
    CODE_ATTR,
    FLOAT_OPERATORS_ATTR,
    MODEL_FILES_ATTR,
    PRUNED_CHANNELS_ATTR,
    REFERENCE_ATTR,
)
from usmp.objects.attributes.operator_attributes import MERGED_FUNCTIONS_ATTR

CASES = {
    float_operators: (FLOAT_OPERATORS_ATTR.name, {"exp": 2, "add": 1}, {"add": 1, "exp": 2}),
    pruned_channels: (
        PRUNED_CHANNELS_ATTR.name,
        {"macs": 7, "channels": 3},
        {"pruned_channels": {"channels": 3, "macs": 7}},
    ),
    model_files: (MODEL_FILES_ATTR.name, ["a.onnx", "b"], {"model_files": ["a.onnx", "b"]}),
    reference: (REFERENCE_ATTR.name, {"file": "r.so"}, {"reference": {"file": "r.so"}}),
}


@pytest.mark.parametrize("described", CASES, ids=lambda function: function.__name__)
def test_an_attribute_is_said_and_nothing_without_it(described):
    attribute, value, expected = CASES[described]
    said = described(IRModule({}).with_attr(attribute, value))
    assert said == expected
    # The order of keys is that of the file, and the same in each build.
    assert str(said) == str(expected)
    assert described(IRModule({})) == {}
    assert described(IRModule({}).with_attr("other", 1)) == {}


ORDER_DETAILS = {"importer_live_bytes": 9, "live_bytes": 8, "least_live_bytes": 8}
GOALS = {"optimize": "ram", "ram": {"peak_bytes": 5, "instructions": 9}}
LAYOUTS = {"channels_last_peak_bytes": 5, "layout": "NCHW", "channels_first_peak_bytes": 4}
VIEWS = {
    schedule_choices: ("tiles", GOALS, {"schedule_choices": GOALS}),
    image_layout: ("layout", LAYOUTS, {"image_layout": LAYOUTS}),
    operator_order: (
        "order",
        ORDER_DETAILS,
        {"operator_order": {**ORDER_DETAILS, "optimal": True}},
    ),
    streaming: ("segments", {"least_live_bytes": 3}, {"streaming": {"least_live_bytes": 3}}),
}


def compared(*lines):
    return with_compared(IRModule({}), lines)


@pytest.mark.parametrize("view", VIEWS, ids=lambda function: function.__name__)
def test_older_keys_are_views_of_what_was_compared(view):
    stage, details, expected = VIEWS[view]
    mod = compared(Compared("copies", "all"), Compared(stage, "a", details=details))
    assert view(mod) == expected
    assert view(IRModule({})) == {}
    assert view(compared(Compared("copies", "all"))) == {}


@pytest.mark.parametrize("view", [schedule_choices, image_layout, streaming])
def test_older_keys_say_nothing_of_one_of_several_entries(view):
    stage, details, _ = VIEWS[view]
    assert view(compared(Compared(stage, "a", entry="main", details=details))) == {}


def test_an_order_with_more_than_the_least_bytes_is_not_optimal():
    said = operator_order(
        compared(Compared("order", "a", details={**ORDER_DETAILS, "live_bytes": 9}))
    )
    assert said["operator_order"]["optimal"] is False


def test_of_several_entries_the_order_that_needs_most_counts():
    other = {"importer_live_bytes": 7, "live_bytes": 7, "least_live_bytes": 9}
    lines = [
        Compared("order", "a", entry=name, details=details)
        for name, details in (("one", ORDER_DETAILS), ("two", other), ("three", {}))
    ]
    most = {"importer_live_bytes": 9, "least_live_bytes": 9, "live_bytes": 8}
    assert operator_order(compared(*lines)) == {"operator_order": {**most, "optimal": False}}


def test_what_was_compared_is_said_line_by_line():
    others = (
        Alternative("fused", "larger", 9),
        Alternative("other", "bound", bound_bytes=8),
        Alternative("last", "refused: no"),
    )
    lines = [
        Compared("groups", "split", 7, others, entry="e", details={"secret": 1}),
        Compared("order", "as imported"),
    ]
    assert search(compared(*lines)) == {
        "search": [
            {
                "stage": "groups",
                "entry": "e",
                "taken": "split",
                "unit": "bytes",
                "peak_bytes": 7,
                "alternatives": [
                    {"value": "fused", "peak_bytes": 9, "why": "larger"},
                    {"value": "other", "bound_bytes": 8, "why": "bound"},
                    {"value": "last", "why": "refused: no"},
                ],
            },
            {"stage": "order", "taken": "as imported", "unit": "bytes", "alternatives": []},
        ]
    }
    assert search(IRModule({})) == {}


def test_shared_functions_are_said_with_their_origins():
    @T.prim_func(private=True)
    def body():
        T.evaluate(0)

    names = {"b": ["y", "x"], "a": ["z"]}
    merged = {name: body.with_attr(MERGED_FUNCTIONS_ATTR.name, of) for name, of in names.items()}
    mod = IRModule({**merged, "plain": body}).with_attr(CODE_ATTR.name, "balanced")
    said = merged_operators(mod)
    assert said == {
        "merged_functions": {"a": ["z"], "b": ["y", "x"]},
        "shared_code": "balanced",
    }
    assert list(said["merged_functions"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("code", "said"),
    [("small", {"merged_functions": {}, "shared_code": "small"}), ("balanced", {}), ("fast", {})],
)
def test_small_code_says_also_that_no_functions_are_shared(code, said):
    assert merged_operators(IRModule({}).with_attr(CODE_ATTR.name, code)) == said
