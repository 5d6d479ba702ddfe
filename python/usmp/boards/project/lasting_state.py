"""The parts of `main.c` for states that survive a reset of the processor."""

from __future__ import annotations

from usmp.boards.board import LAYOUT_SECTION, lasting_section
from usmp.codegen.interface.module_interface import Interface


def lasting_memories(interface: Interface) -> list[str]:
    """Return the names of the pools, and so of the memories, that start-up code does not zero."""
    pools = [pool for pool in interface.pools if not pool.is_constant and not pool.is_empty]
    return [pool.name for pool in pools if pool.section_name == lasting_section(pool.name)]


def has_lasting_state(interface: Interface) -> bool:
    """Return whether states are in a pool that start-up code does not zero."""
    names = lasting_memories(interface)
    return any(str(state.pool_name) in names for state in interface.states)


def layout_variable(interface: Interface) -> str:
    """Return the definition of the variable that tells whether surviving states are valid."""
    if not has_lasting_state(interface):
        return ""
    return f"""
/* Start-up code neither zeroes nor loads it, nor the state: after power-up, during a run, or after
 * an update with another layout it is another number, and the state begins anew. */
static volatile uint64_t state_layout __attribute__((section("{LAYOUT_SECTION}")));
"""


def state_check(interface: Interface) -> str:
    """Return the statements at the start of `main` that reset invalid states."""
    if not has_lasting_state(interface):
        return ""
    return f"""  if (state_layout != {interface.macro_prefix}_STATE_LAYOUT_HASH) {{
    {interface.prefix}_reset();
  }}
"""


def before_run(interface: Interface, indent: str = "  ") -> str:
    """Return the statement that invalidates states, because an aborted run writes only some."""
    return f"{indent}state_layout = 0;\n" if has_lasting_state(interface) else ""


def after_run(interface: Interface, indent: str = "  ") -> str:
    """Return the statement that marks states as valid after a run."""
    hash_macro = f"{interface.macro_prefix}_STATE_LAYOUT_HASH"
    is_lasting = has_lasting_state(interface)
    return f"{indent}state_layout = {hash_macro};\n" if is_lasting else ""
