"""Inputs and outputs by rows give the same bytes; what is wrong with the rows is a status."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from support.archives import edited, message_of, write_tar
from support.board_programs import require_board
from support.c_program import SANITIZERS, build_program
from support.compilers import require
from support.levels import long_run
from support.planner_contexts import planner_context
from support.quantized_models.masks import IMAGE, image_to_mask
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.codegen.interface.module_interface import Interface

pytestmark = pytest.mark.usefixtures("one_session")

IMAGE_BYTES, ROW_BYTES = 12 * 8 * 3, 8 * 3

MAIN_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tvmgen_default.h"

static int8_t image[{image}_SIZE], mask[{mask}_SIZE];
static int32_t rows, calls, next_read, next_write;

/* There are `rows` rows of the image, and of the mask. */
static int32_t read_line(void* context, int32_t row, int8_t* destination) {{
  ++calls;
  if (context != image || row != next_read++) return 90;
  if (row >= rows) return 7;
  memcpy(destination, (int8_t*)context + row * {image_row}, {image_row});
  return 0;
}}

static int32_t write_line(void* context, int32_t row, const int8_t* source) {{
  ++calls;
  if (context != mask || row != next_write++) return 91;
  if (row >= rows) return 8;
  memcpy((int8_t*)context + row * {mask_row}, source, {mask_row});
  return 0;
}}

/* Prints the status, the calls, and the mask if all is well; for each number of rows. */
int main(int count, char** numbers) {{
  struct tvmgen_default_inputs inputs{inputs};
  struct tvmgen_default_outputs outputs{outputs};
{set}
  if (fread(image, sizeof image, 1, stdin) != 1) return 1;
  for (int i = 1; i < count; ++i) {{
    rows = atoi(numbers[i]);
    calls = next_read = next_write = 0;
{before}
    const int32_t status = tvmgen_default_run({arguments});
    printf("%d %d\\n", (int)status, (int)calls);
    if (status == 0) {{
{after}
      if (fwrite(mask, sizeof mask, 1, stderr) != 1) return 1;
    }}
  }}
  return 0;
}}
"""


@cache
def model(stride: int) -> IRModule:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(image_to_mask(stride))
        return usmp.import_model(path)


@cache
def expected(stride: int) -> bytes:
    """The mask, computed one operator after the other."""
    factory = built(stride, disabled_pass=("StreamOperators", "OverlapInputsAndOutputs"))
    (mask,) = factory.run({"t0": np.frombuffer(content(), np.int8).reshape(IMAGE.shape)}).values()
    return mask.tobytes()


def content() -> bytes:
    return bytes(number * 37 % 256 for number in range(IMAGE_BYTES))


def built(stride: int, target: str = "c", **options: object) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options):
        return usmp.build(model(stride), target)


@cache
def rows_of_the_input() -> usmp.AOTExecutorFactoryModule:
    return built(1, **BY_ROWS["input"])


def main_c(interface: Interface) -> str:
    """An application of the interface."""
    (image,), (mask,) = interface.inputs, interface.outputs
    entry, lines, before, after = interface.only_entry, [], "", ""
    if image.is_by_rows:
        lines.append(f"inputs.read_{image.c_name} = read_line;")
        lines.append(f"inputs.{image.c_name}_context = image;")
    elif entry.has_workspace_io:
        before = f"memcpy(inputs.{image.c_name}, image, sizeof image);"
    else:
        lines.append(f"inputs.{image.c_name} = image;")
    if mask.is_by_rows:
        lines.append(f"outputs.write_{mask.c_name} = write_line;")
        lines.append(f"outputs.{mask.c_name}_context = mask;")
    elif entry.has_workspace_io:
        after = f"memcpy(mask, outputs.{mask.c_name}, sizeof mask);"
    else:
        lines.append(f"outputs.{mask.c_name} = mask;")
    mapped = entry.has_workspace_io
    return MAIN_C.format(
        image=f"TVMGEN_DEFAULT_{image.c_name.upper()}",
        mask=f"TVMGEN_DEFAULT_{mask.c_name.upper()}",
        image_row=image.info.row_size_bytes,
        mask_row=mask.info.row_size_bytes,
        inputs=" = tvmgen_default_map_inputs()" if mapped else " = {0}",
        outputs=" = tvmgen_default_map_outputs()" if mapped else " = {0}",
        set="\n".join(f"  {line}" for line in [*lines, "(void)read_line, (void)write_line;"]),
        before=f"    {before}",
        after=f"      {after}",
        arguments=", ".join(f"&{what}" for what in entry.tensor_structs),
    )


