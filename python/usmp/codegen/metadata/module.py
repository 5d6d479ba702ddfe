"""The content of metadata.json."""

from __future__ import annotations

import os
import time
from typing import Any

from tvm.ir import IRModule

from usmp.codegen.interface.accelerator_functions import function_metadata
from usmp.codegen.interface.emitted_calls import model_operators
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.metadata.choices import (
    float_operators,
    image_layout,
    merged_operators,
    model_files,
    operator_order,
    pruned_channels,
    reference,
    schedule_choices,
    streaming,
)
from usmp.codegen.metadata.choices import (
    search as compared,
)
from usmp.codegen.metadata.entries import entry_memory, ram
from usmp.codegen.metadata.operator_memory import operator_memory
from usmp.codegen.metadata.operators import operators_metadata
from usmp.codegen.metadata.pools import io_pool, placement, pools, search
from usmp.codegen.metadata.strips import strips_metadata
from usmp.objects.attributes.module_attributes import BOARD_ATTR, MEMORY_PLAN_ATTR
from usmp.objects.dynamic_allocation import as_json as dynamic_as_json
from usmp.objects.input_window import windows_as_json
from usmp.objects.target.targets import accelerator_of, target_text
from usmp.plain.model_library_format import FORMAT_VERSION


def metadata(mod: IRModule, interface: Interface) -> dict[str, Any]:
    """Return the content of metadata.json."""
    plan = MEMORY_PLAN_ATTR.required(mod)
    return {
        "version": FORMAT_VERSION,
        "modules": {
            interface.module_name: {
                "model_name": interface.module_name,
                **model_files(mod),
                "export_datetime": _export_datetime(),
                "target": _targets(mod, interface),
                **_board(mod),
                **reference(mod),
                "executors": ["aot"],
                "interface_api": "packed" if interface.is_packed else "c",
                "style": "full-model",
                "external_dependencies": [],
                "c_prefix": interface.prefix,
                "float_operators": float_operators(mod),
                **pruned_channels(mod),
                **windows_as_json(mod),
                **compared(mod),
                **schedule_choices(mod),
                **image_layout(mod),
                **merged_operators(mod),
                **_accelerator_metadata(interface),
                **operators_metadata(
                    interface.operators,
                    model_operators(mod),
                    plan,
                    [p.name for p in interface.pools if p.is_constant],
                ),
                **_operator_hooks(interface),
                "memory": {
                    "functions": {
                        "main": [entry_memory(interface, e, plan) for e in interface.entries],
                        "operator_functions": operator_memory(mod, interface, plan),
                    },
                    "algorithm": str(plan.algorithm),
                    **search(mod, plan),
                    **_state_layout(interface),
                    **operator_order(mod),
                    **streaming(mod),
                    **strips_metadata(mod),
                    **dynamic_as_json(mod),
                    "memory_pressure_bytes": int(plan.memory_pressure),
                    "ram": ram(mod, interface),
                    "placement": placement(plan),
                    **io_pool(mod),
                    "pools": pools(mod, interface, plan),
                },
            }
        },
    }


def _targets(mod: IRModule, interface: Interface) -> list[str]:
    """Return the targets as values of `--target`: the CPU, then accelerators by name."""
    accelerators = {accelerator_of(f.attrs.get("target")) for f in mod.functions.values()}
    return [
        target_text(mod[interface.entries[0].function].attrs["target"]),
        *sorted(name for name in accelerators if name is not None),
    ]


def _board(mod: IRModule) -> dict[str, str]:
    """Return the board for which the archive has a project, if there is one."""
    return {"board": BOARD_ATTR.required(mod)} if BOARD_ATTR.is_on(mod) else {}


def _accelerator_metadata(interface: Interface) -> dict[str, Any]:
    """Return what the application must define for accelerators: the handles, in the order of the
    struct of devices, and the functions."""
    if not interface.accelerator_functions:
        return {}
    functions = [function_metadata(function) for function in interface.accelerator_functions]
    return {"devices": interface.devices, "accelerator_functions": functions}


def _operator_hooks(interface: Interface) -> dict[str, list[str]]:
    """Return the names of the functions called before and after each operator, if there are any."""
    hooks = list(interface.operator_hooks)
    return {"operator_hooks": hooks} if hooks else {}


def _state_layout(interface: Interface) -> dict[str, Any]:
    """Return the state layout in the form of its file, if there are states."""
    layout = interface.state_layout
    return {} if layout is None else {"state_layout": layout.document()}


def _export_datetime() -> str:
    """Return the time in SOURCE_DATE_EPOCH, as in reproducible builds; by default the epoch."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or "0"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(int(seconds)))
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(
            f"the environment variable SOURCE_DATE_EPOCH must be seconds since 1970, not {seconds}"
        ) from error
