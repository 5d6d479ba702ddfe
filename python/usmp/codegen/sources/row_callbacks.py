"""Callbacks that pass inputs and outputs between the application and a run, row by row."""

from __future__ import annotations

from usmp.codegen.c.source_files import text_of
from usmp.codegen.c.types import c_type
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.plain.c_interface import callback_member, context_member

MISSING_CALLBACK = -1
"""Status of a run if a callback is NULL."""

_DATA = {"inputs": ("", "destination"), "outputs": ("const ", "source")}
"""Qualifier and name of the pointer to a row."""


def callback_declaration(tensor: IOTensor, what: str) -> str:
    """Return the callback as a member of the struct `what`, without the semicolon."""
    name = callback_member(what, tensor.c_name)
    return f"int32_t (*{name})({callback_parameters(tensor, what)})"


def callback_parameters(tensor: IOTensor, what: str) -> str:
    """Return the parameters of a callback."""
    const, data = _DATA[what]
    pointer = f"{const}{c_type(str(tensor.info.dtype))}* {data}"
    return f"void* context, int32_t row, {pointer}"


def callback_comment(tensor: IOTensor, shape: str, what: str, context: str) -> list[str]:
    """Return the lines of the comment before a callback.

    Parameters
    ----------
    shape
        element type and extents of the tensor, as text.
    context
        name of the member whose value is an argument of the callback.
    """
    _, data = _DATA[what]
    rows, row_bytes = tensor.info.rows, tensor.info.row_size_bytes
    does = "writes the row to" if what == "inputs" else "takes the row from"
    return [
        f"  /* {shape}, by rows: a run calls this once for each of {rows} rows, in their order, 0",
        f"   * first, with {context}. It {does} `{data}`, {row_bytes} bytes that are",
        "   * aligned for their type, and returns 0. Any other status, as when there is no such",
        "   * row, ends all such calls, and the run returns it. */",
    ]


def print_struct_of_rows(entry: EntryInterface) -> list[str]:
    """Return the struct for tensors that are passed by rows; none if there are no such tensors."""
    return [text_of("tensor_intrin/rows.h")] if entry.by_rows else []


def adapter_symbols(entry: EntryInterface) -> list[str]:
    """Return the names of the functions that `print_adapters` defines."""
    return [
        _adapter(entry, struct, tensor)
        for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs))
        for tensor in tensors
        if tensor.is_by_rows
    ]


def print_adapters(entry: EntryInterface) -> list[str]:
    """Return adapters, which have one type and call the callbacks, which have the tensors'
    types."""
    definitions = []
    for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        const, data = _DATA[struct]
        for tensor in tensors:
            if tensor.is_by_rows:
                member = callback_member(struct, tensor.c_name)
                context = context_member(tensor.c_name)
                pointer = f"({const}{c_type(str(tensor.info.dtype))}*){data}"
                definitions.append(
                    f"static int32_t {_adapter(entry, struct, tensor)}(\n"
                    f"    void* tensors, int32_t row, {const}void* {data}) {{\n"
                    f"  const struct {entry.prefix}_{struct}* {struct} =\n"
                    f"      (const struct {entry.prefix}_{struct}*)tensors;\n"
                    f"  return {struct}->{member}({struct}->{context}, row, {pointer});\n"
                    "}\n"
                )
    return definitions


def handles_of_rows(entry: EntryInterface) -> list[str]:
    """Return the statements at the start of a run that define the handles of tensors passed by
    rows, and check that no callback is NULL."""
    if not entry.by_rows:
        return []
    lines = ["  int32_t rows_status = 0;"]
    missing = []
    for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        for tensor in tensors:
            if tensor.is_by_rows:
                function = _adapter(entry, struct, tensor)
                both = f"{function}, 0" if struct == "inputs" else f"0, {function}"
                name = handle(struct, tensor)
                lines.append(
                    f"  const struct tvmgen_rows {name} = {{{both}, {struct}, &rows_status}};"
                )
                missing.append(f"{struct}->{callback_member(struct, tensor.c_name)} == 0")
    lines += [f"  if ({' || '.join(missing)}) return {MISSING_CALLBACK};"]
    return lines


def handle(what: str, tensor: IOTensor) -> str:
    """Return the name of a tensor's handle; the main function takes the handle's address."""
    return f"{callback_member(what, tensor.c_name)}_rows"


def _adapter(entry: EntryInterface, struct: str, tensor: IOTensor) -> str:
    return f"{entry.prefix}_{callback_member(struct, tensor.c_name)}_row"
