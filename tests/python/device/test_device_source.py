"""The C by which a self test and the serial runner call a model: what each entry passes."""

from __future__ import annotations

import pytest

from support.archived_views import BATCH, entry, module, pool, tensor
from support.c_text_views import statements
from usmp.device.device_source import print_device, print_device_header, print_serial

OWN = pool("own", is_internal=True)
SRAM = pool("sram", 64)


def source(*entries, pools=(), **metadata):
    return print_device(module(entries, pools, **metadata), b"\x01\xff", b"\x02\x00")


def test_the_table_has_the_counts_of_tensors_and_sizes():
    first = entry([tensor("a"), tensor("b", is_updated=True)], [tensor("y")], "first", [BATCH])
    text = source(first, entry([tensor("c")], [tensor("z")], "second"))
    rows = text.split("entries[] = {\n")[1].split("\n};")[0].split("\n")
    names = "input_bytes_{0}, output_bytes_{0}, input_{0}, output_{0}, run_{0}"
    # The outputs, and the input that runs update.
    assert rows == [
        f"    {{2, 2, 1, {names.format(0)}}},",
        f"    {{1, 1, 0, {names.format(1)}}},",
    ]
    model = text.split("tvmgen_net_device = {\n")[1]
    lines = [line.strip() for line in model.splitlines()]
    assert lines[:5] == ["{0x01, 0xff},", "{0x02, 0x00},", "2,", "entries,", "0,"]


def test_each_size_is_compared_with_that_of_the_archive():
    model = entry([tensor("x", (2, 3), "float32")], [tensor("y")])
    text = source(model, pools=[SRAM, pool("flash", 8, is_constant=True)])
    lines = [line for line in text.splitlines() if line.startswith("USMP_DEVICE_ASSERT")]
    name = "tvmgen_net_device_is_of_another_archive"
    assert lines == [
        f"USMP_DEVICE_ASSERT(TVMGEN_NET_X_SIZE == 24, {name}_0);",
        f"USMP_DEVICE_ASSERT(TVMGEN_NET_Y_SIZE == 4, {name}_1);",
        f"USMP_DEVICE_ASSERT(TVMGEN_NET_SRAM_WORKSPACE_POOL_SIZE == 64, {name}_2);",
        f"USMP_DEVICE_ASSERT(TVMGEN_NET_FLASH_CONSTANT_POOL_SIZE == 8, {name}_3);",
    ]


def test_byte_counts_of_results_include_updated_inputs():
    text = source(entry([tensor("x"), tensor("s", is_updated=True)], [tensor("y")]))
    assert "input_bytes_0[] = {TVMGEN_NET_X_SIZE, TVMGEN_NET_S_SIZE};" in text
    assert "output_bytes_0[] = {TVMGEN_NET_Y_SIZE, TVMGEN_NET_S_SIZE};" in text
    assert "input_bytes_0[] = {0};" in source(entry([], [tensor("y")]))


def test_inputs_that_runs_only_read_are_where_the_caller_has_them():
    text = source(entry([tensor("x")], [tensor("y")]))
    assert statements(text, "input_0") == ["(void)index;", "return 0;"]
    assert statements(text, "output_0") == ["return tvmgen_net_device_output(0, index);"]
    assert statements(text, "run_0") == [
        "struct tvmgen_net_inputs inputs = {0};",
        "inputs.x = io->input(io->context, 0);",
        "struct tvmgen_net_outputs outputs = {0};",
        "outputs.y = tvmgen_net_device_output(0, 0);",
        "(void)sizes;",
        "return tvmgen_net_run(&inputs, &outputs);",
    ]


@pytest.mark.parametrize("kind", ["is_updated", "is_written"])
def test_inputs_that_runs_write_are_in_memory_of_the_application(kind):
    text = source(entry([tensor("x"), tensor("s", **{kind: True})], [tensor("y")]))
    assert statements(text, "input_0") == [
        "if (index == 1) return tvmgen_net_device_input(0, index);",
        "return 0;",
    ]
    lines = statements(text, "run_0")
    assert "inputs.x = io->input(io->context, 0);" in lines
    assert "inputs.s = tvmgen_net_device_input(0, 1);" in lines


def test_tensors_in_the_workspace_are_where_the_model_says():
    model = entry([tensor("x", pool="sram")], [tensor("y", pool="sram")])
    text = source(model, pools=[OWN, SRAM])
    pools = "tvmgen_net_device_pools()"
    assert statements(text, "input_0") == [
        f"const struct tvmgen_net_inputs places = tvmgen_net_map_inputs({pools});",
        "switch (index) {",
        "case 0:",
        "return places.x;",
        "default:",
        "break;",
        "}",
        "return 0;",
    ]
    assert "return places.y;" in statements(text, "output_0")
    assert statements(text, "run_0") == [
        "(void)sizes;",
        "(void)io;",
        f"return tvmgen_net_run({pools});",
    ]


def test_of_some_tensors_in_the_workspace_the_others_are_looked_up():
    model = entry([tensor("a"), tensor("x", pool="own")], [])
    text = source(model, pools=[OWN])
    lines = statements(text, "input_0")
    assert "case 1:" in lines and "case 0:" not in lines
    assert lines[-2:] == [
        "if (index == 0) return tvmgen_net_device_input(0, index);",
        "return 0;",
    ]
    assert statements(text, "output_0") == ["(void)index;", "return 0;"]


