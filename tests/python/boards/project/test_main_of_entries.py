"""The `main.c` of a board whose model has several entries."""

from __future__ import annotations

from support.c_text_views import statements
from support.interface_views import entry, placed, tensor, workspace
from usmp.boards.board import board_named
from usmp.boards.project.main_of_entries import print_main_of_entries
from usmp.codegen.interface.module_interface import Interface
from usmp.objects import BufferInfoKind, PlacedBuffer
from usmp.plain.entry_size import EntrySize

BOARD = board_named("mps2-an385")
SEQ = EntrySize("seq", "seq", 1, 8)
X, Y = tensor("x"), tensor("y")


def main_of(*entries, **more):
    return print_main_of_entries(Interface("default", list(entries), [], **more), BOARD)


def run_of(one, **more):
    return statements(main_of(one, entry("other", [X], [Y]), **more), f"run_{one.name}")


def test_entries_are_found_by_names_of_any_length():
    text = main_of(entry("a"), entry("longest"), entry("bc"))
    table = text.split("entries[] = {\n")[1].split("\n};")[0].split("\n")
    assert [line.strip() for line in table] == [
        '{"a", run_a},',
        '{"longest", run_longest},',
        '{"bc", run_bc},',
    ]
    # A character more than the longest name, and the end of the string.
    assert "NAME_BYTES = 7 + 2 };" in text


def test_tensors_outside_the_workspace_are_filled_and_stored():
    lines = run_of(entry("a", [X], [Y]))
    prefix = "TVMGEN_DEFAULT_A"
    assert lines[:4] == [
        f"static uint8_t input_x[{prefix}_X_SIZE] __attribute__((aligned(16)));",
        "struct tvmgen_default_a_inputs inputs = {input_x};",
        f"static uint8_t output_y[{prefix}_Y_SIZE] __attribute__((aligned(16)));",
        "struct tvmgen_default_a_outputs outputs = {output_y};",
    ]
    assert f"if (!fill(files->inputs, input_x, {prefix}_X_SIZE)) {{" in lines
    assert f"if (!store(files->outputs, outputs.y, {prefix}_Y_SIZE)) {{" in lines
    assert "const int32_t status = tvmgen_default_a_run(&inputs, &outputs);" in lines
    order = [" ".join(lines).index(part) for part in ("fill(", "_run(", "store(", "report(")]
    assert order == sorted(order)


def test_places_in_the_workspace_are_asked_for_where_there_are_tensors():
    lines = run_of(entry("a", [placed("x")], []))
    assert lines[0] == "struct tvmgen_default_a_inputs inputs = tvmgen_default_a_map_inputs();"
    assert not any("map_outputs" in line for line in lines)
    assert "if (!fill(files->inputs, inputs.x, TVMGEN_DEFAULT_A_X_SIZE)) {" in lines
    outputs = run_of(entry("a", [], [placed("y")]))
    assert not any("map_inputs" in line for line in outputs)
    sized = run_of(entry("a", [], [placed("y")], sizes=[SEQ]))
    assert sized[0] == "struct tvmgen_default_a_inputs inputs = tvmgen_default_a_map_inputs();"


def test_sizes_are_read_if_there_is_a_file():
    lines = run_of(entry("a", [X], [Y], sizes=[SEQ]))
    assert "struct tvmgen_default_a_inputs inputs = {input_x, TVMGEN_DEFAULT_A_SEQ_MAX};" in lines
    assert "struct tvmgen_default_a_outputs outputs = {output_y};" in lines
    start = lines.index("if (files->inputs >= 0) {")
    assert lines[start + 1].startswith("if (semihosting_read(files->inputs, &inputs.seq,")
    assert 'return failed("entry a", ": inputs.bin has no size that is in its range");' in lines
    assert "if (files->inputs >= 0) {" not in run_of(entry("a", [X], [Y]))


def test_updated_inputs_are_stored_behind_the_outputs():
    lines = run_of(entry("a", [tensor("s", is_updated=True)], [Y]))
    stored = [line for line in lines if "store(" in line]
    assert [line.split(", ")[1] for line in stored] == ["outputs.y", "inputs.s"]


def test_rows_are_read_and_written_where_those_of_the_run_begin():
    """An entry without rows leaves the files where the next run begins."""
    mixed = [tensor("r", (8, 4), is_by_rows=True), X]
    one = entry("a", mixed, [tensor("s", (8, 4), is_by_rows=True)])
    text = main_of(one, entry("b", mixed, [Y]), entry("c", [X], [Y]))
    lines = statements(text, "run_a")
    macro = "TVMGEN_DEFAULT_A"
    for line in (
        "inputs.x = input_x;",
        "inputs.read_r = read_row_of_0_r;",
        "inputs.r_context = &rows_of_input_0_r;",
        "outputs.write_s = write_row_of_0_s;",
        "rows_of_input_0_r.start = files->inputs_start;",
        "rows_of_output_0_s.start = files->outputs_start;",
    ):
        assert line in lines
    assert not any("input_r" in line or "outputs.s," in line for line in lines)
    seek = lines.index(f"semihosting_seek(files->inputs, files->inputs_start + {macro}_R_SIZE);")
    assert "fill(files->inputs, input_x" in lines[seek + 1]
    assert lines[-6:-2] == [
        f"files->inputs_start += ({macro}_R_SIZE + {macro}_X_SIZE);",
        "semihosting_seek(files->inputs, files->inputs_start);",
        f"files->outputs_start += ({macro}_S_SIZE);",
        "semihosting_seek(files->outputs, files->outputs_start);",
    ]
    assert "inputs.read_r = read_row_of_1_r;" in statements(text, "run_b")
    plain = statements(text, "run_c")
    assert "files->inputs_start += (TVMGEN_DEFAULT_C_X_SIZE);" in plain
    assert not any("seek" in line for line in plain)
    assert "_start" not in main_of(entry("a", [X], [Y]), entry("b", [X], [Y]))


def test_what_all_entries_share_is_said_if_it_is_there():
    state = PlacedBuffer("s", "f", int(BufferInfoKind.STATE), "sram", 0, 12, 4, [], [])
    kept = main_of(entry("a"), entry("b"), states=[state])
    plain = main_of(entry("a"), entry("b"))
    assert "All entries see one state: 12 bytes that are kept between runs." in kept
    assert "tvmgen_default_reset() lets all begin anew." in kept
    assert "state" not in plain.split("*/")[0] and "devices" not in plain
    lasting = workspace("backup", section_name=".noinit.backup")
    held = PlacedBuffer("s", "f", int(BufferInfoKind.STATE), "backup", 0, 12, 4, [], [])
    entries = [entry("a", [X], [Y]), entry("b", [X], [Y])]
    text = print_main_of_entries(Interface("default", entries, [lasting], [held]), BOARD)
    lines = [line for line in statements(text, "run_a") if line]
    run = next(n for n, line in enumerate(lines) if "tvmgen_default_a_run(" in line)
    assert lines.index("state_layout = 0;") < run
    assert lines.index("state_layout = TVMGEN_DEFAULT_STATE_LAYOUT_HASH;") > run


def test_operators_are_counted_if_the_model_calls_hooks():
    hooks = main_of(entry("a"), entry("b"), operator_hooks=["begin", "end"])
    lines = statements(hooks, "run_a")
    assert "operators_begin();" in lines and "operators_report(files->report);" in lines
    assert '#include "operators.h"' in hooks
    assert "operators" not in main_of(entry("a"), entry("b"))
