"""Symbolic sizes, and shapes that depend on them, in metadata.json."""

from __future__ import annotations

from typing import Any

from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.plain.size_expression import shape_text


def sizes_metadata(interface: Interface, entry: EntryInterface) -> dict[str, Any]:
    """Return the sizes that a run of an entry takes, and the required bytes of workspace pools if
    they depend on sizes. A size without an upper bound has None as its largest value."""
    if not entry.sizes:
        return {}
    computed = [size.as_json() for size in interface.workspace_sizes]
    return {
        "sizes": {
            size.name: {"c_name": size.c_name, "min": size.lower_bound, "max": size.upper_bound}
            for size in entry.sizes
        },
        **({"workspace_sizes": computed} if computed else {}),
    }


def shape_metadata(tensor: IOTensor) -> dict[str, Any]:
    """Return the extents as expressions and as text, if they depend on sizes."""
    extents = tensor.symbolic_extents
    if not extents:
        return {}
    return {"symbolic_shape": extents, "symbolic_shape_text": shape_text(extents)}
