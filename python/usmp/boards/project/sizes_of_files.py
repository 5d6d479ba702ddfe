"""Symbolic sizes in the `main.c` of a board: numbers of 32 bits before the inputs of a run."""

from __future__ import annotations

from usmp.boards.project.rows_of_files import size_macro
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.plain.entry_size import EntrySize


def tensor_bytes(entry: EntryInterface, tensor: IOTensor, inputs: str) -> str:
    """The bytes of a tensor in C, at the sizes that a struct has.

    Parameters
    ----------
    inputs
        the struct of inputs with an operator, as "inputs->".
    """
    if not tensor.symbolic_extents:
        return size_macro(entry, tensor)
    sizes = ", ".join(f"{inputs}{size.c_name}" for size in entry.sizes)
    return f"{entry.prefix.upper()}_{tensor.c_name.upper()}_BYTES({sizes})"


def largest_sizes(entry: EntryInterface) -> list[str]:
    """The values of the sizes in the struct of inputs, where there is no file."""
    return [f"{_macro(entry, size)}_MAX" for size in entry.sizes]


def inputs_parameter(entry: EntryInterface) -> list[str]:
    """The parameter by which a function that writes outputs knows sizes, and inputs that a run
    updates, if there are some."""
    is_needed = entry.sizes or entry.updated
    return [f"const struct {entry.prefix}_inputs* inputs"] if is_needed else []


def inputs_argument(entry: EntryInterface) -> str:
    """The argument for it."""
    return "&inputs, " if entry.sizes or entry.updated else ""


def read_sizes(entry: EntryInterface, file: str, inputs: str, failure: str) -> list[str]:
    """The statements that read the sizes of a run.

    Parameters
    ----------
    file
        to read from.
    inputs
        the struct of inputs with an operator, as "inputs->".
    failure
        the statement for a file that ends, or has a size that is out of its range.
    """
    lines = []
    for size in entry.sizes:
        member, macro = f"{inputs}{size.c_name}", _macro(entry, size)
        lines += [
            f"  if (semihosting_read({file}, &{member}, sizeof({member})) != sizeof({member}) ||",
            f"      {member} < {macro}_MIN || {member} > {macro}_MAX) {{",
            f"    {failure}",
            "  }",
        ]
    return lines


def _macro(entry: EntryInterface, size: EntrySize) -> str:
    return f"{entry.prefix.upper()}_{size.c_name.upper()}"
