"""Options of the pass context: what they take, and what is refused."""

import pytest
from tvm.ir.transform import PassContext

import usmp.objects  # noqa: F401
from usmp.tvm018.pass_options import RENAMED_CONFIGS

RENAMED = {row.name for row in RENAMED_CONFIGS}

BOOL_OPTIONS = [
    "tir.usmp.enable",
    "tir.usmp.preserve_inputs",
    "tir.usmp.use_workspace_io",
]
STRING_OPTIONS = [
    "tir.usmp.algorithm",
    "tir.usmp.code",
    "tir.usmp.custom_algorithm",
    "tir.usmp.optimize",
    "tir.usmp.placement",
    "tir.usmp.time_budget",
]
NAMES_OPTIONS = [
    "tir.usmp.debug",
    "tir.usmp.dynamic",
    "tir.usmp.stream_inputs",
    "tir.usmp.stream_outputs",
]
PERCENTAGE_OPTIONS = ["tir.usmp.max_extra_macs"]


def read_back(options, values):
    """What the options are after each of the values was given, of which `options` are names."""
    found = {}
    for option in options:
        for value in values:
            with PassContext(config={option: value}):
                found.setdefault(option, []).append(PassContext.current().config[option])
    return found


def test_bool_options_read_back():
    found = read_back(BOOL_OPTIONS, [True, False, 1, 0])
    # An int is equal to a bool.
    texts = {option: str(values) for option, values in found.items()}
    assert texts == dict.fromkeys(BOOL_OPTIONS, "[True, False, True, False]")


def test_string_options_read_back():
    found = read_back(STRING_OPTIONS, ["greedy_by_conflicts"])
    assert found == {option: ["greedy_by_conflicts"] for option in STRING_OPTIONS}


def test_names_options_are_arrays_or_have_commas():
    found = read_back(NAMES_OPTIONS, ["", "a", "a,b:0", ["a,b"], []])
    lists = {option: [list(names) for names in values] for option, values in found.items()}
    read = [[], ["a"], ["a", "b:0"], ["a,b"], []]
    assert lists == {option: read for option in NAMES_OPTIONS}


def test_percentage_options_read_back():
    values = ["10%", 10, 2.5]
    found = read_back(PERCENTAGE_OPTIONS, values)
    assert found == {option: values for option in PERCENTAGE_OPTIONS}


def test_options_are_unset_by_default():
    assert not [key for key in PassContext().config if key.startswith("tir.usmp")]


@pytest.mark.parametrize(
    ("options", "value", "expected", "got"),
    [
        (BOOL_OPTIONS, "abc", "bool", "ffi.SmallStr"),
        (BOOL_OPTIONS, 1.0, "bool", "float"),
        (STRING_OPTIONS, 3, "str", "int"),
        (NAMES_OPTIONS, 3, "Array<str>", "int"),
        (PERCENTAGE_OPTIONS, True, "percentage", "bool"),
        (PERCENTAGE_OPTIONS, [1], "percentage", "ffi.Array"),
    ],
)
def test_wrong_type_is_refused(options, value, expected, got):
    messages = []
    for option in options:
        with pytest.raises(AttributeError) as error:
            PassContext(config={option: value})
        messages.append(str(error.value))
    assert messages == [
        f"Expect config {option} to have type {expected}, but instead get {got}"
        for option in options
    ]


def test_wrong_type_is_refused_as_by_an_option_of_tvm():
    messages = []
    for option in ("tirx.disable_vectorize", "tir.usmp.enable"):
        with pytest.raises(AttributeError) as error:
            PassContext(config={option: "abc"})
        messages.append(str(error.value).replace(option, "KEY"))
    assert messages[0] == messages[1]


def test_unknown_option_lists_ours_among_the_candidates():
    with pytest.raises(AttributeError) as error:
        PassContext(config={"tir.usmp.nope": 1})
    head, _, candidates = str(error.value).partition(" candidates are: ")
    assert head == "Invalid config option 'tir.usmp.nope'"
    known = {name.strip() for name in candidates.split(",")}
    assert known >= {*BOOL_OPTIONS, *STRING_OPTIONS, *NAMES_OPTIONS, *PERCENTAGE_OPTIONS}


def test_options_are_listed_with_their_types():
    ours = {
        key: str(value)
        for key, value in PassContext.list_configs().items()
        if key.startswith("tir.usmp") and key not in RENAMED
    }
    assert ours == {
        **{option: '{"type": "bool"}' for option in BOOL_OPTIONS},
        **{option: '{"type": "str"}' for option in STRING_OPTIONS},
        **{option: '{"type": "Array<str>"}' for option in NAMES_OPTIONS},
        **{option: '{"type": "percentage"}' for option in PERCENTAGE_OPTIONS},
    }