def ran(program: Path, *rows: int) -> tuple[list[list[int]], bytes]:
    """Status and calls for each number of rows, and the masks of those that are well."""
    command = [program, *map(str, rows)]
    done = subprocess.run(command, input=content(), capture_output=True, check=True)
    return [[int(n) for n in line.split()] for line in done.stdout.splitlines()], done.stderr


BY_ROWS = {
    "input": {"stream_inputs": "t0"},
    "output": {"stream_outputs": "t9"},
    "both": {"stream_inputs": "t0", "stream_outputs": "t9"},
}
WAYS = {
    "c": {},
    "c -mcpu=cortex-m3": {
        "use_workspace_io": True,
        "disabled_pass": ("OverlapInputsAndOutputs",),
        "code": "small",
    },
    "c -mcpu=cortex-m4": {"use_workspace_io": True, "debug": "poison_dead_bytes"},
}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("by_rows", "stride", "target"),
    [
        ("input", 1, "c"),
        ("input", 2, "c -mcpu=cortex-m4"),
        ("output", 1, "c -mcpu=cortex-m3"),
        ("output", 2, "c -mcpu=cortex-m4"),
        ("both", 2, "c -mcpu=cortex-m3"),
        ("both", 1, "c -mcpu=cortex-m4"),
    ],
)
def test_the_same_bytes(by_rows, stride, target, tmp_path):
    factory = built(stride, target, **BY_ROWS[by_rows], **WAYS[target])
    program = build_program(factory.files(), main_c(factory.interface), tmp_path, SANITIZERS)
    ends, mask = ran(program, 12, 12)
    assert [status for status, _ in ends] == [0, 0]
    assert mask == expected(stride) * 2


@pytest.fixture(params=["gcc", "clang"])
def compiler(request, monkeypatch):
    require(request.param)
    monkeypatch.setenv("CC", request.param)
    return request.param


@pytest.mark.slow
@pytest.mark.cc
def test_another_number_of_rows(compiler, tmp_path):
    """Nothing is called after the row that is not there; the next run begins anew."""
    factory = built(1, use_workspace_io=True, **BY_ROWS["both"])
    flags = SANITIZERS if compiler == "gcc" else ["-O2"]
    program = build_program(factory.files(), main_c(factory.interface), tmp_path, flags)
    ends, mask = ran(program, 12, 0, 1, 5, 11, 12, 100)
    statuses = [status for status, _ in ends]
    assert statuses == [0, 7, 7, 7, 7, 0, 0]
    calls = [number for _, number in ends]
    assert calls[0] == calls[5] == calls[6] == 24
    # Of each row of the mask, the image has three.
    assert calls[1:5] == [1, 2, 6 + 3, 12 + 9]
    assert mask == expected(1) * 3


@pytest.mark.cc
def test_callbacks_that_are_missing(tmp_path):
    factory = built(1, **BY_ROWS["both"])
    main = """
#include "tvmgen_default.h"
static int32_t read_line(void* context, int32_t row, int8_t* destination) {
  (void)context, (void)row, (void)destination;
  return 90;
}
int main(void) {
  struct tvmgen_default_inputs inputs = {0};
  struct tvmgen_default_outputs outputs = {0};
  const int nothing = tvmgen_default_run(&inputs, &outputs) == -1;
  inputs.read_t0 = read_line;
  return nothing && tvmgen_default_run(&inputs, &outputs) == -1 ? 0 : 1;
}
"""
    subprocess.run([build_program(factory.files(), main, tmp_path, SANITIZERS)], check=True)


