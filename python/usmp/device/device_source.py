"""Print the C header and the C files through which self test and serial runner call a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from usmp.codegen.c.text import comment_text, quoted
from usmp.codegen.c.types import c_type
from usmp.device.c_names import (
    external_pools,
    has_devices,
    has_state,
    has_workspace_io,
    own_inputs,
    own_outputs,
    pool_macro,
    pools_argument,
    read_only_inputs,
    tensor_macro,
    tensors_of,
)
from usmp.device.needed_memory import self_test_memory, serial_memory
from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor
from usmp.runtime.archived.module import ArchivedModule

_ROLES = (("inputs", "input", "read"), ("outputs", "output", "write"))


def print_device_header(module: ArchivedModule) -> str:
    """Return the header of a model on a device, with the functions for applications."""
    prefix = module.c_prefix
    lines = [
        f"/* TVM module {comment_text(quoted(module.name))} on a device. */",
        f"#ifndef {prefix.upper()}_DEVICE_H_",
        f"#define {prefix.upper()}_DEVICE_H_\n",
        f'#include "{prefix}.h"',
        '#include "usmp_device.h"',
        '#include "usmp_serial.h"\n',
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif\n",
        f"/* {prefix}_self_test.c: 0 if all outputs are as expected; see usmp_self_test.h, and the "
        "list",
        f" * of runs and outputs in {prefix}_self_test.c.",
        f" * {self_test_memory(module)}. */",
        f"int32_t {prefix}_self_test(void);\n",
        f"/* {prefix}_serial.c: answer tvmc run --serial until the line ends; see",
        f" * usmp_serial.h. {serial_memory(module)}. */",
        f"int32_t {prefix}_serve(const struct usmp_serial_port* port);\n",
        f"/* {prefix}_device.c: the model, as both call it. */",
        f"extern const struct usmp_device_model {prefix}_device;\n",
        *_application_functions(module),
        "#ifdef __cplusplus",
        "}",
        "#endif\n",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _application_functions(module: ArchivedModule) -> list[str]:
    """Return the declarations of functions in the memory file, which an application may replace."""
    prefix, lines = module.c_prefix, []
    for file, role, tensors_of_role in (
        ("device", "input", own_inputs),
        ("device", "output", own_outputs),
        ("serial", "input", read_only_inputs),
    ):
        numbered = [*_numbered_tensors(module, role, tensors_of_role)]
        if numbered:
            lines += [
                f"/* {prefix}_{file}_memory.c: where an {role} is, aligned for its elements.",
                *numbered,
                " */",
                f"void* {prefix}_{file}_{role}(uint32_t entry, uint32_t index);\n",
            ]
    if external_pools(module):
        lines += [
            f"/* {prefix}_device_memory.c: the memory pools that the application provides. */",
            f"struct {prefix}_workspace_pools* {prefix}_device_pools(void);\n",
        ]
    if has_devices(module):
        lines += [
            f"/* {prefix}_device_memory.c: what functions of accelerators get. */",
            f"struct {prefix}_devices* {prefix}_device_handles(void);\n",
        ]
    return lines


def _numbered_tensors(
    module: ArchivedModule,
    role: str,
    tensors_of_role: Callable[[ArchivedEntry], Mapping[int, ArchivedTensor]],
) -> Iterator[str]:
    """Yield lines of a comment with the index, name and size of tensors."""
    for number, entry in enumerate(module.entries.values()):
        tensors = tensors_of_role(entry)
        if tensors:
            yield f" *\n * Entry {number}, {comment_text(quoted(entry.name))}:"
        for index, tensor in tensors.items():
            name = comment_text(quoted(tensor.info.name))
            yield f" *   {role} {index} is {name}, at most {tensor.info.size_bytes} bytes"


def print_device(module: ArchivedModule, interface: bytes, code: bytes) -> str:
    """Return the C file with the table of the entries, and functions that call the model.

    Parameters
    ----------
    interface, code
        digests of the interface and of the code of the model.
    """
    prefix, entries = module.c_prefix, list(module.entries.values())
    rows = [_table_row(number, entry) for number, entry in enumerate(entries)]
    reset = _reset(module)
    return "\n".join(
        [
            f"/* TVM module {comment_text(quoted(module.name))}, as tests and hosts call it. */",
            f'#include "{prefix}_device.h"\n\n{_assertions(module)}',
            *(_entry(module, number, entry) for number, entry in enumerate(entries)),
            *([reset] if reset else []),
            "static const struct usmp_device_entry entries[] = {",
            *rows,
            "};\n",
            f"const struct usmp_device_model {prefix}_device = {{",
            f"    {{{_bytes(interface)}}},",
            f"    {{{_bytes(code)}}},",
            f"    {len(entries)},",
            "    entries,",
            f"    {'reset' if reset else '0'},",
            "};\n",
        ]
    )


def _assertions(module: ArchivedModule) -> str:
    """Return compile-time assertions that the header has the sizes in the metadata."""
    sizes = {
        f"{tensor_macro(entry, tensor)}_SIZE": tensor.info.size_bytes
        for entry in module.entries.values()
        for what, *_ in _ROLES
        for tensor in tensors_of(entry, what)
    }
    sizes |= {f"{pool_macro(module, pool)}_SIZE": pool.declared_bytes for pool in module.pools}
    name = f"{module.c_prefix}_device_is_of_another_archive"
    return "".join(
        f"USMP_DEVICE_ASSERT({macro} == {size}, {name}_{number});\n"
        for number, (macro, size) in enumerate(sizes.items())
    )


def _bytes(content: bytes) -> str:
    return ", ".join(f"0x{byte:02x}" for byte in content)


def _table_row(number: int, entry: ArchivedEntry) -> str:
    counts = f"{len(entry.inputs)}, {len(entry.results)}, {len(entry.sizes)}"
    functions = ", ".join(
        f"{name}_{number}" for name in ("input_bytes", "output_bytes", "input", "output", "run")
    )
    return f"    {{{counts}, {functions}}},"


def _reset(module: ArchivedModule) -> str:
    if not has_state(module):
        return ""
    call = f"{module.c_prefix}_reset({', '.join(pools_argument(module))})"
    return f"static void reset(void) {{ {call}; }}\n"


def _entry(module: ArchivedModule, number: int, entry: ArchivedEntry) -> str:
    """Return the functions and tables of an entry."""
    parts = [f"/* Entry {comment_text(quoted(entry.name))}. */"]
    for what, role, verb in _ROLES:
        tensors = tensors_of(entry, what)
        results = tensors if what == "inputs" else entry.results.values()
        sizes = ", ".join(f"{tensor_macro(entry, tensor)}_SIZE" for tensor in results) or "0"
        parts.append(f"static const uint32_t {role}_bytes_{number}[] = {{{sizes}}};\n")
        parts.append(_place(module, number, entry, what, role))
        parts += [
            _row_callback(verb, number, index, entry, tensor)
            for index, tensor in enumerate(tensors)
            if tensor.is_by_rows
        ]
    return "\n".join([*parts, _run(module, number, entry)])


def _place(module: ArchivedModule, number: int, entry: ArchivedEntry, what: str, role: str) -> str:
    """Return the function that returns the address of an input or output; NULL without one."""
    tensors = tensors_of(entry, what)
    placed = [(index, t) for index, t in enumerate(tensors) if t.pool_name is not None]
    lines = [f"static void* {role}_{number}(uint32_t index) {{"]
    if what == "outputs":
        # The updated inputs follow the outputs.
        lines += [
            f"  if (index == {len(tensors) + n}) return input_{number}({index});"
            for n, index in enumerate(_updated(entry))
        ]
    if placed:
        pools = ", ".join(pools_argument(module))
        struct = f"struct {entry.c_prefix}_{what}"
        lines += [
            f"  const {struct} places = {entry.c_prefix}_map_{what}({pools});",
            "  switch (index) {",
            *(f"    case {index}:\n      return places.{t.c_name};" for index, t in placed),
            "    default:\n      break;",
            "  }",
        ]
    own = own_inputs(entry) if what == "inputs" else own_outputs(entry)
    indices = [f"index == {index}" for index in own]
    condition = "" if len(own) == len(tensors) else f"if ({' || '.join(indices)}) "
    if own:
        lines.append(f"  {condition}return {module.c_prefix}_device_{role}({number}, index);")
    lines += [] if own or len(lines) > 1 else ["  (void)index;"]
    lines += ["  return 0;"] if condition or not own else []
    return "\n".join([*lines, "}\n"])


def _updated(entry: ArchivedEntry) -> list[int]:
    """Return the indices of the inputs that a run updates in place."""
    return [i for i, t in enumerate(entry.inputs.values()) if t.is_updated]


def _row_callback(
    verb: str, number: int, index: int, entry: ArchivedEntry, tensor: ArchivedTensor
) -> str:
    """Return a callback that passes a row on to the `struct usmp_device_io` of the run."""
    element, size = c_type(str(tensor.info.dtype)), f"{tensor_macro(entry, tensor)}_ROW_SIZE"
    const, data = ("", "destination") if verb == "read" else ("const ", "source")
    name = f"{verb}_{number}_{index}"
    return (
        f"static int32_t {name}(void* context, int32_t row, {const}{element}* {data}) {{\n"
        "  const struct usmp_device_io* io = (const struct usmp_device_io*)context;\n"
        f"  const uint32_t bytes = {size};\n"
        f"  return io->{verb}(io->context, {index}, (uint32_t)row * bytes, {data}, bytes);\n"
        "}\n"
    )


def _run(module: ArchivedModule, number: int, entry: ArchivedEntry) -> str:
    """Return the function that runs an entry."""
    lines = [f"static int32_t run_{number}(const int32_t* sizes, struct usmp_device_io* io) {{"]
    passed = _passed_structs(entry)
    for what, role, verb in _ROLES:
        if what in passed:
            lines += _struct(module, number, entry, what, role, verb)
    lines += [f"  inputs.{s.c_name} = sizes[{n}];" for n, s in enumerate(entry.sizes.values())]
    lines += [] if entry.sizes else ["  (void)sizes;"]
    by_rows = [t for what, *_ in _ROLES for t in tensors_of(entry, what) if t.is_by_rows]
    lines += [] if by_rows or read_only_inputs(entry) else ["  (void)io;"]
    arguments = [*(f"&{what}" for what in passed), *pools_argument(module)]
    arguments += [f"{module.c_prefix}_device_handles()"] if has_devices(module) else []
    return "\n".join([*lines, f"  return {entry.c_prefix}_run({', '.join(arguments)});", "}\n"])


def _passed_structs(entry: ArchivedEntry) -> Sequence[str]:
    """Return the structs that a run takes. With tensors in the workspace, a struct is passed only
    if it has callbacks or sizes."""
    if not has_workspace_io(entry):
        return ("inputs", "outputs")
    with_sizes = {"inputs"} if entry.sizes else set()
    return [
        what
        for what, *_ in _ROLES
        if what in with_sizes or any(t.is_by_rows for t in tensors_of(entry, what))
    ]


def _struct(
    module: ArchivedModule, number: int, entry: ArchivedEntry, what: str, role: str, verb: str
) -> list[str]:
    """Return the statements that define a struct of tensors."""
    value = "{0}"
    if has_workspace_io(entry):
        value = f"{entry.c_prefix}_map_{what}({', '.join(pools_argument(module))})"
    lines = [f"  struct {entry.c_prefix}_{what} {what} = {value};"]
    own = own_inputs(entry) if what == "inputs" else own_outputs(entry)
    for index, tensor in enumerate(tensors_of(entry, what)):
        *callback, address = tensor.members(what)
        if tensor.is_by_rows:
            lines += [f"  {what}.{name} = {verb}_{number}_{index};" for name in callback]
            lines.append(f"  {what}.{address} = io;")
        elif index in own:
            place = f"{module.c_prefix}_device_{role}({number}, {index})"
            lines.append(f"  {what}.{address} = {place};")
        elif tensor.pool_name is None:
            lines.append(f"  {what}.{address} = io->input(io->context, {index});")
    return lines


def print_serial(module: ArchivedModule, has_hooks: bool) -> str:
    """Return the C file that answers a host, and counts the clock cycles of each operator."""
    prefix = module.c_prefix
    has_inputs = any(read_only_inputs(entry) for entry in module.entries.values())
    place = f"{prefix}_serial_input" if has_inputs else "0"
    if not has_hooks:
        return f"""#include "{prefix}_device.h"

int32_t {prefix}_serve(const struct usmp_serial_port* port) {{
  static const struct usmp_operator_cycles operators = {{0, 0}};
  return usmp_serve(&{prefix}_device, {place}, &operators, port);
}}
"""
    count = f"{prefix.upper()}_OPERATOR_COUNT"
    return f"""#include "{prefix}_device.h"

static const struct usmp_serial_port* line;
static uint64_t cycles[{count} + 1];
static uint32_t begin;

void {prefix}_operator_begin(int32_t operator_index) {{
  (void)operator_index;
  if (line != 0 && line->cycles != 0) begin = usmp_serial_cycles(line);
}}

void {prefix}_operator_end(int32_t operator_index) {{
  if (line != 0 && line->cycles != 0) {{
    cycles[operator_index] += (uint32_t)(usmp_serial_cycles(line) - begin);
  }}
}}

int32_t {prefix}_serve(const struct usmp_serial_port* port) {{
  static const struct usmp_operator_cycles operators = {{{count}, cycles}};
  line = port;
  return usmp_serve(&{prefix}_device, {place}, &operators, port);
}}
"""
