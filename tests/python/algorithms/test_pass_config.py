import pytest
from tvm.ir.transform import PassContext

import usmp.objects  # noqa: F401

BOOL_OPTIONS = [
    "tir.usmp.enable",
    "tir.usmp.order_operators",
    "tir.usmp.overlap",
    "tir.usmp.poison_dead_bytes",
    "tir.usmp.preserve_inputs",
    "tir.usmp.profile",
    "tir.usmp.prune_constant_channels",
    "tir.usmp.streaming",
    "tir.usmp.use_workspace_io",
    "tir.usmp.verify_kernels",
]
STRING_OPTIONS = [
    "tir.usmp.algorithm",
    "tir.usmp.code",
    "tir.usmp.custom_algorithm",
    "tir.usmp.dynamic",
    "tir.usmp.dynamic_allocator",
    "tir.usmp.optimize",
    "tir.usmp.placement",
    "tir.usmp.time_budget",
]
NAMES_OPTIONS = ["tir.usmp.stream_inputs", "tir.usmp.stream_outputs"]
PERCENTAGE_OPTIONS = ["tir.usmp.max_extra_macs"]


@pytest.mark.parametrize("option", BOOL_OPTIONS)
@pytest.mark.parametrize(("value", "read"), [(True, True), (False, False), (1, True), (0, False)])
def test_bool_option_reads_back(option, value, read):
    with PassContext(config={option: value}):
        assert PassContext.current().config[option] is read


@pytest.mark.parametrize("option", STRING_OPTIONS)
def test_string_option_reads_back(option):
    with PassContext(config={option: "greedy_by_conflicts"}):
        assert PassContext.current().config[option] == "greedy_by_conflicts"


@pytest.mark.parametrize("option", NAMES_OPTIONS)
@pytest.mark.parametrize(
    ("value", "read"),
    [("", []), ("a", ["a"]), ("a,b:0", ["a", "b:0"]), (["a,b"], ["a,b"]), ([], [])],
)
def test_names_option_is_an_array_or_has_commas(option, value, read):
    with PassContext(config={option: value}):
        assert list(PassContext.current().config[option]) == read


@pytest.mark.parametrize("option", PERCENTAGE_OPTIONS)
@pytest.mark.parametrize("value", ["10%", 10, 2.5])
def test_percentage_option_reads_back(option, value):
    with PassContext(config={option: value}):
        assert PassContext.current().config[option] == value


def test_options_are_unset_by_default():
    assert not [key for key in PassContext().config if key.startswith("tir.usmp")]


@pytest.mark.parametrize(
    ("option", "value", "expected", "got"),
    [
        *((option, "abc", "bool", "ffi.SmallStr") for option in BOOL_OPTIONS),
        *((option, 1.0, "bool", "float") for option in BOOL_OPTIONS),
        *((option, 3, "str", "int") for option in STRING_OPTIONS),
        *((option, 3, "Array<str>", "int") for option in NAMES_OPTIONS),
        *((option, True, "percentage", "bool") for option in PERCENTAGE_OPTIONS),
        *((option, [1], "percentage", "ffi.Array") for option in PERCENTAGE_OPTIONS),
    ],
)
def test_wrong_type_is_refused(option, value, expected, got):
    with pytest.raises(AttributeError) as error:
        PassContext(config={option: value})
    assert str(error.value) == (
        f"Expect config {option} to have type {expected}, but instead get {got}"
    )


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
        if key.startswith("tir.usmp")
    }
    assert ours == {
        **{option: '{"type": "bool"}' for option in BOOL_OPTIONS},
        **{option: '{"type": "str"}' for option in STRING_OPTIONS},
        **{option: '{"type": "Array<str>"}' for option in NAMES_OPTIONS},
        **{option: '{"type": "percentage"}' for option in PERCENTAGE_OPTIONS},
    }
