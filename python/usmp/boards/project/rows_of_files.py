"""Print the row callbacks in the `main.c` of a board, which read and write files of the host."""

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
    """Return the include that callbacks of inputs need; empty without such callbacks."""
    return "#include <string.h>\n\n" if any(t.is_by_rows for t in entry.inputs) else ""


def print_callbacks(entries: Sequence[EntryInterface]) -> str:
    """Return the callbacks and the structs with their files; empty if no tensor is streamed."""
    functions = [
        _callback(entry, what, tensor, scope_of(entries, entry))
        for entry in entries
        for what, tensor in _by_rows(entry)
    ]
    return "".join([_ROWS, *functions]) if functions else ""


def scope_of(entries: Sequence[EntryInterface], entry: EntryInterface) -> str:
    """Return what the names of an entry's callbacks have before those of tensors, so that callbacks
    of several entries have different names."""
    return f"{entries.index(entry)}_" if len(entries) > 1 else ""


def begin_rows(entry: EntryInterface) -> str:
    """Return the statements before a run that set file and first byte of each streamed tensor."""
    lines = []
    for what, tensor in _by_rows(entry):
        rows, start = _rows(what, tensor, ""), position(entry, what, tensor)
        lines += [f"    {rows}.file = {what}_file;\n", f"    {rows}.start = {start};\n"]
    return "".join(lines)


def begin_rows_at(entry: EntryInterface, scope: str) -> list[str]:
    """Return the statements before a run of one of several entries that set file and first byte of
    each streamed tensor, behind those of earlier runs."""
    lines = []
    for what, tensor in _by_rows(entry):
        rows = _rows(what, tensor, scope)
        start = f"files->{what}_start{offset_in_run(entry, what, tensor)}"
        lines += [f"  {rows}.file = files->{what};", f"  {rows}.start = {start};"]
    return lines


def set_callbacks(entry: EntryInterface, what: str, scope: str = "") -> list[str]:
    """Return the statements that set the callbacks in the struct of inputs or outputs."""
    lines = []
    for side, tensor in _by_rows(entry):
        if side == what:
            member, function = callback_member(what, tensor.c_name), _function(what, tensor, scope)
            rows = _rows(what, tensor, scope)
            lines.append(f"  {what}.{member} = {function};")
            lines.append(f"  {what}.{context_member(tensor.c_name)} = &{rows};")
    return lines


def position(entry: EntryInterface, what: str, tensor: IOTensor) -> str:
    """Return the C expression for the byte offset in the file at which a tensor of a run starts."""
    tensors = entry.inputs if what == "inputs" else entry.results
    return f"(uint32_t)runs * {run_bytes(entry, tensors)}{offset_in_run(entry, what, tensor)}"


def offset_in_run(entry: EntryInterface, what: str, tensor: IOTensor) -> str:
    """Return the end of a C expression that adds the bytes of a run before a tensor."""
    tensors = entry.inputs if what == "inputs" else entry.results
    preceding = tensors[: tensors.index(tensor)]
    return "".join(f" + {size_macro(entry, other)}" for other in preceding)


def run_bytes(entry: EntryInterface, tensors: Sequence[IOTensor]) -> str:
    """Return the C expression for the bytes of tensors of a run."""
    return f"({' + '.join(size_macro(entry, tensor) for tensor in tensors)})"


def size_macro(entry: EntryInterface, tensor: IOTensor) -> str:
    """Return the macro of the header with the bytes of a tensor."""
    return f"{entry.prefix.upper()}_{tensor.c_name.upper()}_SIZE"


def _by_rows(entry: EntryInterface) -> list[tuple[str, IOTensor]]:
    both = (("inputs", entry.inputs), ("outputs", entry.outputs))
    return [(what, t) for what, tensors in both for t in tensors if t.is_by_rows]


def _function(what: str, tensor: IOTensor, scope: str) -> str:
    """Return the name of a callback, with `row_of_` to avoid clashes with other functions."""
    return callback_member(what, f"row_of_{scope}{tensor.c_name}")


def _rows(what: str, tensor: IOTensor, scope: str) -> str:
    return f"rows_of_{what[:-1]}_{scope}{tensor.c_name}"


def _callback(entry: EntryInterface, what: str, tensor: IOTensor, scope: str) -> str:
    name, data = _function(what, tensor, scope), _DATA[what]
    size = f"{entry.prefix.upper()}_{tensor.c_name.upper()}_ROW_SIZE"
    # Fill inputs with zeros if there is no file.
    no_file = "  if (rows->file < 0) {\n    memset(destination, 0, size);\n    return 0;\n  }\n"
    no_file = no_file if what == "inputs" else ""
    return f"""
static struct rows {_rows(what, tensor, scope)};

static int32_t {name}({callback_parameters(tensor, what)}) {{
  const struct rows* rows = (const struct rows*)context;
  const uint32_t size = {size};
{no_file}  semihosting_seek(rows->file, rows->start + (uint32_t)row * size);
  return {_CALLS[what]}(rows->file, {data}, size) == size ? 0 : 1;
}}
"""
