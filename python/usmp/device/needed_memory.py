"""The RAM that a self test, and a host at a serial line, take on a device."""

from __future__ import annotations

from usmp.device.c_names import external_pools, own_inputs
from usmp.device.memory_source import host_input_bytes, own_bytes
from usmp.runtime.archived.module import ArchivedModule


def self_test_memory(module: ArchivedModule) -> str:
    """Return how many bytes of RAM a self test takes, and what for, as text.

    The variables of the test are on the stack. Its inputs and expected outputs are constants.
    """
    pools = sum(pool.declared_bytes for pool in module.pools if not pool.is_constant)
    own = own_bytes(module)
    has_inputs = any(map(own_inputs, module.entries.values()))
    parts = [f"memory pools {pools}"]
    parts += [f"{'inputs and ' if has_inputs else ''}outputs {own}"] if own else []
    pointers = len(external_pools(module)) + len(module.metadata.get("devices", ()))
    return (
        f"RAM of the test without the stack: {pools + own} bytes of the model "
        f"({', '.join(parts)}), {f'{pointers} pointers' if pointers else 'none'} of its own"
    )


def serial_memory(module: ArchivedModule) -> str:
    """Return the bytes of RAM that a host at a serial line takes besides, as text."""
    inputs = host_input_bytes(module)
    return "RAM besides: USMP_SERIAL_PAYLOAD + 20 bytes" + (
        f", and {inputs} of inputs" if inputs else ""
    )
