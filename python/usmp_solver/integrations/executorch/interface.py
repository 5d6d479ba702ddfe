"""All imports from ExecuTorch. Versions with another interface fail here with a message.

Only documented public names are stable. The names here are those in the sources of `VERSIONS`.
"""

from __future__ import annotations

from importlib import metadata

VERSIONS = ">=1.5,<1.6"
"""Versions of ExecuTorch that have this interface."""


def _explain(error: ImportError) -> str:
    """Return why ExecuTorch cannot be used, and what to do."""
    command = "python -m pip install 'executorch>=1.5,<1.6'"
    try:
        version = metadata.version("executorch")
    except metadata.PackageNotFoundError:
        return f"ExecuTorch is not installed; install it with: {command}"
    if version.startswith("1.5."):
        return f"ExecuTorch {version} cannot be imported: {error}"
    return (
        f"the interface for memory planning of ExecuTorch {version} is not the one that is known "
        f"here; versions {VERSIONS} have it: {command}"
    )


try:
    from executorch.exir import memory
    from executorch.exir.control_flow import while_loop
    from executorch.exir.memory_planning import (
        SpecAllocResult,
        _extend_storage_base_lifetimes,
        _get_mutable_buffer_specs,
        _is_out_var_node,
        collect_specs_from_nodes,
        filter_nodes,
        get_node_tensor_specs,
    )
    from executorch.exir.passes.replace_view_copy_with_view_pass import _ViewSpec
    from executorch.exir.schema import TensorShapeDynamism
    from executorch.exir.tensor import TensorSpec
except ImportError as error:
    raise ImportError(_explain(error)) from error

extend_storage_base_lifetimes = _extend_storage_base_lifetimes
is_out_variant_call = _is_out_var_node
mutable_buffer_specs = _get_mutable_buffer_specs
ViewSpec = _ViewSpec

__all__ = [
    "VERSIONS",
    "SpecAllocResult",
    "TensorShapeDynamism",
    "TensorSpec",
    "ViewSpec",
    "collect_specs_from_nodes",
    "extend_storage_base_lifetimes",
    "filter_nodes",
    "get_node_tensor_specs",
    "is_out_variant_call",
    "memory",
    "mutable_buffer_specs",
    "while_loop",
]
