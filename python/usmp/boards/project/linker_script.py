"""Print the linker script of a board from its memory map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp.boards.board import (
    LAYOUT_SECTION,
    STACK_BYTES,
    Board,
    Memory,
    constant_section,
    lasting_section,
    workspace_section,
)


def print_linker_script(
    board: Board, lasting: Sequence[str] = (), addresses: Mapping[str, int] | None = None
) -> str:
    """Return the script: code and constants in read-only memories, pools in their sections.

    `lasting` are memories with states that survive a reset. These states come first, so that new
    code or variables do not move them. `addresses` are fixed addresses of pools, by memory.

    The stack is at the start of its memory, so that an overflow leaves the memory, where start-up
    code forbids accesses, instead of overwriting variables.
    """
    at = {name: f" 0x{address:08x}" for name, address in (addresses or {}).items()}
    regions = "\n".join(_region(memory) for memory in board.memories)
    read_only = [memory for memory in board.memories if memory.is_read_only]
    writable = [memory for memory in board.memories if not memory.is_read_only]
    constants = "\n".join(_constants(memory, at.get(memory.name, "")) for memory in read_only)
    pools = "\n".join(_pool(memory, at.get(memory.name, "")) for memory in writable)
    states = "\n".join(_lasting(name) for name in lasting)
    table = "\n".join(f"    {_zeroed(f'pool_{memory.name}')}" for memory in writable)
    return f"""/* Memories of board {board.name}: {board.description}. */
ENTRY(reset)

STACK_SIZE = DEFINED(STACK_SIZE) ? STACK_SIZE : {STACK_BYTES};

MEMORY
{{
{regions}
}}

SECTIONS
{{
  .vectors :
  {{
    KEEP(*(.vectors))
  }} > {board.code_memory}

{constants}
  .text :
  {{
    *(.text .text.*)
  }} > {board.code_memory}

  .rodata :
  {{
    *(.rodata .rodata.* .srodata .srodata.*)
    . = ALIGN(4);
    __zero_table = .;
{table}
    {_zeroed("bss")}
    __zero_table_end = .;
  }} > {board.code_memory}

  .ARM.exidx :
  {{
    *(.ARM.exidx* .gnu.linkonce.armexidx.*)
  }} > {board.code_memory}

  .stack (NOLOAD) :
  {{
    __stack_limit = .;
    . += STACK_SIZE;
    . = ALIGN(16);
    __stack_top = .;
  }} > {board.data_memory}

{states and f"{states}{chr(10)}"}  .data : ALIGN(4)
  {{
    __data_start = .;
    *(.data .data.*)
    __global_pointer$ = . + 0x800;
    *(.sdata .sdata.*)
    . = ALIGN(4);
    __data_end = .;
  }} > {board.data_memory} AT > {board.code_memory}
  __data_load = LOADADDR(.data);

{pools}
  .bss (NOLOAD) : ALIGN(4)
  {{
    __bss_start = .;
    /* Variables of a thread, of which there is one; the C library's errno is such. */
    __thread_storage = .;
    *(.tdata .tdata.* .tbss .tbss.*)
    *(.sbss .sbss.* .bss .bss.* COMMON)
    . = ALIGN(4);
    __bss_end = .;
  }} > {board.data_memory}

  /DISCARD/ :
  {{
    *(.eh_frame .eh_frame_hdr)
  }}
}}
"""


def _region(memory: Memory) -> str:
    attributes = "rx" if memory.is_read_only else "rwx"
    return (
        f"  {memory.name} ({attributes}) : "
        f"ORIGIN = 0x{memory.base:08x}, LENGTH = 0x{memory.size_bytes:x}"
        f"  /* {memory.description} */"
    )


def _constants(memory: Memory, address: str) -> str:
    """Return the section of constant pools, which must precede the broader pattern of constants."""
    return f"""  .constants_{memory.name}{address} :
  {{
    *({constant_section(memory.name)})
  }} > {memory.name}
"""


def _pool(memory: Memory, address: str) -> str:
    """Return the section of workspace pools, which must precede the broader pattern of .bss."""
    return f"""  .pool_{memory.name}{address} (NOLOAD) :{"" if address else " ALIGN(4)"}
  {{
    __pool_{memory.name}_start = .;
    *({workspace_section(memory.name)})
    . = ALIGN(4);
    __pool_{memory.name}_end = .;
  }} > {memory.name}
"""


def _lasting(memory: str) -> str:
    """Return the section of states that survive a reset, with the hash of their layout."""
    return f"""  .noinit_{memory} (NOLOAD) : ALIGN(16)
  {{
    *({LAYOUT_SECTION})
    . = ALIGN(16);
    *({lasting_section(memory)})
    . = ALIGN(4);
  }} > {memory}
"""


def _zeroed(section: str) -> str:
    return f"LONG(__{section}_start) LONG(__{section}_end)"
