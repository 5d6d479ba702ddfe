"""Print the `main.c` of a board's project for a program with several entries."""

from __future__ import annotations

from usmp.boards.board import Board
from usmp.boards.project.lasting_state import (
    after_run,
    before_run,
    layout_variable,
    state_check,
)
from usmp.boards.project.main_program import addresses, input_place, run_call
from usmp.boards.project.operators_file import (
    operators_begin,
    operators_include,
    operators_report,
)
from usmp.boards.project.rows_of_files import (
    begin_rows_at,
    offset_in_run,
    print_callbacks,
    run_bytes,
    scope_of,
    set_callbacks,
    size_macro,
)
from usmp.boards.project.sizes_of_files import largest_sizes, read_sizes, tensor_bytes
from usmp.codegen.c.text import c_string, comment
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.entry_comments import run_comment


def print_main_of_entries(interface: Interface, board: Board) -> str:
    """Return a program that runs the entries in `runs.txt` on the inputs in `inputs.bin`."""
    prefix = interface.prefix
    longest = max(len(entry.name) for entry in interface.entries)
    functions = "\n".join(_run_function(interface, entry) for entry in interface.entries)
    table = "\n".join(f"    {{{c_string(e.name)}, run_{e.name}}}," for e in interface.entries)
    has_rows = any(entry.by_rows for entry in interface.entries)
    starts = "  /* Where the next run begins. */\n  uint32_t inputs_start, outputs_start;\n"
    const = "" if has_rows else "const "
    return f"""/* Runs the entries of {prefix}.h on board {board.name}.
 * Your application begins here.
 *
 * The emulator, or a debugger, lends the program the files of its computer. On a board alone
 *  - the application runs entries when it needs them, not in the order of runs.txt;
 *  - the functions run_... fill the inputs, for instance from a sensor, instead of reading
 *    inputs.bin, and use the outputs instead of writing outputs.bin;
 *  - report.txt, which says what the runs took, is not needed.
{_about_state(interface)} */
#include <string.h>

#include "measure.h"
{operators_include(interface)}#include "report.h"
#include "semihosting.h"
#include "{prefix}.h"

struct files {{
  int32_t inputs, outputs, report;
{starts if has_rows else ""}}};

/* Read the next bytes; they are zeros if there is no such file. */
static int fill(int32_t file, void* memory, uint32_t size) {{
  if (file < 0) {{
    memset(memory, 0, size);
    return 1;
  }}
  return semihosting_read(file, memory, size) == size;
}}

static int store(int32_t file, const void* memory, uint32_t size) {{
  return semihosting_write(file, memory, size) == size;
}}

static int failed(const char* where, const char* what) {{
  semihosting_print("error: ");
  semihosting_print(where);
  semihosting_print(what);
  semihosting_print("\\n");
  return 1;
}}
{layout_variable(interface)}{_devices(interface)}{print_callbacks(interface.entries)}
{functions}
static const struct {{
  const char* name;
  int (*run)({const}struct files* files);
}} entries[] = {{
{table}
}};

/* A name, one character that no entry's name has, and the end of the string. */
enum {{ ENTRIES = sizeof(entries) / sizeof(entries[0]), NAME_BYTES = {longest} + 2 }};

/* Read the next name, up to a blank or the end of a line; 0 if there is none. */
static int read_name(int32_t file, char name[NAME_BYTES]) {{
  uint32_t length = 0;
  char character = 0;
  while (semihosting_read(file, &character, 1) == 1 && (character > ' ' || length == 0)) {{
    if (character > ' ' && length < NAME_BYTES - 1) {{
      name[length++] = character;
    }}
  }}
  name[length] = 0;
  return length != 0;
}}

int main(void) {{
  {const}struct files files = {{
      semihosting_open("inputs.bin", SEMIHOSTING_READ),
      semihosting_open("outputs.bin", SEMIHOSTING_WRITE),
      semihosting_open("report.txt", SEMIHOSTING_WRITE),
{"      0," + chr(10) + "      0," + chr(10) if has_rows else ""}  }};
  const int32_t order = semihosting_open("runs.txt", SEMIHOSTING_READ);
  char name[NAME_BYTES];
  char more;
  uint32_t runs = 0;

{state_check(interface)}  /* One run for each name; without the file, one of each entry. */
  while (order < 0 ? runs < ENTRIES : read_name(order, name)) {{
    uint32_t entry = order < 0 ? runs : 0;
    while (order >= 0 && entry < ENTRIES && strcmp(name, entries[entry].name) != 0) {{
      ++entry;
    }}
    if (entry == ENTRIES) {{
      return failed("runs.txt asks for an entry that the program lacks: ", name);
    }}
    if (entries[entry].run(&files) != 0) {{
      return 1;
    }}
    ++runs;
  }}
  if (runs == 0) {{
    return failed("runs.txt", " names no entry");
  }}
  if (files.inputs >= 0 && semihosting_read(files.inputs, &more, 1) != 0) {{
    return failed("inputs.bin", " holds more than the inputs of all runs");
  }}
  report(files.report, "stack_used", stack_used());
  report(files.report, "stack_size", stack_size());
  semihosting_close(files.report);
  semihosting_close(files.outputs);
  return 0;
}}
"""


