"""What the header says of the function that runs an entry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.interface_views import entry, placed, tensor, workspace
from usmp.codegen.interface.emitted_calls import EmittedCall
from usmp.codegen.interface.entry_facts import UsedState
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.entry_comments import run_comment
from usmp.objects import BufferInfoKind, PlacedBuffer
from usmp.objects.input_window import InputWindow
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.plain.entry_size import EntrySize

ROWS, ROWS_OUT = tensor("x", is_by_rows=True), tensor("y", is_by_rows=True)
STATE = PlacedBuffer("s", "f", int(BufferInfoKind.STATE), "sram", 0, 12, 4, [], [])
SEQ = EntrySize("seq", "seq", 1, 8)


def comment(one=None, others=(), **more):
    """The words of the comment, without line ends."""
    one = one or entry("main", [tensor("x")], [tensor("y")])
    lines = run_comment(Interface("default", [one, *others], one.pools, **more), one)
    assert all(line and line == line.strip(" ") for line in lines)
    return " ".join(lines)


def sentences(*arguments, **known):
    return comment(*arguments, **known).replace(". ", ".\n").split("\n")[1:]


def of(inputs=(), outputs=(), name="main", **more):
    return entry(name, inputs, outputs, **more)


def test_a_plain_run_returns_zero():
    assert comment() == 'Run TVM module "default"; returns 0'


def test_sentences_end_with_a_period_but_for_the_last():
    text = comment(of([tensor("s", is_updated=True)], takes_arena=True))
    assert text.count(". ") == 3 and not text.endswith(".")
    assert ".." not in text


def test_statuses_of_callbacks_or_sizes_are_said():
    assert "returns 0, -1 if a callback is NULL, or the other status" in comment(of([ROWS]))
    sized = comment(of([tensor("x")], sizes=[SEQ, EntrySize("n", "n2", 1, 8)]))
    assert "returns 0, or TVMGEN_DEFAULT_ERROR_SIZE if a size is out of its range" in sized
    assert "the shapes that follow from seq, n2 of inputs" in sized
    assert "takes nothing else" not in sized
    in_workspace = comment(of([placed("x")], sizes=[SEQ]))
    assert "others. It takes nothing else from the struct" in in_workspace


def calls(accelerator, can_fail=True, entry="main"):
    """A statement that calls a function of an accelerator."""
    function = AcceleratorFunction("f", accelerator, "", [], [], can_fail)
    return EmittedCall(entry, ["g"], [], [], [], accelerator_functions=[function])


def test_statuses_of_accelerators_that_can_fail_are_said():
    plain = 'Run TVM module "default"; returns 0'
    never = [calls("npu", can_fail=False), calls("npu", entry="other")]
    assert comment(operators=never) == plain
    one = [*never, calls("npu"), calls("npu")]
    assert comment(operators=one) == f"{plain}, or what a function of npu returned"
    two = [*one, calls("dsp")]
    assert comment(operators=two) == f"{plain}, or what a function of dsp or npu returned"
    assert (
        "returns 0, -1 if a callback is NULL, or the other status that a callback or a function of "
        "npu returned" in comment(of([ROWS]), operators=one)
    )
    assert (
        "returns 0, what a function of npu returned, or TVMGEN_DEFAULT_ERROR_SIZE if a size is out "
        "of" in comment(of([tensor("x")], sizes=[SEQ]), operators=one)
    )


def test_a_pool_at_another_address_is_an_error():
    checked = of(pools=[workspace(address=64)])
    assert "It returns TVMGEN_DEFAULT_ERROR_POOL, and writes nothing," in comment(checked)
    assert "ERROR_POOL" not in comment(of(pools=[workspace()]))


def test_windows_say_which_rows_are_given():
    plain = replace(tensor("x"), window=InputWindow(2, 8))
    (text,) = [each for each in sentences(of([plain])) if "takes" in each]
    assert text.startswith('"x" takes the 2 newest of the 8 rows of a window, the oldest first')
    assert "full of 0 before the first run" in comment(of([plain]))
    quantized = tensor("x", scale=0.5, zero_point=-3)
    assert "full of -3 before" in comment(of([replace(quantized, window=InputWindow(2, 8))]))


@pytest.mark.parametrize(
    ("make", "others", "expected"),
    [
        (tensor, (), "in place; no other tensor may share bytes"),
        (placed, (), "in place; the next run finds the new values there"),
        (placed, (of(name="b"),), "in place; read the new values right after it"),
    ],
)
def test_updated_inputs_are_named(make, others, expected):
    text = comment(of([make("s", is_updated=True), make("x")]), others)
    assert f'It updates "s" {expected}' in text


def test_six_names_are_shown():
    def updated(count):
        return comment(of([tensor(f"s{n}", is_updated=True) for n in range(count)]))

    assert '"s4", "s5" in place' in updated(6)
    assert '"s4", "s5" and 1 more in place' in updated(7)
    assert '"s5" and 3 more in place' in updated(9)


@pytest.mark.parametrize(
    ("one", "others", "expected"),
    [
        (of([placed("x")]), (), "write all inputs before each run, for a run may overwrite them,"),
        (
            of([placed("x"), placed("s", is_updated=True)]),
            (),
            "write all other inputs before each run",
        ),
        (
            of([placed("x")], preserves_inputs=True),
            (),
            "write inputs when they change, for a run leaves them as they are, and read the "
            "outputs before the next",
        ),
        (of([placed("x")]), (of(name="b"),), "write all inputs right before each run"),
    ],
)
def test_the_workspace_says_when_to_write_and_read(one, others, expected):
    text = comment(one, others)
    assert f"where map_inputs and map_outputs say: {expected}" in text
    assert "live in the workspace" not in comment(of([tensor("x")]), others)


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        ([ROWS], [placed("y")], {"Outputs"}),
        ([placed("x")], [ROWS_OUT], {"Other inputs"}),
        ([ROWS, placed("z")], [placed("y")], {"Other inputs", "Outputs"}),
        ([ROWS], [ROWS_OUT, placed("z")], {"Other outputs"}),
    ],
)
def test_tensors_beside_rows_are_in_the_workspace(inputs, outputs, expected):
    text = comment(of(inputs, outputs))
    found = [each for each in sentences(of(inputs, outputs)) if "live in the workspace" in each]
    assert {each.split(" live")[0] for each in found} == expected
    assert "map_inputs and map_outputs say" not in text


def test_kept_bytes_are_those_of_all_states():
    kept = comment(states=[STATE, STATE])
    assert "24 bytes of the workspace are kept from one run to the next" in kept
    assert "kept" not in comment()


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], "It uses none of the 12 bytes"),
        ([UsedState("s", 8, True)], 'It changes 8 ("s") of the 12 bytes'),
        ([UsedState("s", 8, False)], 'It only reads 8 ("s") of the 12 bytes'),
        (
            [UsedState("s", 8, True), UsedState("t", 3, False), UsedState("u", 1, True)],
            'It changes 9 ("s", "u") and only reads 3 ("t") of the 12 bytes',
        ),
    ],
)
def test_an_entry_says_which_states_it_changes(states, expected):
    assert expected in comment(of(name="a", states=states), (of(name="b"),), states=[STATE])


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], "No other entry may run at the same time"),
        (["b"], 'Only entry "b" may run at the same time'),
        (["b", "c"], 'Only entries "b", "c" may run at the same time'),
    ],
)
def test_entries_that_may_run_at_once_are_named(others, expected):
    text = comment(of(name="a", concurrent_with=others), (of(name="b"),))
    assert text.startswith('Run entry "a" of TVM module "default"') and expected in text
    assert "same time" not in comment()


def test_memory_of_dynamic_size_is_the_arenas_or_the_runtimes():
    arena = comment(of(takes_arena=True))
    assert "the run returns TVMGEN_DEFAULT_STATUS_NO_MEMORY" in arena and "`arena`" in arena
    called = comment(dynamic_allocator="malloc")
    assert "of TVM's runtime, and returns TVMGEN_DEFAULT_STATUS_NO_MEMORY if" in called
    assert "NO_MEMORY" not in comment()
