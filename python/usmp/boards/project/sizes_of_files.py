"""Print the C of `main.c` that reads symbolic sizes, which precede the inputs in a file."""

from __future__ import annotations

from usmp.boards.project.rows_of_files import size_macro
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.plain.entry_size import EntrySize


def tensor_bytes(entry: EntryInterface, tensor: IOTensor, inputs: str) -> str:
    """Return the C expression for the bytes of a tensor, at the sizes in the struct of inputs.

    Parameters
    ----------
    inputs
        C expression for members of the struct of inputs, such as "inputs->".
    """
    if not tensor.symbolic_extents:
        return size_macro(entry, tensor)
    sizes = ", ".join(f"{inputs}{size.c_name}" for size in entry.sizes)
    return f"{entry.prefix.upper()}_{tensor.c_name.upper()}_BYTES({sizes})"


def largest_sizes(entry: EntryInterface) -> list[str]:
    """Return the values of the sizes in the struct of inputs if there is no file."""
    return [f"{_macro(entry, size)}_MAX" for size in entry.sizes]


def inputs_parameter(entry: EntryInterface) -> list[str]:
    """Return the parameter with which the writer of outputs finds sizes and updated inputs."""
    is_needed = entry.sizes or entry.updated
    return [f"const struct {entry.prefix}_inputs* inputs"] if is_needed else []


def inputs_argument(entry: EntryInterface) -> str:
    """Return the argument for `inputs_parameter`."""
    return "&inputs, " if entry.sizes or entry.updated else ""


def read_sizes(entry: EntryInterface, file: str, inputs: str, failure: str) -> list[str]:
    """Return the statements that read the sizes of a run.

    Parameters
    ----------
    file
        C expression for the file.
    inputs
        C expression for members of the struct of inputs, such as "inputs->".
    failure
        statement for a truncated file, or a size out of range.
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
