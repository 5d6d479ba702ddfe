"""The header's comment on the function that runs an entry."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.codegen.c.text import quoted
from usmp.codegen.interface.entry_facts import UsedState
from usmp.codegen.interface.entry_interface import EntryInterface
from usmp.codegen.interface.entry_sizes import ERROR_SIZE_MACRO
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.pool_checks import ERROR_POOL_MACRO, pool_checks
from usmp.codegen.sources.row_callbacks import MISSING_CALLBACK
from usmp.tir.dynamic_allocator import ALLOCATE_WORKSPACE, FREE_WORKSPACE

_SHOWN_TENSORS = 6
"""Most names of tensors or states in a line."""

_WRITE_INPUTS = {
    False: "write all {}inputs before each run, for a run may overwrite them",
    True: "write {}inputs when they change, for a run leaves them as they are",
}


def run_comment(interface: Interface, entry: EntryInterface) -> list[str]:
    """Return the lines of the comment on the run function of an entry."""
    statuses = _callback_statuses if entry.by_rows else _size_status
    first, *more = statuses(interface, entry)
    sentences = [
        [f"Run {interface.described(entry)}; returns 0{first}", *more],
        *_pool_status(interface, entry),
        *_sizes(entry),
        *_windows(entry),
        *_updated(interface, entry),
        *_where_tensors_are(interface, entry),
        *_kept_bytes(interface, entry),
        *_concurrent(interface, entry),
        *_dynamic_memory(interface, entry),
    ]
    for sentence in sentences[:-1]:
        sentence[-1] += "."
    return [line for sentence in sentences for line in sentence]


def _callback_statuses(interface: Interface, entry: EntryInterface) -> list[str]:
    """Describe the statuses of a run with callbacks, besides 0."""
    functions = "".join(f" or {text}" for text in _failing_functions(interface, entry))
    return [
        f", {MISSING_CALLBACK} if a callback is NULL,",
        f"or the other status that a callback{functions} returned",
    ]


def _size_status(interface: Interface, entry: EntryInterface) -> list[str]:
    """Describe the statuses of a run with symbolic sizes, besides 0."""
    returned = [f"what {text} returned" for text in _failing_functions(interface, entry)]
    if not entry.sizes:
        return ["".join(f", or {text}" for text in returned)]
    macro = f"{interface.macro_prefix}_{ERROR_SIZE_MACRO}"
    return [
        "".join(f", {text}" for text in returned) + f", or {macro} if a",
        "size is out of its range, and then nothing was written",
    ]


def _failing_functions(interface: Interface, entry: EntryInterface) -> list[str]:
    """Return text for the functions of accelerators that may end a run; empty without any."""
    names = interface.failing_accelerators(entry)
    return [f"a function of {' or '.join(names)}"] if names else []


def _pool_status(interface: Interface, entry: EntryInterface) -> list[list[str]]:
    """Describe the status for pools at other addresses than planned."""
    if not pool_checks(interface, entry):
        return []
    macro = f"{interface.macro_prefix}_{ERROR_POOL_MACRO}"
    return [[f"It returns {macro}, and writes nothing,", "if a pool is at another address"]]


def _sizes(entry: EntryInterface) -> list[list[str]]:
    """Describe how shapes follow from symbolic sizes."""
    if not entry.sizes:
        return []
    sizes = ", ".join(size.c_name for size in entry.sizes)
    lines = [
        f"Tensors have the shapes that follow from {sizes} of inputs, without gaps",
        "from the beginning of their memory on; each run may have others",
    ]
    if entry.has_workspace_io:
        lines[-1] += ". It takes nothing else"
        lines.append("from the struct: the pointers are those of map_inputs, whatever is in it")
    return [lines]


def _windows(entry: EntryInterface) -> list[list[str]]:
    """Describe how inputs pass the new rows of windows."""
    return [
        [
            f"{quoted(tensor.info.name)} takes the {window.hop} newest of the {window.rows} rows "
            "of a window, the oldest first:",
            "give all rows in their order, each of them once. The outputs are those of the whole",
            f"window, which is full of {int(tensor.info.zero_point or 0)} before the first run and "
            "after reset",
        ]
        for tensor in entry.inputs
        if (window := tensor.window) is not None
    ]


def _updated(interface: Interface, entry: EntryInterface) -> list[list[str]]:
    """Describe which inputs are updated in place."""
    if not entry.updated:
        return []
    first = f"It updates {_quoted_names([t.info.name for t in entry.updated])}"
    if not entry.has_workspace_io:
        return [[first, "in place; no other tensor may share bytes with what it updates"]]
    if len(interface.entries) > 1:
        return [[first, "in place; read the new values right after it"]]
    return [[first, "in place; the next run finds the new values there"]]


def _where_tensors_are(interface: Interface, entry: EntryInterface) -> list[list[str]]:
    if not entry.has_workspace_io:
        return []
    where = "Inputs and outputs live in the workspace, where map_inputs and map_outputs say:"
    if len(interface.entries) > 1:
        return [
            [
                where,
                "write all inputs right before each run, and read the outputs right after it, for",
                "other entries use the same bytes",
            ]
        ]
    write = _WRITE_INPUTS[entry.preserves_inputs].format("other " if entry.updated else "")
    if entry.by_rows:
        return _where_others_are(entry, write)
    return [[where, f"{write}, and read the", "outputs before the next"]]


def _where_others_are(entry: EntryInterface, write: str) -> list[list[str]]:
    """Describe where the tensors that are not passed by rows are, if any tensor is passed by
    rows."""
    inputs, outputs = (
        any(not tensor.is_by_rows for tensor in tensors)
        for tensors in (entry.inputs, entry.outputs)
    )
    texts = []
    if inputs:
        texts.append(["Other inputs live in the workspace, where map_inputs says:", write])
    if outputs:
        where = "Other outputs" if any(t.is_by_rows for t in entry.outputs) else "Outputs"
        texts.append(
            [
                f"{where} live in the workspace, where map_outputs says: read them",
                "before the next run",
            ]
        )
    return texts


def _kept_bytes(interface: Interface, entry: EntryInterface) -> list[list[str]]:
    kept = interface.state_size_bytes
    if not interface.states:
        return []
    if len(interface.entries) == 1:
        return [[f"{kept} bytes of the workspace are kept from one run to the next"]]
    if not entry.states:
        return [[f"It uses none of the {kept} bytes that are kept between runs"]]
    changed = [state for state in entry.states if state.is_changed]
    read = [state for state in entry.states if not state.is_changed]
    parts = [
        *([f"changes {_listed(changed)}"] if changed else []),
        *([f"only reads {_listed(read)}"] if read else []),
    ]
    return [[f"It {' and '.join(parts)} of the {kept} bytes that are kept between runs"]]


def _dynamic_memory(interface: Interface, entry: EntryInterface) -> list[list[str]]:
    """Describe how buffers of dynamic size are allocated."""
    status = f"{interface.macro_prefix}_STATUS_NO_MEMORY"
    if entry.takes_arena:
        return [
            [
                "It allocates in `arena`, and releases all of that; no other run may use it at the",
                f"same time. If it is too small, the run returns {status},",
                "and arena->high_water is what it must have to get further",
            ]
        ]
    if interface.dynamic_allocator:
        functions = f"{ALLOCATE_WORKSPACE} and {FREE_WORKSPACE}"
        return [[f"It calls {functions} of TVM's runtime,", f"and returns {status} if that fails"]]
    return []


def _listed(states: Sequence[UsedState]) -> str:
    names = _quoted_names([state.name for state in states])
    return f"{sum(state.size_bytes for state in states)} ({names})"


def _quoted_names(names: Sequence[str]) -> str:
    """Return the first names, and the number of further names."""
    shown = ", ".join(quoted(name) for name in names[:_SHOWN_TENSORS])
    return shown + (
        f" and {len(names) - _SHOWN_TENSORS} more" if len(names) > _SHOWN_TENSORS else ""
    )


def _concurrent(interface: Interface, entry: EntryInterface) -> list[list[str]]:
    """Describe which entries may run at the same time, if there are several entries."""
    if len(interface.entries) == 1:
        return []
    names = ", ".join(quoted(name) for name in entry.concurrent_with)
    if not names:
        return [["No other entry may run at the same time"]]
    others = "entries" if len(entry.concurrent_with) > 1 else "entry"
    return [[f"Only {others} {names} may run at the same time, and interrupt it or be interrupted"]]
