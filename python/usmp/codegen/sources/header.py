"""The header of a compiled model, `tvmgen_<module>.h`, with the names of TVM 0.18."""

from __future__ import annotations

from usmp.codegen.c.text import comment, quoted
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.sources.accelerators import accelerator_parts, devices_parameter
from usmp.codegen.sources.entry_comments import run_comment
from usmp.codegen.sources.macros import STATIC_ASSERT, print_macros
from usmp.codegen.sources.operator_hooks import declare_operator_hooks
from usmp.codegen.sources.row_callbacks import callback_comment, callback_declaration
from usmp.codegen.sources.sizes import shape_comment, size_members
from usmp.codegen.sources.workspace_size import workspace_size_declarations
from usmp.plain.c_interface import context_member


def print_header(interface: Interface) -> str:
    """Return the text of the header.

    Raises
    ------
    ValueError
        two tensors or pools need the same macro for different sizes.
    """
    guard = f"{interface.macro_prefix}_H_"
    parts = [
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
        *(['#include "usmp_arena.h"\n'] if interface.takes_arena else []),
        *([STATIC_ASSERT] if interface.pools else []),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *print_macros(interface),
        *([] if interface.is_packed else _declarations(interface)),
        *declare_operator_hooks(interface),
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif  /* {guard} */\n",
    ]
    return "\n".join(parts)


def _declarations(interface: Interface) -> list[str]:
    """Return the structs and functions of the C interface; the packed interface has neither."""
    structs = [
        _tensor_struct(interface, entry, struct, tensors)
        for entry in interface.entries
        for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs))
    ]
    functions = [
        text
        for entry in interface.entries
        for text in (*_map_functions(interface, entry), _run(interface, entry))
    ]
    return [
        *structs,
        *(f"{text}\n{code}\n" for text, code in accelerator_parts(interface)),
        *_pool_struct(interface),
        *functions,
        *workspace_size_declarations(interface),
        *_reset(interface),
    ]


def run_declaration(interface: Interface, entry: EntryInterface) -> str:
    """Return the declaration of the function that runs an entry, without the semicolon.

    As in TVM 0.18, the function takes no structs of inputs and outputs in the workspace, except
    structs with callbacks or sizes. (RFC 0009 of apache/tvm-rfcs, use case U4.)
    """
    parameters = [f"struct {entry.prefix}_{name}* {name}" for name in entry.tensor_structs]
    parameters += [*_pool_parameters(interface), *devices_parameter(interface)]
    parameters += ["struct usmp_arena* arena"] if entry.takes_arena else []
    return f"int32_t {entry.prefix}_run({', '.join(parameters) or 'void'})"


def _pool_parameters(interface: Interface) -> list[str]:
    """Return the parameter that passes the external pools, if there are any."""
    if not interface.external_pools:
        return []
    return [f"struct {interface.prefix}_workspace_pools* workspace_pools"]


def map_declaration(interface: Interface, entry: EntryInterface, what: str) -> str:
    """Return the declaration of an entry's `map_inputs` or `map_outputs`, without the semicolon."""
    p = entry.prefix
    return f"struct {p}_{what} {p}_map_{what}({''.join(_pool_parameters(interface)) or 'void'})"


def reset_declaration(interface: Interface) -> str:
    """Return the declaration of the function that resets the states, without the semicolon."""
    return f"void {interface.prefix}_reset({''.join(_pool_parameters(interface)) or 'void'})"


def _tensor_struct(
    interface: Interface, entry: EntryInterface, struct: str, tensors: list[IOTensor]
) -> str:
    lines = [line for t in tensors for line in _tensor_members(entry, struct, t)]
    lines += size_members(entry) if struct == "inputs" else []
    lines = lines or ["  uint8_t unused;"]
    owner = interface.described(entry)
    text = comment(f"The {struct} of {owner}, aligned for their element types")
    return f"{text}\nstruct {entry.prefix}_{struct} {{\n" + "\n".join(lines) + "\n};\n"


def _tensor_members(entry: EntryInterface, struct: str, tensor: IOTensor) -> list[str]:
    shape = shape_comment(entry, tensor)
    if not tensor.is_by_rows:
        updated = ", which runs read and update" if tensor.info.is_updated else ""
        const = "const " if struct == "inputs" and entry.only_reads(tensor) else ""
        return [f"  {const}void* {tensor.c_name};  /* {shape}{updated} */"]
    context = context_member(tensor.c_name)
    return [
        *callback_comment(tensor, shape, struct, context),
        f"  {callback_declaration(tensor, struct)};",
        f"  void* {context};",
    ]


def _pool_struct(interface: Interface) -> list[str]:
    if not interface.external_pools:
        return []
    text = [
        f"Memory pools of TVM module {quoted(interface.module_name)}, provided by the application"
    ]
    if any(interface.states_in(pool) for pool in interface.external_pools):
        text[-1] += "."
        text += [
            "Nothing else may write the bytes that are kept between runs; zero the pools that",
            f"have some, or call {interface.prefix}_reset, once before the first run",
        ]
    lines = [
        f"  {'const ' if pool.is_constant else ''}void* {pool.c_name};  "
        f"/* {_needs(interface, pool)} */"
        for pool in interface.external_pools
    ]
    struct = f"struct {interface.prefix}_workspace_pools {{\n" + "\n".join(lines) + "\n};\n"
    return [f"{comment(*text)}\n{struct}"]


def _needs(interface: Interface, pool: PoolParameter) -> str:
    if pool.is_empty:
        return "nothing lies there: 0 bytes, may be NULL"
    kept = sum(int(state.size_bytes) for state in interface.states_in(pool))
    sizes = f"{pool.memory_bytes} bytes, aligned to {pool.memory_alignment}"
    if pool.address is not None:
        sizes = f"{pool.memory_bytes} bytes at address 0x{pool.address:x}"
    if pool.first_byte:
        sizes += f", the first {pool.first_byte} not touched"
    return f"{sizes}, {kept} kept between runs" if kept else sizes


def _map_functions(interface: Interface, entry: EntryInterface) -> list[str]:
    if not entry.has_workspace_io:
        return []
    owner = "" if interface.has_only_main else f" of {interface.described(entry)}"
    declarations = []
    for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        text = [f"Where the {struct}{owner} have their places in the workspace"]
        if any(tensor.is_by_rows for tensor in tensors):
            text[-1] += ";"
            text.append("callbacks are NULL, for the application to set")
        if struct == "inputs" and entry.sizes:
            text[-1] += ";"
            text.append("sizes are the largest, for the application to set")
        declarations.append(f"{comment(*text)}\n{map_declaration(interface, entry, struct)};\n")
    return declarations


def _run(interface: Interface, entry: EntryInterface) -> str:
    text = comment(*run_comment(interface, entry))
    return f"{text}\n{run_declaration(interface, entry)};\n"


def _reset(interface: Interface) -> list[str]:
    """Return the reset function with its comment, if the model has states."""
    if not interface.states:
        return []
    module = quoted(interface.module_name)
    text = [
        f"Let the next run of TVM module {module} begin as the first one: forget",
        "what was kept between runs",
    ]
    kept = [p for p in interface.pools if "noinit" in p.section_name and interface.states_in(p)]
    if kept:
        names = ", ".join(quoted(pool.name) for pool in kept)
        text[-1] += ". Start-up code does not zero"
        text += [
            f"workspace pool {names}: call it before the first run, unless what is there",
            f"was kept by a program with the same {interface.macro_prefix}_STATE_LAYOUT_HASH",
        ]
    return [f"{comment(*text)}\n{reset_declaration(interface)};\n"]
