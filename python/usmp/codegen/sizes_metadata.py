"""What metadata.json says of symbolic sizes, and of tensors whose shapes depend on them."""

from __future__ import annotations

from typing import Any

from usmp.codegen.entry_interface import EntryInterface, IOTensor
from usmp.objects.size_expression import shape_text


def sizes_metadata(entry: EntryInterface) -> dict[str, Any]:
    """The sizes that a run of an entry takes, if there are some."""
    if not entry.sizes:
        return {}
    return {
        "sizes": {
            size.name: {"c_name": size.c_name, "min": size.lower_bound, "max": size.upper_bound}
            for size in entry.sizes
        }
    }


def shape_metadata(tensor: IOTensor) -> dict[str, Any]:
    """The extents as expressions, and as text, if they depend on sizes."""
    extents = tensor.symbolic_extents
    if not extents:
        return {}
    return {"symbolic_shape": extents, "symbolic_shape_text": shape_text(extents)}
