"""The names of tensors and pools in the C of a module, from its metadata."""

from __future__ import annotations

from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.archived.pool import ArchivedPool


def tensors_of(entry: ArchivedEntry, what: str) -> list[ArchivedTensor]:
    """Return the "inputs" or "outputs" of an entry, in order."""
    return list((entry.inputs if what == "inputs" else entry.outputs).values())


def tensor_macro(entry: ArchivedEntry, tensor: ArchivedTensor) -> str:
    """Return the prefix of the macros of an input or output."""
    return f"{entry.c_prefix}_{tensor.c_name}".upper()


def pool_macro(module: ArchivedModule, pool: ArchivedPool) -> str:
    """Return the prefix of the macros of a pool."""
    kind = "CONSTANT" if pool.is_constant else "WORKSPACE"
    return f"{module.c_prefix}_{pool.c_name}_{kind}_POOL".upper()


def external_pools(module: ArchivedModule) -> list[ArchivedPool]:
    """Return the pools that the application provides."""
    return [pool for pool in module.pools if not pool.is_internal]


def pools_argument(module: ArchivedModule) -> list[str]:
    """Return the argument for external pools; empty if there are none."""
    return [f"{module.c_prefix}_device_pools()"] if external_pools(module) else []


def has_devices(module: ArchivedModule) -> bool:
    """Return whether runs take handles of accelerators."""
    return bool(module.metadata.get("devices"))


def has_workspace_io(entry: ArchivedEntry) -> bool:
    """Return whether any input or output is in the workspace."""
    tensors = (*entry.inputs.values(), *entry.outputs.values())
    return any(tensor.pool_name is not None for tensor in tensors)


def read_only_inputs(entry: ArchivedEntry) -> dict[int, ArchivedTensor]:
    """Return the whole inputs, by index, that may be constants of the program."""
    if has_workspace_io(entry):
        return {}
    inputs = enumerate(entry.inputs.values())
    return {i: t for i, t in inputs if not (t.is_by_rows or t.is_written or t.is_updated)}


def own_inputs(entry: ArchivedEntry) -> dict[int, ArchivedTensor]:
    """Return the inputs, by index, for which a run needs RAM outside of the workspace."""
    constant = read_only_inputs(entry)
    return {i: t for i, t in _outside(entry, "inputs").items() if i not in constant}


def own_outputs(entry: ArchivedEntry) -> dict[int, ArchivedTensor]:
    """Return the outputs, by index, for which a run needs RAM outside of the workspace."""
    return _outside(entry, "outputs")


def _outside(entry: ArchivedEntry, what: str) -> dict[int, ArchivedTensor]:
    tensors = enumerate(tensors_of(entry, what))
    return {i: t for i, t in tensors if t.pool_name is None and not t.is_by_rows}


def has_state(module: ArchivedModule) -> bool:
    """Return whether the module has state."""
    return module.state_size_bytes > 0


def has_hooks(module: ArchivedModule) -> bool:
    """Return whether the C calls hooks around its operators."""
    return "operator_hooks" in module.metadata
