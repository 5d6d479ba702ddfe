"""Print the `main.c` of a board's project from the interface of the model."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.boards.board import Board
from usmp.boards.project.lasting_state import (
    after_run,
    before_run,
    layout_variable,
    state_check,
)
from usmp.boards.project.operators_file import (
    operators_begin,
    operators_include,
    operators_report,
)
from usmp.boards.project.rows_of_files import (
    begin_rows,
    include_strings,
    position,
    print_callbacks,
    run_bytes,
    set_callbacks,
    size_macro,
)
from usmp.boards.project.sizes_of_files import (
    inputs_argument,
    inputs_parameter,
    largest_sizes,
    read_sizes,
    tensor_bytes,
)
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface


def print_main(interface: Interface, board: Board) -> str:
    """Return a program that runs the model once for each set of inputs in `inputs.bin`."""
    prefix, entry = interface.prefix, interface.only_entry
    return f"""/* Runs the model of {prefix}.h on board {board.name}. Your application begins here.
 *
 * The emulator, or a debugger, lends the program the files of its computer. On a board alone
 *  - read_inputs fills the inputs, for instance from a sensor, instead of reading inputs.bin;
 *  - write_outputs uses the outputs instead of writing outputs.bin;
 *  - report.txt, which says what the runs took, is not needed.
 */
{include_strings(entry)}#include "measure.h"
{operators_include(interface)}#include "report.h"
#include "semihosting.h"
#include "{prefix}.h"
{layout_variable(interface)}{_arrays(interface)}{print_callbacks([entry])}
{_transfer("read_inputs", "semihosting_read", entry.prefix, "inputs", interface)}
{_transfer("write_outputs", "semihosting_write", entry.prefix, "outputs", interface)}
int main(void) {{
{_tensors(interface)}
  const int32_t inputs_file = semihosting_open("inputs.bin", SEMIHOSTING_READ);
  const int32_t outputs_file = semihosting_open("outputs.bin", SEMIHOSTING_WRITE);
  const int32_t report_file = semihosting_open("report.txt", SEMIHOSTING_WRITE);
  int32_t runs = 0;

{state_check(interface)}  /* One run for each set of inputs; without the file, one run on zeros. */
  while (inputs_file < 0 ? runs == 0 : {_more_inputs(interface)}) {{
{begin_rows(entry)}{before_run(interface, "    ")}{operators_begin(interface, "    ")}\
    measure_begin();
    const int32_t status = {run_call(interface, entry)};
    const uint64_t instructions = measure_end();
    if (status != 0) {{
      semihosting_print("error: the model returned a status other than 0\\n");
      return 1;
    }}
{after_run(interface, "    ")}    if (!write_outputs(outputs_file, {_written(entry)})) {{
      semihosting_print("error: outputs.bin cannot be written\\n");
      return 1;
    }}
    report(report_file, "instructions", instructions);
{operators_report(interface, "report_file", "    ")}    ++runs;
  }}
  if (runs == 0) {{
    semihosting_print("error: inputs.bin holds no whole set of inputs\\n");
    return 1;
  }}
  report(report_file, "stack_used", stack_used());
  report(report_file, "stack_size", stack_size());
  semihosting_close(report_file);
  semihosting_close(outputs_file);
  return 0;
}}
"""


def _arrays(interface: Interface) -> str:
    """Return the arrays of inputs and outputs, unless they are in the workspace."""
    if interface.only_entry.has_workspace_io:
        return ""
    lines = [
        f"static uint8_t {what}_{tensor.c_name}[{size_macro(interface.only_entry, tensor)}] "
        "__attribute__((aligned(16)));"
        for what, tensors in (("input", interface.inputs), ("output", interface.outputs))
        for tensor in tensors
        if not tensor.is_by_rows
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _runs(entry: EntryInterface) -> str:
    """Return the argument with the index of the run, for positions in files; empty without rows."""
    return "runs, " if entry.by_rows else ""


def _written(entry: EntryInterface) -> str:
    """Return the arguments of the function that writes the outputs of a run."""
    return f"{_runs(entry)}{inputs_argument(entry)}&outputs"


def _transfer(name: str, call: str, prefix: str, what: str, interface: Interface) -> str:
    """Return a function that reads all inputs from a file, or writes all outputs to a file."""
    entry = interface.only_entry
    tensors = entry.inputs if what == "inputs" else entry.results
    parameters = ["int32_t file", *(["int32_t runs"] if entry.by_rows else [])]
    parameters += inputs_parameter(entry) if what == "outputs" else []
    takes_struct = _takes_struct(entry, what)
    if takes_struct:
        const = "" if what == "inputs" and entry.sizes else "const "
        parameters.append(f"{const}struct {prefix}_{what}* {what}")
    lines = [f"static int {name}({', '.join(parameters)}) {{"]
    if what == "inputs":
        lines += read_sizes(entry, "file", "inputs->", "return 0;")
    if entry.by_rows and what == "inputs" and tensors:
        stop = f"((uint32_t)runs + 1) * {run_bytes(entry, tensors)}"
        lines += [f"  if (semihosting_length(file) < {stop}) {{", "    return 0;", "  }"]
    placed = [tensor for tensor in tensors if not tensor.is_by_rows]
    if entry.by_rows and not placed:
        lines += ["  (void)file;", "  (void)runs;"]
    is_any_placed = any(tensor in placed for tensor in getattr(entry, what))
    if takes_struct and entry.by_rows and not is_any_placed:
        lines += [f"  (void){what};"]
    for tensor in placed:
        size = tensor_bytes(entry, tensor, "inputs->")
        if entry.by_rows:
            lines.append(f"  semihosting_seek(file, {position(entry, what, tensor)});")
        place = f"{'inputs' if tensor in entry.inputs else 'outputs'}->{tensor.c_name}"
        if what == "inputs":
            place = input_place(entry, tensor, "inputs->")
        lines.append(f"  if ({call}(file, {place}, {size}) != {size}) {{")
        lines += ["    return 0;", "  }"]
    if not tensors and not entry.by_rows and not (what == "inputs" and entry.sizes):
        lines += ["  (void)file;"]
    is_struct_read = bool(getattr(entry, what)) or (what == "inputs" and bool(entry.sizes))
    if takes_struct and not is_struct_read and not entry.by_rows:
        lines += [f"  (void){what};"]
    is_used = any(t.symbolic_extents for t in tensors) or bool(entry.updated)
    if what == "outputs" and entry.sizes and not is_used:
        lines.append("  (void)inputs;")
    return "\n".join([*lines, "  return 1;", "}\n"])


def _takes_struct(entry: EntryInterface, what: str) -> bool:
    """Return whether the function that reads inputs or writes outputs takes their struct."""
    return what == "outputs" or entry.has_workspace_io or bool(entry.sizes)


def _more_inputs(interface: Interface) -> str:
    entry = interface.only_entry
    if not entry.inputs and not entry.sizes:
        return "runs == 0"
    runs, struct = entry.by_rows, _takes_struct(entry, "inputs")
    arguments = ["inputs_file", *(["runs"] if runs else []), *(["&inputs"] if struct else [])]
    return f"read_inputs({', '.join(arguments)})"


def _tensors(interface: Interface) -> str:
    """Return the definitions of the structs of inputs, outputs and accelerator handles."""
    lines, entry = [], interface.only_entry
    for what, tensors in (("inputs", interface.inputs), ("outputs", interface.outputs)):
        struct = f"struct {entry.prefix}_{what} {what}"
        if entry.has_workspace_io:
            lines.append(f"  {struct} = {entry.prefix}_map_{what}();")
        elif entry.by_rows:
            lines.append(f"  {struct} = {{0}};")
            placed = [tensor.c_name for tensor in tensors if not tensor.is_by_rows]
            lines += [f"  {what}.{name} = {what[:-1]}_{name};" for name in placed]
        else:
            sizes = largest_sizes(entry) if what == "inputs" else []
            lines.append(f"  {struct} = {{{addresses(what[:-1], tensors, sizes)}}};")
        lines += set_callbacks(entry, what)
    if interface.devices:
        lines.append("  /* What your functions for accelerators get; add them to EXTRA_SOURCES. */")
        lines.append(f"  struct {interface.prefix}_devices devices = {{0}};")
    return "\n".join(lines)


def run_call(interface: Interface, entry: EntryInterface) -> str:
    """Return the call of the function that runs an entry."""
    arguments = [f"&{what}" for what in entry.tensor_structs]
    arguments += ["&devices"] if interface.devices else []
    return f"{entry.prefix}_run({', '.join(arguments)})"


def addresses(what: str, tensors: Sequence[IOTensor], sizes: Sequence[str]) -> str:
    """Return the initializer of a struct: the arrays of tensors, then the sizes."""
    return ", ".join([*(f"{what}_{tensor.c_name}" for tensor in tensors), *sizes]) or "0"


def input_place(entry: EntryInterface, tensor: IOTensor, inputs: str) -> str:
    """Return where the program writes an input: in the workspace, or in an array of the program.

    Parameters
    ----------
    inputs
        C expression for members of the struct of inputs, such as "inputs->".
    """
    return f"{inputs if entry.has_workspace_io else 'input_'}{tensor.c_name}"
