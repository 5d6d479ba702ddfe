"""Inputs and outputs by rows in the `main.c` of a board: rows of files of its computer."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.sources.row_callbacks import callback_parameters
from usmp.plain.c_interface import callback_member, context_member

_CALLS = {"inputs": "semihosting_read", "outputs": "semihosting_write"}
_DATA = {"inputs": "destination", "outputs": "source"}

_ROWS = """
/* The rows of a tensor in a file of the computer. On a board alone, the callbacks ask a camera. */
struct rows {
  int32_t file;
  uint32_t start;
};
"""


def include_strings(entry: EntryInterface) -> str:
    """The header that callbacks of inputs need."""
    return "#include <string.h>\n\n" if any(t.is_by_rows for t in entry.inputs) else ""


def print_callbacks(entry: EntryInterface) -> str:
    """The callbacks, and where they find their rows; nothing if there are none."""
    found = [_callback(entry, what, tensor) for what, tensor in _by_rows(entry)]
    return "".join([_ROWS, *found]) if found else ""


def begin_rows(entry: EntryInterface) -> str:
    """The statements before a run that say where its rows are."""
    lines = []
    for what, tensor in _by_rows(entry):
        rows, start = _rows(what, tensor), position(entry, what, tensor)
        lines += [f"    {rows}.file = {what}_file;\n", f"    {rows}.start = {start};\n"]
    return "".join(lines)


def set_callbacks(entry: EntryInterface, what: str) -> list[str]:
    """The statements that set the callbacks in the struct of inputs or outputs."""
    lines = []
    for side, tensor in _by_rows(entry):
        if side == what:
            member, function = callback_member(what, tensor.c_name), _function(what, tensor)
            lines.append(f"  {what}.{member} = {function};")
            lines.append(f"  {what}.{context_member(tensor.c_name)} = &{_rows(what, tensor)};")
    return lines


def position(entry: EntryInterface, what: str, tensor: IOTensor) -> str:
    """The first byte of a tensor of a run in the file, in C."""
    tensors = entry.inputs if what == "inputs" else entry.results
    before = tensors[: tensors.index(tensor)]
    offset = "".join(f" + {size_macro(entry, other)}" for other in before)
    return f"(uint32_t)runs * {run_bytes(entry, tensors)}{offset}"


def run_bytes(entry: EntryInterface, tensors: Sequence[IOTensor]) -> str:
    """The bytes of all inputs, or of all outputs, of a run, in C."""
    return f"({' + '.join(size_macro(entry, tensor) for tensor in tensors)})"


def size_macro(entry: EntryInterface, tensor: IOTensor) -> str:
    """The macro of the header that has the bytes of a tensor."""
    return f"{entry.prefix.upper()}_{tensor.c_name.upper()}_SIZE"


def _by_rows(entry: EntryInterface) -> list[tuple[str, IOTensor]]:
    both = (("inputs", entry.inputs), ("outputs", entry.outputs))
    return [(what, t) for what, tensors in both for t in tensors if t.is_by_rows]


def _function(what: str, tensor: IOTensor) -> str:
    """The callback. Like a member, it could be another one's rows, or `read_inputs`."""
    return callback_member(what, f"row_of_{tensor.c_name}")


def _rows(what: str, tensor: IOTensor) -> str:
    return f"rows_of_{what[:-1]}_{tensor.c_name}"


def _callback(entry: EntryInterface, what: str, tensor: IOTensor) -> str:
    name, data = _function(what, tensor), _DATA[what]
    size = f"{entry.prefix.upper()}_{tensor.c_name.upper()}_ROW_SIZE"
    # Without a file, inputs are zeros.
    no_file = "  if (rows->file < 0) {\n    memset(destination, 0, size);\n    return 0;\n  }\n"
    no_file = no_file if what == "inputs" else ""
    return f"""
static struct rows {_rows(what, tensor)};

static int32_t {name}({callback_parameters(tensor, what)}) {{
  const struct rows* rows = (const struct rows*)context;
  const uint32_t size = {size};
{no_file}  semihosting_seek(rows->file, rows->start + (uint32_t)row * size);
  return {_CALLS[what]}(rows->file, {data}, size) == size ? 0 : 1;
}}
"""
