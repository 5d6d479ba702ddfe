"""The header of a compiled model, `tvmgen_<module>.h`; names as TVM 0.18 had them."""

from __future__ import annotations

from usmp.codegen.c_constants import constant_pool_bytes
from usmp.codegen.interface import Interface, Pool, Tensor


def print_header(interface: Interface) -> str:
    """The text of the header."""
    guard = f"{interface.macro_prefix}_H_"
    parts = [
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *_size_macros(interface),
        _tensor_struct(interface, "inputs", interface.inputs),
        _tensor_struct(interface, "outputs", interface.outputs),
        *_pool_struct(interface),
        *_map_functions(interface),
        _run(interface),
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif  /* {guard} */\n",
    ]
    return "\n".join(parts)


def pools_parameter(interface: Interface, prefix: str = "") -> str:
    """The parameter by which external pools are passed, or nothing."""
    if not interface.external_pools:
        return ""
    return f"{prefix}struct {interface.prefix}_workspace_pools* workspace_pools"


def run_declaration(interface: Interface) -> str:
    """The declaration of the entry point, without the semicolon."""
    p = interface.prefix
    return (
        f"int32_t {p}_run(struct {p}_inputs* inputs, struct {p}_outputs* outputs"
        f"{pools_parameter(interface, ', ')})"
    )


def map_declaration(interface: Interface, what: str) -> str:
    """The declaration of `map_inputs` or `map_outputs`, without the semicolon."""
    p = interface.prefix
    return f"struct {p}_{what} {p}_map_{what}({pools_parameter(interface) or 'void'})"


def _comment(text: str) -> str:
    return f"/*!\n * \\brief {text}\n */"


def _define(interface: Interface, name: str, value: int, text: str) -> str:
    module = f'TVM module "{interface.module_name}"'
    return f"{_comment(f'{text} of {module}')}\n#define {interface.macro_prefix}_{name} {value}\n"


def _size_macros(interface: Interface) -> list[str]:
    macros = [
        _define(
            interface,
            f"{tensor.c_name.upper()}_SIZE",
            int(tensor.info.size_bytes),
            f'Bytes of {what} tensor "{tensor.info.name}"',
        )
        for what, tensors in (("input", interface.inputs), ("output", interface.outputs))
        for tensor in tensors
    ]
    macros.append(
        _define(
            interface,
            "WORKSPACE_SIZE",
            interface.workspace_size_bytes,
            "Bytes of all workspace pools",
        )
    )
    for pool in interface.pools:
        kind = "CONSTANT" if pool.is_constant else "WORKSPACE"
        macros.append(
            _define(
                interface,
                f"{pool.c_name.upper()}_{kind}_POOL_SIZE",
                pool.size_bytes,
                f'Bytes of {kind.lower()} pool "{pool.info.pool_info.pool_name}"',
            )
        )
        if pool.is_constant and not pool.is_internal:
            macros.append(_pool_data(interface, pool))
    return macros


def _pool_data(interface: Interface, pool: Pool) -> str:
    """The content of an external constant pool, for the application to put where it belongs."""
    words = [f"0x{byte:02x}," for byte in constant_pool_bytes(pool.info)]
    lines = [" ".join(words[i : i + 16]) for i in range(0, len(words), 16)]
    head = _comment(f'Content of constant pool "{pool.info.pool_info.pool_name}", little-endian')
    name = f"{interface.macro_prefix}_{pool.c_name.upper()}_CONSTANT_POOL_DATA"
    return f"{head}\n#define {name} \\\n  " + " \\\n  ".join(lines) + "\n"


def _tensor_struct(interface: Interface, what: str, tensors: list[Tensor]) -> str:
    lines = [
        f"  void* {t.c_name};  /* {t.info.dtype}{[int(e) for e in t.info.shape]} */"
        for t in tensors
    ] or ["  uint8_t unused;"]
    text = f'The {what} of TVM module "{interface.module_name}", aligned for their element types'
    return f"{_comment(text)}\nstruct {interface.prefix}_{what} {{\n" + "\n".join(lines) + "\n};\n"


def _pool_struct(interface: Interface) -> list[str]:
    if not interface.external_pools:
        return []
    text = (
        f'Memory pools of TVM module "{interface.module_name}", provided by the application, '
        "aligned to 16 bytes"
    )
    lines = [f"  void* {pool.c_name};" for pool in interface.external_pools]
    struct = f"struct {interface.prefix}_workspace_pools {{\n" + "\n".join(lines) + "\n};\n"
    return [f"{_comment(text)}\n{struct}"]


def _map_functions(interface: Interface) -> list[str]:
    if not interface.has_workspace_io:
        return []
    return [
        f"{_comment(f'Where the {what} have their places in the workspace')}\n"
        f"{map_declaration(interface, what)};\n"
        for what in ("inputs", "outputs")
    ]


def _run(interface: Interface) -> str:
    text = f'Run TVM module "{interface.module_name}"; returns 0'
    if interface.has_workspace_io:
        text += (
            ".\n * Inputs and outputs live in the workspace: tensors at the places that map_inputs"
            "\n * and map_outputs give are used as they are, others are copied in and out. Inputs"
            "\n * may be overwritten during the run"
        )
    return f"{_comment(text)}\n{run_declaration(interface)};\n"
