"""The header of a compiled model, `tvmgen_<module>.h`; names as TVM 0.18 had them."""

from __future__ import annotations

from collections.abc import Iterator

from usmp.codegen.c_constants import constant_pool_bytes
from usmp.codegen.interface import Interface, Pool, Tensor


def print_header(interface: Interface) -> str:
    """The text of the header.

    Raises
    ------
    ValueError: two tensors or pools need the same macro for different sizes.
    """
    guard = f"{interface.macro_prefix}_H_"
    parts = [
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *_size_macros(interface),
        *(_pool_data(interface, pool) for pool in interface.external_pools if pool.is_constant),
        _tensor_struct(interface, "inputs", interface.inputs),
        _tensor_struct(interface, "outputs", interface.outputs),
        *_pool_struct(interface),
        *_map_functions(interface),
        _run(interface),
        *_reset(interface),
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


def reset_declaration(interface: Interface) -> str:
    """The declaration of the function that clears what is kept between runs, without the
    semicolon."""
    return f"void {interface.prefix}_reset({pools_parameter(interface) or 'void'})"


def comment_text(text: str) -> str:
    """`text` for the inside of a comment, which it must neither end nor begin."""
    return text.replace("*/", "* /").replace("/*", "/ *")


def _comment(text: str) -> str:
    return f"/*!\n * \\brief {comment_text(text)}\n */"


def _size_macros(interface: Interface) -> list[str]:
    module = f'TVM module "{interface.module_name}"'
    values: dict[str, int] = {}
    lines = []
    for name, value, text in _sizes(interface):
        if values.setdefault(name, value) != value:
            raise ValueError(
                f"the header would define {interface.macro_prefix}_{name} twice, as "
                f"{values[name]} and as {value} ({text}); rename one of the two"
            )
        brief = _comment(f"{text} of {module}")
        lines.append(f"{brief}\n#define {interface.macro_prefix}_{name} {value}\n")
    return lines


def _sizes(interface: Interface) -> Iterator[tuple[str, int, str]]:
    """Name, value and meaning of each size macro."""
    for what, tensors in (("input", interface.inputs), ("output", interface.outputs)):
        for tensor in tensors:
            text = f'Bytes of {what} tensor "{tensor.info.name}"'
            yield f"{tensor.c_name.upper()}_SIZE", int(tensor.info.size_bytes), text
    yield "WORKSPACE_SIZE", interface.workspace_size_bytes, "Bytes of all workspace pools"
    for pool in interface.pools:
        kind = "constant" if pool.is_constant else "workspace"
        text = f'Bytes of {kind} pool "{pool.info.pool_info.pool_name}"'
        yield f"{pool.c_name.upper()}_{kind.upper()}_POOL_SIZE", pool.size_bytes, text


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
    text = f'Memory pools of TVM module "{interface.module_name}", provided by the application'
    if any(interface.states_in(pool) for pool in interface.external_pools):
        text += (
            ".\n * Nothing else may write the bytes that are kept between runs; zero the pools that"
            f"\n * have some, or call {interface.prefix}_reset, once before the first run"
        )
    lines = [
        f"  void* {pool.c_name};  /* {pool.size_bytes} bytes, aligned to {pool.alignment_bytes}"
        f"{_kept(interface, pool)} */"
        for pool in interface.external_pools
    ]
    struct = f"struct {interface.prefix}_workspace_pools {{\n" + "\n".join(lines) + "\n};\n"
    return [f"{_comment(text)}\n{struct}"]


def _kept(interface: Interface, pool: Pool) -> str:
    kept = sum(int(state.size_bytes) for state in interface.states_in(pool))
    return f", {kept} kept between runs" if kept else ""


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
    if interface.states:
        text += (
            f".\n * {interface.state_size_bytes} bytes of the workspace are kept from one run to"
            " the next"
        )
    return f"{_comment(text)}\n{run_declaration(interface)};\n"


def _reset(interface: Interface) -> list[str]:
    """Only models that keep something between runs have it."""
    if not interface.states:
        return []
    text = (
        f'Let the next run of TVM module "{interface.module_name}" begin as the first one: forget'
        "\n * what was kept between runs"
    )
    return [f"{_comment(text)}\n{reset_declaration(interface)};\n"]