def test_what_the_application_provides():
    factory = built(1, use_workspace_io=True, **BY_ROWS["both"])
    ram = factory.metadata["modules"]["default"]["memory"]["ram"]
    assert (ram["size_bytes"], ram["io_size_bytes"]) == (280, 0)
    (main,) = factory.metadata["modules"]["default"]["memory"]["functions"]["main"]
    described = {n: t["by_rows"] for s in ("inputs", "outputs") for n, t in main[s].items()}
    assert described == {
        "t0": {"rows": 12, "row_size": ROW_BYTES},
        "t9": {"rows": 12, "row_size": 32},
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("by_rows/row_size", 48, 'tensor "t0" of module "default" has no valid "by_rows"'),
        ("by_rows", [], 'tensor "t0" of module "default" has no valid "by_rows"'),
        (
            "by_rows",
            None,
            "struct tvmgen_default_inputs has the members t0 there and read_t0, t0_context in the "
            "header",
        ),
    ],
)
def test_archives_that_say_something_else(path, value, fault, tmp_path):
    """A host would move more bytes than there are, or pass another struct."""
    files = dict(rows_of_the_input().files())
    metadata = json.loads(files["metadata.json"])
    tensor = "modules/default/memory/functions/main/0/inputs/t0"
    files["metadata.json"] = json.dumps(edited(metadata, f"{tensor}/{path}", value)).encode()
    message = message_of(write_tar(tmp_path / "model.tar", files))
    assert message == f"metadata.json is damaged: {fault}"


@pytest.mark.models
@long_run()
@pytest.mark.parametrize("name", ["mlperf_kws_int8"])
def test_peak_of_a_model(shared_model, name):
    """The input by rows, the output in the workspace; that of other models is in docs/tvmc.md."""
    config = {"tir.usmp.use_workspace_io": True, "tir.usmp.stream_inputs": "input_1"}
    with PassContext(config=config):
        mod = usmp.import_model(shared_model(name))
        factory = usmp.build(mod, "c -mcpu=cortex-m4")
    memory = factory.metadata["modules"]["default"]["memory"]
    (pool,) = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
    assert pool["peak_bytes"] == 4004


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize("by_rows", ["input", "both"])
def test_programs_of_boards(by_rows):
    """Rows are those of files, one run after the other."""
    board = board_named("mps2-an386")
    require_board(board)
    with planner_context(BY_ROWS[by_rows]):
        factory = usmp.build(model(1), board=board)
    metadata = factory.metadata["modules"]["default"]
    image = np.frombuffer(content(), np.int8).reshape(IMAGE.shape)
    emulated = EmulatedModule(factory.files(), metadata, board)
    runs = emulated.run([{"t0": image}, {"t0": image[:, ::-1].copy()}, {"t0": image}])
    first, second, third = (outputs["t9"].tobytes() for outputs in runs.outputs)
    assert first == third == expected(1) != second


def test_parts_that_begin_later():
    """Of `add`, not of what gives the rows, users learn that it is in the way."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((24,), "int32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            part = builder.emit(relax.op.strided_slice(x, [0], [17], [22]))
            total = builder.emit_output(relax.op.add(part, part))
        builder.emit_func_output(total)
    with (
        PassContext(config={"tir.usmp.stream_inputs": "x"}),
        pytest.raises(ValueError, match="operator add uses only a part of it, not"),
    ):
        usmp.build(builder.get(), "c")


@pytest.mark.slow
@pytest.mark.cc
def test_the_host_gives_and_takes_rows():
    image = np.frombuffer(content(), np.int8).reshape(IMAGE.shape)
    for options in (BY_ROWS["both"], {"use_workspace_io": True, **BY_ROWS["input"]}):
        (mask,) = built(1, **options).run({"t0": image}).values()
        assert mask.tobytes() == expected(1)
