"""What `main.c` has for states that a reset of the processor leaves as they are."""

from __future__ import annotations

from usmp.boards.board import LAYOUT_SECTION, lasting_section
from usmp.codegen.interface.module_interface import Interface


def lasting_memories(interface: Interface) -> list[str]:
    """The memories of pools that start-up code does not zero."""
    pools = [pool for pool in interface.pools if not pool.is_constant and not pool.is_empty]
    return [pool.name for pool in pools if pool.section_name == lasting_section(pool.name)]


def has_lasting_state(interface: Interface) -> bool:
    """Whether states are in such a pool."""
    names = lasting_memories(interface)
    return any(str(state.pool_name) in names for state in interface.states)


def layout_variable(interface: Interface) -> str:
    """What says, beside the states, whether they are the program's own."""
    if not has_lasting_state(interface):
        return ""
    return f"""
/* Start-up code neither zeroes nor loads it, nor the state: after power-up, during a run, or after
 * an update with another layout it is another number, and the state begins anew. */
static volatile uint64_t state_layout __attribute__((section("{LAYOUT_SECTION}")));
"""


def state_check(interface: Interface) -> str:
    """Statements at the beginning of `main`."""
    if not has_lasting_state(interface):
        return ""
    return f"""  if (state_layout != {interface.macro_prefix}_STATE_LAYOUT_HASH) {{
    {interface.prefix}_reset();
  }}
"""


def before_run(interface: Interface, indent: str = "  ") -> str:
    """A statement: an unfinished run leaves half of the state."""
    return f"{indent}state_layout = 0;\n" if has_lasting_state(interface) else ""


def after_run(interface: Interface, indent: str = "  ") -> str:
    """A statement: the state is whole again."""
    hash_macro = f"{interface.macro_prefix}_STATE_LAYOUT_HASH"
    is_lasting = has_lasting_state(interface)
    return f"{indent}state_layout = {hash_macro};\n" if is_lasting else ""