def test_results_behind_the_outputs_are_updated_inputs():
    inputs = [tensor("x"), tensor("s", is_updated=True), tensor("t", is_updated=True)]
    lines = statements(source(entry(inputs, [tensor("y")])), "output_0")
    assert lines[:2] == [
        "if (index == 1) return input_0(1);",
        "if (index == 2) return input_0(2);",
    ]
    assert not any("input_0(" in line for line in statements(source(entry(inputs, [])), "input_0"))


def test_sizes_are_passed_in_the_struct_of_inputs():
    text = source(entry([tensor("x")], [tensor("y")], sizes=[BATCH]))
    lines = statements(text, "run_0")
    assert "inputs.n = sizes[0];" in lines and "(void)sizes;" not in lines
    placed = entry([tensor("x", pool="sram")], [tensor("y", pool="sram")], sizes=[BATCH])
    assert statements(source(placed, pools=[OWN]), "run_0") == [
        "struct tvmgen_net_inputs inputs = tvmgen_net_map_inputs();",
        "inputs.n = sizes[0];",
        "(void)io;",
        "return tvmgen_net_run(&inputs);",
    ]


@pytest.mark.parametrize("is_placed", [False, True])
def test_rows_are_passed_on_by_callbacks(is_placed):
    rows = tensor("x", (8, 4), "int16", is_by_rows=True)
    text = source(entry([rows], [tensor("y", pool="own" if is_placed else None)]), pools=[OWN])
    assert statements(text, "read_0_0") == [
        "const struct usmp_device_io* io = (const struct usmp_device_io*)context;",
        "const uint32_t bytes = TVMGEN_NET_X_ROW_SIZE;",
        "return io->read(io->context, 0, (uint32_t)row * bytes, destination, bytes);",
    ]
    assert statements(text, "input_0") == ["(void)index;", "return 0;"]
    lines = statements(text, "run_0")
    start = "tvmgen_net_map_inputs()" if is_placed else "{0}"
    assert lines[:3] == [
        f"struct tvmgen_net_inputs inputs = {start};",
        "inputs.read_x = read_0_0;",
        "inputs.x_context = io;",
    ]
    passed = "&inputs" if is_placed else "&inputs, &outputs"
    assert lines[-1] == f"return tvmgen_net_run({passed});"


def test_rows_of_an_output_are_passed_on_from_their_source():
    rows = tensor("y", (8, 4), is_by_rows=True)
    text = source(entry([tensor("x")], [tensor("z"), rows]))
    assert "write_0_1(void* context, int32_t row, const int8_t* source)" in text
    *_, call = statements(text, "write_0_1")
    assert call == "return io->write(io->context, 1, (uint32_t)row * bytes, source, bytes);"
    assert statements(text, "output_0") == [
        "if (index == 0) return tvmgen_net_device_output(0, index);",
        "return 0;",
    ]


def test_states_are_reset_and_accelerators_get_their_handles():
    model = entry([tensor("x")], [tensor("y")])
    text = source(model, pools=[pool("own", is_internal=True, state_bytes=8)], devices=["npu"])
    assert "static void reset(void) { tvmgen_net_reset(); }" in text
    assert "    reset,\n" in text
    call = "tvmgen_net_run(&inputs, &outputs, tvmgen_net_device_handles())"
    assert statements(text, "run_0")[-1] == f"return {call};"
    assert "reset" not in source(model)


def test_the_header_declares_only_what_the_application_brings():
    placed = entry([tensor("x", pool="own")], [tensor("y", pool="own")])
    brought = ("_serial_input(", "_device_output(", "_device_pools(", "_device_handles(")
    plain = print_device_header(module([placed], [OWN]))
    assert not any(name in plain for name in brought)
    model = module([entry([tensor("x")], [tensor("y")])], [SRAM], devices=["npu"])
    header = print_device_header(model)
    assert all(name in header for name in brought) and "_device_input(" not in header


def test_the_header_numbers_the_tensors_of_the_application():
    first = entry([tensor("a", pool="own"), tensor("b", (2, 4))], [tensor("y")], "first")
    text = print_device_header(module([first, entry([tensor("c")], [], "second")], [OWN]))
    comment = [line.strip(" *") for line in text.splitlines() if line.startswith(" *  ")]
    assert comment == [
        'input 1 is "b", at most 8 bytes',
        'output 0 is "y", at most 4 bytes',
        'input 0 is "c", at most 4 bytes',
    ]
    assert 'Entry 0, "first":' in text and 'Entry 1, "second":' in text


def test_the_serial_runner_counts_cycles_only_with_hooks():
    model = module([entry()])
    counted = print_serial(model, has_hooks=True)
    assert "cycles[TVMGEN_NET_OPERATOR_COUNT + 1]" in counted
    assert "tvmgen_net_operator_begin(" in counted and "tvmgen_net_operator_end(" in counted
    plain = print_serial(model, has_hooks=False)
    assert "operators = {0, 0};" in plain and "_operator_" not in plain.replace("usmp_operator", "")
