"""The `main.c` of a board whose model has one entry: where tensors are, what is moved."""

from __future__ import annotations

from tvm import tirx

from support.c_text_views import statements
from support.interface_views import entry, interface, placed, tensor
from usmp.boards.board import board_named
from usmp.boards.project.main_program import addresses, print_main
from usmp.codegen.interface.module_interface import Interface
from usmp.plain.entry_size import EntrySize

BOARD = board_named("mps2-an385")
SEQ = EntrySize("seq", "seq", 1, 8)
X, Y = tensor("x"), tensor("y")
ROWS = tensor("x", (8, 4), is_by_rows=True)
ROWS_OUT = tensor("y", (8, 4), is_by_rows=True)
STATE = tensor("s", is_updated=True)
SYMBOLIC = tensor("x", (8, 4), symbolic_shape=[tirx.Var("seq", "int64"), tirx.IntImm("int64", 4)])
FAIL = ["return 0;", "}"]


def main_of(inputs, outputs, sizes=(), **more):
    one = entry("main", inputs, outputs, module_name="m", sizes=sizes)
    return print_main(Interface("default", [one], [], **more), BOARD)


def signature(text, name):
    (line,) = (line for line in text.splitlines() if line.startswith(f"static int {name}("))
    return line.removeprefix(f"static int {name}(").removesuffix(") {").split(", ")


def moved(direction, file, place, macro):
    call = f"semihosting_{direction}({file}, {place}, {macro})"
    return [f"if ({call} != {macro}) {{", *FAIL]


def test_tensors_outside_the_workspace_are_arrays_of_the_program():
    text = main_of([X], [Y])
    assert "static uint8_t input_x[TVMGEN_M_MAIN_X_SIZE] __attribute__((aligned(16)));" in text
    assert "static uint8_t output_y[TVMGEN_M_MAIN_Y_SIZE] __attribute__((aligned(16)));" in text
    assert "struct tvmgen_m_main_inputs inputs = {input_x};" in text
    assert "struct tvmgen_m_main_outputs outputs = {output_y};" in text
    assert signature(text, "read_inputs") == ["int32_t file"]
    assert statements(text, "read_inputs") == [
        *moved("read", "file", "input_x", "TVMGEN_M_MAIN_X_SIZE"),
        "return 1;",
    ]
    assert signature(text, "write_outputs") == [
        "int32_t file",
        "const struct tvmgen_m_main_outputs* outputs",
    ]
    assert statements(text, "write_outputs") == [
        *moved("write", "file", "outputs->y", "TVMGEN_M_MAIN_Y_SIZE"),
        "return 1;",
    ]
    assert "read_inputs(inputs_file)" in text
    assert "write_outputs(outputs_file, &outputs)" in text
    assert "status = tvmgen_m_main_run(&inputs, &outputs);" in text


def test_tensors_in_the_workspace_are_where_the_model_says():
    text = main_of([placed("x")], [placed("y")])
    assert "input_x" not in text and "output_y" not in text
    assert "struct tvmgen_m_main_inputs inputs = tvmgen_m_main_map_inputs();" in text
    assert "struct tvmgen_m_main_outputs outputs = tvmgen_m_main_map_outputs();" in text
    assert signature(text, "read_inputs") == [
        "int32_t file",
        "const struct tvmgen_m_main_inputs* inputs",
    ]
    assert "semihosting_read(file, inputs->x, " in text
    assert "read_inputs(inputs_file, &inputs)" in text
    assert "status = tvmgen_m_main_run();" in text


def test_a_model_without_inputs_runs_once():
    text = main_of([], [Y])
    assert "while (inputs_file < 0 ? runs == 0 : runs == 0) {" in text
    assert statements(text, "read_inputs") == ["(void)file;", "return 1;"]
    assert "inputs = {0};" in text
    assert statements(main_of([X], []), "write_outputs") == [
        "(void)file;",
        "(void)outputs;",
        "return 1;",
    ]


def test_updated_inputs_are_written_behind_the_outputs():
    text = main_of([X, STATE], [Y])
    assert "const struct tvmgen_m_main_inputs* inputs" in signature(text, "write_outputs")
    assert statements(text, "write_outputs") == [
        *moved("write", "file", "outputs->y", "TVMGEN_M_MAIN_Y_SIZE"),
        *moved("write", "file", "inputs->s", "TVMGEN_M_MAIN_S_SIZE"),
        "return 1;",
    ]
    assert "write_outputs(outputs_file, &inputs, &outputs)" in text
    alone = statements(main_of([STATE], []), "write_outputs")
    assert alone[-2:] == ["(void)outputs;", "return 1;"] and "(void)file;" not in alone