def _about_state(interface: Interface) -> str:
    """Return lines of the first comment about states."""
    if not interface.states:
        return ""
    state_text = f"{interface.state_size_bytes} bytes that are kept between runs"
    return f""" *
 * All entries see one state: {state_text}. A run finds
 * there what earlier ones left; {interface.prefix}_reset() lets all begin anew.
"""


def _devices(interface: Interface) -> str:
    """Return the definition of the handles of accelerators."""
    if not interface.devices:
        return ""
    return f"""
/* What your functions for accelerators get; add them to EXTRA_SOURCES. */
static struct {interface.prefix}_devices devices;
"""


def _tensors(entry: EntryInterface, scope: str) -> list[str]:
    """Return the definitions of the structs of inputs and outputs, and of their arrays."""
    lines = []
    for what, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        struct = f"struct {entry.prefix}_{what} {what}"
        placed = [tensor for tensor in tensors if not tensor.is_by_rows]
        if not entry.has_workspace_io:
            lines += [
                f"  static uint8_t {what[:-1]}_{tensor.c_name}[{size_macro(entry, tensor)}] "
                "__attribute__((aligned(16)));"
                for tensor in placed
            ]
            sizes = largest_sizes(entry) if what == "inputs" else []
            values = "0" if entry.by_rows else addresses(what[:-1], tensors, sizes)
            lines.append(f"  {struct} = {{{values}}};")
            names = [tensor.c_name for tensor in placed] if entry.by_rows else []
            lines += [f"  {what}.{name} = {what[:-1]}_{name};" for name in names]
        elif tensors or (what == "inputs" and entry.sizes):
            lines.append(f"  {struct} = {entry.prefix}_map_{what}();")
        lines += set_callbacks(entry, what, scope)
    return lines


def _seek(entry: EntryInterface, what: str, tensor: IOTensor) -> list[str]:
    """Return the statement that goes to a tensor in a file; none without rows, because all tensors
    then pass in their order."""
    if not entry.by_rows:
        return []
    start = f"files->{what}_start{offset_in_run(entry, what, tensor)}"
    return [f"  semihosting_seek(files->{what}, {start});"]


def _run_function(interface: Interface, entry: EntryInterface) -> str:
    """Return a function that runs an entry once: inputs from a file, outputs to a file."""
    name, scope = c_string(f"entry {entry.name}"), scope_of(interface.entries, entry)
    const = "" if any(one.by_rows for one in interface.entries) else "const "
    lines = [
        comment(*run_comment(interface, entry)),
        f"static int run_{entry.name}({const}struct files* files) {{",
        *_tensors(entry, scope),
        *begin_rows_at(entry, scope),
    ]
    if entry.sizes:
        failure = f'return failed({name}, ": inputs.bin has no size that is in its range");'
        read = read_sizes(entry, "files->inputs", "inputs.", failure)
        lines += ["  if (files->inputs >= 0) {", *(f"  {line}" for line in read), "  }"]
    for tensor in entry.inputs:
        if tensor.is_by_rows:
            continue
        size = tensor_bytes(entry, tensor, "inputs.")
        lines += _seek(entry, "inputs", tensor)
        lines += [
            f"  if (!fill(files->inputs, {input_place(entry, tensor, 'inputs.')}, {size})) {{",
            f'    return failed({name}, ": inputs.bin ends within its inputs");',
            "  }",
        ]
    lines += [
        f"{before_run(interface)}{operators_begin(interface)}  measure_begin();",
        f"  const int32_t status = {run_call(interface, entry)};",
        "  const uint64_t instructions = measure_end();",
        "  if (status != 0) {",
        f'    return failed({name}, " returned a status other than 0");',
        f"  }}\n{after_run(interface)}".rstrip(),
    ]
    for tensor in entry.results:
        if tensor.is_by_rows:
            continue
        lines += _seek(entry, "outputs", tensor)
        struct = "inputs" if tensor in entry.inputs else "outputs"
        place = f"{struct}.{tensor.c_name}, {tensor_bytes(entry, tensor, 'inputs.')}"
        lines += [
            f"  if (!store(files->outputs, {place})) {{",
            '    return failed("outputs.bin", " cannot be written");',
            "  }",
        ]
    for what, tensors in (("inputs", entry.inputs), ("outputs", entry.results)):
        if not const and tensors:
            lines.append(f"  files->{what}_start += {run_bytes(entry, tensors)};")
        if entry.by_rows:
            lines.append(f"  semihosting_seek(files->{what}, files->{what}_start);")
    lines.append('  report(files->report, "instructions", instructions);')
    lines.append(f"{operators_report(interface, 'files->report')}  return 0;")
    lines.append("}\n")
    return "\n".join(lines)
