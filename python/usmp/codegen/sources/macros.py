"""The macros in the header: sizes of tensors; sizes, alignment, place and content of pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from usmp.codegen.c.constants import constant_pool_bytes
from usmp.codegen.c.literals import float_literal
from usmp.codegen.c.source_files import text_of
from usmp.codegen.c.text import comment, quoted
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.entry_sizes import ERROR_SIZE, ERROR_SIZE_MACRO, beginning_of_macros
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.sources.pool_checks import ERROR_POOL, ERROR_POOL_MACRO, has_checks
from usmp.codegen.sources.sizes import bytes_macro, extent_macro, size_macro
from usmp.plain.c_interface import NO_MEMORY

STATIC_ASSERT = text_of("macros/static_assert.h")
"""A compile-time assertion, with `name` as its message, for every standard of C and C++."""


@dataclass(frozen=True)
class Macro:
    """A macro in the header.

    Parameters
    ----------
    name
        name after the module's prefix.
    value
        replacement text; may have several lines.
    text
        meaning, for the comment.
    needs_gnu
        whether `value` uses extensions of GCC and compatible compilers.
    parameters
        parameters in parentheses, if there are any.
    """

    name: str
    value: str
    text: str
    needs_gnu: bool = False
    parameters: str = ""


def print_macros(interface: Interface) -> list[str]:
    """Return the definitions; those that need GCC are together at the end.

    Raises
    ------
    ValueError
        two tensors or pools need the same macro for different values.
    """
    macros = _checked(interface, [*_macros(interface), *_quantizations(interface)])
    plain = [_definition(interface, macro) for macro in macros if not macro.needs_gnu]
    gnu = [_definition(interface, macro) for macro in macros if macro.needs_gnu]
    if not gnu:
        return plain
    return [*plain, "#if defined(__GNUC__) || defined(__clang__)", *gnu, "#endif\n"]


def _definition(interface: Interface, macro: Macro) -> str:
    text = comment(f"{macro.text} of TVM module {quoted(interface.module_name)}")
    name = f"{interface.macro_prefix}_{macro.name}{macro.parameters}"
    return f"{text}\n#define {f'{name} {macro.value}'.rstrip()}\n"


def _checked(interface: Interface, macros: list[Macro]) -> list[Macro]:
    """Return the macros; raise if two with one name differ. C allows equal definitions."""
    known: dict[str, Macro] = {}
    for macro in macros:
        other = known.setdefault(macro.name, macro)
        if other.value != macro.value:
            raise ValueError(
                f"the header would define {interface.macro_prefix}_{macro.name} twice: "
                f"{_short(other)}, and {_short(macro)}; rename one of the two"
            )
    return macros


def _short(macro: Macro) -> str:
    """Return the meaning of a macro, with its value if that is a number."""
    return f"{macro.text} is {macro.value}" if macro.value.isdigit() else macro.text


def _macros(interface: Interface) -> Iterator[Macro]:
    yield from _macros_of_sizes(interface)
    for entry, tensor, begin, subject in _tensors(interface):
        at_bounds = " at the largest sizes" if tensor.symbolic_extents else ""
        bytes_ = str(int(tensor.info.size_bytes))
        if not entry.is_unbounded(tensor):
            yield Macro(f"{begin}_SIZE", bytes_, f"Bytes{at_bounds} of {subject}")
        yield from _macros_at_sizes(entry, tensor, begin, subject)
        if tensor.is_by_rows:
            yield Macro(f"{begin}_ROWS", str(tensor.info.rows), f"Rows of {subject}")
            row_bytes = str(tensor.info.row_size_bytes)
            yield Macro(f"{begin}_ROW_SIZE", row_bytes, f"Bytes of a row of {subject}")
        if tensor.window is not None:
            hop, rows = str(tensor.window.hop), str(tensor.window.rows)
            yield Macro(f"{begin}_HOP", hop, f"Rows that are new in each run of {subject}")
            yield Macro(f"{begin}_WINDOW_ROWS", rows, f"Rows of the whole window of {subject}")
    workspace_bytes = str(interface.workspace_size_bytes)
    yield Macro("WORKSPACE_SIZE", workspace_bytes, "Bytes of all workspace pools")
    for pool in interface.pools:
        name, subject = pool.macro_name, f"{pool.kind} pool {quoted(pool.name)}"
        # At least 1 byte, because empty tensors need an address, and C has no empty arrays.
        has_address = not pool.is_internal and not pool.is_empty
        size = max(pool.memory_bytes, 1) if has_address else pool.memory_bytes
        yield Macro(f"{name}_SIZE", str(size), f"Bytes of {subject}")
        alignment = f"Alignment in bytes of {subject}"
        yield Macro(f"{name}_ALIGNMENT", str(pool.memory_alignment), alignment)
        yield from _macros_of_place(pool, subject)
        if not pool.is_internal:
            yield from _macros_of_external_pool(interface, pool, subject)
    if has_checks(interface):
        text = "Status of a run, which wrote nothing, for a pool at another address,"
        yield Macro(ERROR_POOL_MACRO, f"({ERROR_POOL})", text)
    if interface.dynamic_allocator:
        text = "What runs return if there is no memory for a buffer of dynamic size"
        yield Macro("STATUS_NO_MEMORY", str(NO_MEMORY), text)
    if interface.state_layout is not None:
        text = "Hash of the names, types and places of what is kept between runs"
        yield Macro("STATE_LAYOUT_HASH", f"UINT64_C({interface.state_layout.hash_text})", text)


def _quantizations(interface: Interface) -> list[Macro]:
    """Return the macros for real = SCALE * (integer - ZERO_POINT), which TVM 0.18 did not have.

    Macros that would have several values, because names differ only in case, are left out.
    """
    macros = [
        macro
        for _, tensor, begin, subject in _tensors(interface)
        for macro in _quantization(tensor, begin, subject)
    ]
    values: dict[str, set[str]] = {}
    for macro in macros:
        values.setdefault(macro.name, set()).add(macro.value)
    return [macro for macro in macros if len(values[macro.name]) == 1]


def _macros_of_sizes(interface: Interface) -> Iterator[Macro]:
    """Yield the bounds of symbolic sizes, and the status of a run with other sizes."""
    for entry in interface.entries:
        name = "" if interface.has_only_main else entry.name
        for size in entry.sizes:
            begin, subject = size_macro(name, size), f"size {quoted(size.name)}{_owner(name)}"
            yield Macro(f"{begin}_MIN", str(size.lower_bound), f"Least value of {subject}")
            if size.upper_bound is not None:
                yield Macro(f"{begin}_MAX", str(size.upper_bound), f"Greatest value of {subject}")
    if any(entry.sizes for entry in interface.entries):
        text = "Status of a run, which wrote nothing, for a size out of its range,"
        yield Macro(ERROR_SIZE_MACRO, f"({ERROR_SIZE})", text)


def _macros_at_sizes(
    entry: EntryInterface, tensor: IOTensor, begin: str, subject: str
) -> Iterator[Macro]:
    """Yield the bytes of a tensor for given sizes, and each computed extent."""
    extents = tensor.symbolic_extents
    if extents:
        parameters, value = bytes_macro(entry, tensor)
        text = f"Bytes at given sizes of {subject}"
        yield Macro(f"{begin}_BYTES", value, text, parameters=parameters)
    for axis, extent in enumerate(extents):
        if isinstance(extent, list):
            parameters, value = extent_macro(entry, extent, entry.is_unbounded(tensor))
            text = f"Extent at given sizes of axis {axis} of {subject}"
            yield Macro(f"{begin}_EXTENT_{axis}", value, text, parameters=parameters)


def _owner(entry: str) -> str:
    """Return the words "of entry" and its name, if macros have names of entries."""
    return f" of entry {quoted(entry)}" if entry else ""


def _tensors(interface: Interface) -> Iterator[tuple[EntryInterface, IOTensor, str, str]]:
    """Yield the tensors of all entries, with the beginning of their macros and a description."""
    for entry in interface.entries:
        name = "" if interface.has_only_main else entry.name
        for role, tensors in (("input", entry.inputs), ("output", entry.outputs)):
            for tensor in tensors:
                begin = beginning_of_macros(name, tensor.c_name)
                described = f"{role} tensor {quoted(tensor.info.name)}{_owner(name)}"
                yield entry, tensor, begin, described


def _quantization(tensor: IOTensor, begin: str, subject: str) -> Iterator[Macro]:
    scale, zero_point = tensor.info.scale, tensor.info.zero_point
    if scale is None or zero_point is None:
        return
    literal = float_literal(scale, "float32")
    yield Macro(f"{begin}_SCALE", literal, f"Quantization scale of {subject}")
    yield Macro(f"{begin}_ZERO_POINT", str(int(zero_point)), f"Zero point of {subject}")


def _macros_of_external_pool(
    interface: Interface, pool: PoolParameter, subject: str
) -> Iterator[Macro]:
    """Yield the macros with which the application can define the array of a pool."""
    if pool.is_constant:
        begin = f", from byte {pool.first_byte} on" if pool.first_byte else ""
        text = f"Content, little-endian, of {subject}{begin}"
        yield Macro(f"{pool.macro_name}_DATA", _data(pool), text)
    text = f"Section and alignment for the array of {subject}"
    yield Macro(f"{pool.macro_name}_ATTRIBUTES", _attributes(pool), text, needs_gnu=True)
    text = f"Fails to compile if an array is too small or not aligned enough for {subject}"
    value = _assertion(interface, pool)
    yield Macro(f"{pool.macro_name}_ASSERT", value, text, needs_gnu=True, parameters="(array)")


def _macros_of_place(pool: PoolParameter, subject: str) -> Iterator[Macro]:
    """Yield the address of a pool, and the bytes of its memory that no run touches."""
    name = pool.macro_name
    if pool.address is not None:
        address = f"Address of the first byte of {subject}"
        known = pool.first_address if pool.is_internal else pool.address
        yield Macro(f"{name}_ADDRESS", f"UINT64_C(0x{known:x})", address)
    if pool.first_byte and not pool.is_internal:
        text = f"Bytes that no run touches, at the start of {subject}"
        yield Macro(f"{name}_OFFSET", str(pool.first_byte), text)


def _data(pool: PoolParameter) -> str:
    """Return the content of a constant pool, without the bytes before the plan."""
    if pool.is_empty:
        return ""
    words = [f"0x{byte:02x}," for byte in constant_pool_bytes(pool.info) or b"\0"]
    lines = [" ".join(words[i : i + 16]) for i in range(0, len(words), 16)]
    return "\\\n  " + " \\\n  ".join(lines)


def _attributes(pool: PoolParameter) -> str:
    section = f'section("{pool.section_name}"), ' if pool.section_name else ""
    return f"__attribute__(({section}aligned({pool.memory_alignment})))"


def _assertion(interface: Interface, pool: PoolParameter) -> str:
    macro = f"{interface.macro_prefix}_{pool.macro_name}"
    name = f"{interface.prefix}_{pool.c_name}_{pool.kind}_pool"
    return (
        "\\\n"
        f"  TVMGEN_STATIC_ASSERT(sizeof(array) >= {macro}_SIZE, {name}_is_large_enough); \\\n"
        f"  TVMGEN_STATIC_ASSERT(__extension__ __alignof__(array) >= {macro}_ALIGNMENT, "
        f"{name}_is_aligned)"
    )