def test_rows_of_inputs_are_found_by_the_number_of_the_run():
    text = main_of([ROWS, tensor("z")], [Y])
    total = "(TVMGEN_M_MAIN_X_SIZE + TVMGEN_M_MAIN_Z_SIZE)"
    assert "static uint8_t input_x" not in text and "static uint8_t input_z" in text
    assert signature(text, "read_inputs") == ["int32_t file", "int32_t runs"]
    assert statements(text, "read_inputs") == [
        f"if (semihosting_length(file) < ((uint32_t)runs + 1) * {total}) {{",
        *FAIL,
        f"semihosting_seek(file, (uint32_t)runs * {total} + TVMGEN_M_MAIN_X_SIZE);",
        *moved("read", "file", "input_z", "TVMGEN_M_MAIN_Z_SIZE"),
        "return 1;",
    ]
    assert "struct tvmgen_m_main_inputs inputs = {0};\n  inputs.z = input_z;" in text
    assert "inputs.read_x = read_row_of_x;" in text
    assert "inputs.x_context = &rows_of_input_x;" in text
    assert "outputs = {0};\n  outputs.y = output_y;" in text
    assert "rows_of_input_x.file = inputs_file;" in text
    assert f"rows_of_input_x.start = (uint32_t)runs * {total};" in text
    assert "read_inputs(inputs_file, runs)" in text
    assert "write_outputs(outputs_file, runs, &outputs)" in text
    assert text.index("#include <string.h>") < text.index('#include "measure.h"')


def test_a_side_of_rows_alone_uses_none_of_its_parameters():
    text = main_of([ROWS], [ROWS_OUT])
    assert statements(text, "read_inputs") == [
        "if (semihosting_length(file) < ((uint32_t)runs + 1) * (TVMGEN_M_MAIN_X_SIZE)) {",
        *FAIL,
        "(void)file;",
        "(void)runs;",
        "return 1;",
    ]
    assert statements(text, "write_outputs") == [
        "(void)file;",
        "(void)runs;",
        "(void)outputs;",
        "return 1;",
    ]
    assert "(void)" not in " ".join(statements(main_of([ROWS], [Y]), "write_outputs"))
    assert statements(main_of([], [ROWS_OUT]), "read_inputs") == [
        "(void)file;",
        "(void)runs;",
        "return 1;",
    ]
    with_state = statements(main_of([STATE], [ROWS_OUT]), "write_outputs")
    assert "(void)outputs;" in with_state and "(void)file;" not in with_state


def test_sizes_are_read_before_the_inputs():
    text = main_of([SYMBOLIC], [Y], [SEQ])
    member, macro = "inputs->seq", "TVMGEN_M_MAIN_SEQ"
    assert signature(text, "read_inputs") == ["int32_t file", "struct tvmgen_m_main_inputs* inputs"]
    assert statements(text, "read_inputs") == [
        f"if (semihosting_read(file, &{member}, sizeof({member})) != sizeof({member}) ||",
        f"{member} < {macro}_MIN || {member} > {macro}_MAX) {{",
        *FAIL,
        *moved("read", "file", "input_x", f"TVMGEN_M_MAIN_X_BYTES({member})"),
        "return 1;",
    ]
    # No output depends on a size, so that nothing of the inputs is read.
    assert statements(text, "write_outputs")[-2:] == ["(void)inputs;", "return 1;"]
    assert "inputs = {input_x, TVMGEN_M_MAIN_SEQ_MAX};" in text
    assert "outputs = {output_y};" in text
    assert "read_inputs(inputs_file, &inputs)" in text
    assert "write_outputs(outputs_file, &inputs, &outputs)" in text


def test_parameters_for_sizes_are_used_where_outputs_depend_on_them():
    text = main_of(
        [], [tensor("y", (8, 4), symbolic_shape=list(SYMBOLIC.info.symbolic_shape))], [SEQ]
    )
    lines = statements(text, "write_outputs")
    assert "(void)inputs;" not in lines
    assert any("TVMGEN_M_MAIN_Y_BYTES(inputs->seq)" in line for line in lines)
    assert "(void)" not in " ".join(statements(text, "read_inputs"))
    assert "read_inputs(inputs_file, &inputs)" in text
    updated = statements(main_of([STATE], [Y], [SEQ]), "write_outputs")
    assert "(void)inputs;" not in updated


def test_placed_tensors_may_be_beside_rows():
    text = main_of([ROWS], [placed("y")])
    assert signature(text, "read_inputs")[-1] == "const struct tvmgen_m_main_inputs* inputs"
    assert statements(text, "read_inputs")[-2:] == ["(void)inputs;", "return 1;"]
    assert "read_inputs(inputs_file, runs, &inputs)" in text
    beside = statements(main_of([ROWS, placed("z")], [placed("y")]), "read_inputs")
    assert "(void)inputs;" not in beside


def test_a_struct_without_members_is_not_read():
    text = main_of([], [placed("y")])
    assert statements(text, "read_inputs") == ["(void)file;", "(void)inputs;", "return 1;"]
    assert "static" not in text.split("struct tvmgen_m_main_inputs inputs")[1]


def test_addresses_are_those_of_arrays_then_sizes():
    assert addresses("input", [X, tensor("z")], ["MAX"]) == "input_x, input_z, MAX"
    assert addresses("input", [], []) == "0"


def test_accelerators_get_their_handles():
    assert "devices" not in print_main(interface([X], [Y]), BOARD)
