"""The header of a compiled model, `tvmgen_<module>.h`; names as TVM 0.18 had them."""

from __future__ import annotations

from usmp.codegen.accelerators import accelerator_parts, devices_parameter
from usmp.codegen.c_macros import STATIC_ASSERT, print_macros
from usmp.codegen.c_text import comment, quoted
from usmp.codegen.interface import Interface, IOTensor, PoolParameter


def print_header(interface: Interface) -> str:
    """The text of the header.

    Raises
    ------
    ValueError
        two tensors or pools need the same macro for different sizes.
    """
    guard = f"{interface.macro_prefix}_H_"
    parts = [
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
        *([STATIC_ASSERT] if interface.pools else []),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *print_macros(interface),
        *([] if interface.is_packed else _declarations(interface)),
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif  /* {guard} */\n",
    ]
    return "\n".join(parts)


def _declarations(interface: Interface) -> list[str]:
    """The structs and functions of the C interface; the packed interface has neither."""
    return [
        _tensor_struct(interface, "inputs", interface.inputs),
        _tensor_struct(interface, "outputs", interface.outputs),
        *(f"{text}\n{code}\n" for text, code in accelerator_parts(interface)),
        *_pool_struct(interface),
        *_map_functions(interface),
        _run(interface),
        *_reset(interface),
    ]


def run_declaration(interface: Interface) -> str:
    """The declaration of the entry point, without the semicolon.

    As in TVM 0.18 it takes no inputs and outputs if they live in the workspace (use case U4).
    """
    p = interface.prefix
    parameters = [] if interface.has_workspace_io else _tensor_parameters(interface)
    parameters += [*_pool_parameters(interface), *devices_parameter(interface)]
    return f"int32_t {p}_run({', '.join(parameters) or 'void'})"


def _tensor_parameters(interface: Interface) -> list[str]:
    return [f"struct {interface.prefix}_{what}* {what}" for what in ("inputs", "outputs")]


def _pool_parameters(interface: Interface) -> list[str]:
    """The parameter by which external pools are passed, or nothing."""
    if not interface.external_pools:
        return []
    return [f"struct {interface.prefix}_workspace_pools* workspace_pools"]


def map_declaration(interface: Interface, what: str) -> str:
    """The declaration of `map_inputs` or `map_outputs`, without the semicolon."""
    p = interface.prefix
    return f"struct {p}_{what} {p}_map_{what}({''.join(_pool_parameters(interface)) or 'void'})"


def reset_declaration(interface: Interface) -> str:
    """The declaration of the function that clears what is kept between runs, without the
    semicolon."""
    return f"void {interface.prefix}_reset({''.join(_pool_parameters(interface)) or 'void'})"


def _tensor_struct(interface: Interface, what: str, tensors: list[IOTensor]) -> str:
    lines = [
        f"  void* {t.c_name};  /* {t.info.dtype}{[int(e) for e in t.info.shape]} */"
        for t in tensors
    ] or ["  uint8_t unused;"]
    module = quoted(interface.module_name)
    text = comment(f"The {what} of TVM module {module}, aligned for their element types")
    return f"{text}\nstruct {interface.prefix}_{what} {{\n" + "\n".join(lines) + "\n};\n"


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
        f"  void* {pool.c_name};  /* {pool.size_bytes} bytes, aligned to {pool.alignment_bytes}"
        f"{_kept(interface, pool)} */"
        for pool in interface.external_pools
    ]
    struct = f"struct {interface.prefix}_workspace_pools {{\n" + "\n".join(lines) + "\n};\n"
    return [f"{comment(*text)}\n{struct}"]


def _kept(interface: Interface, pool: PoolParameter) -> str:
    kept = sum(int(state.size_bytes) for state in interface.states_in(pool))
    return f", {kept} kept between runs" if kept else ""


def _map_functions(interface: Interface) -> list[str]:
    if not interface.has_workspace_io:
        return []
    return [
        f"{comment(f'Where the {what} have their places in the workspace')}\n"
        f"{map_declaration(interface, what)};\n"
        for what in ("inputs", "outputs")
    ]


_WRITE_INPUTS = {
    False: "write all inputs before each run, for a run may overwrite them",
    True: "write inputs when they change, for a run leaves them as they are",
}


def _run(interface: Interface) -> str:
    text = [f"Run TVM module {quoted(interface.module_name)}; returns 0"]
    if interface.has_workspace_io:
        text[-1] += "."
        text += [
            "Inputs and outputs live in the workspace, where map_inputs and map_outputs say:",
            f"{_WRITE_INPUTS[interface.preserves_inputs]}, and read the",
            "outputs before the next",
        ]
    if interface.states:
        text[-1] += "."
        text.append(
            f"{interface.state_size_bytes} bytes of the workspace are kept from one run to the next"
        )
    return f"{comment(*text)}\n{run_declaration(interface)};\n"


def _reset(interface: Interface) -> list[str]:
    """Only models that keep something between runs have it."""
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
