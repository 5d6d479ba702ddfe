"""Checks of arguments of `usmp.build`, including arguments in the order of `tvm.relay.build`."""

from __future__ import annotations

from typing import TypeVar

from usmp.names import DEFAULT_MODULE
from usmp.objects.arguments.executor import Executor
from usmp.objects.arguments.runtime import Runtime
from usmp.objects.pools import ConstantMemoryPools, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.target.described_target import OneTarget
from usmp.objects.target.targets import BuildTargets, parse_targets
from usmp.plain.state_layout import StateLayout
from usmp.tvm018.python_names import BY_POSITION, OTHER_TARGET_HOST, SAME_TARGET_HOST
from usmp.tvm018.targets import TARGET_OPTION_ROWS

_Model = TypeVar("_Model")


_TYPES: dict[str, tuple[type, ...]] = {
    "runtime": (Runtime,),
    "workspace_memory_pools": (WorkspaceMemoryPools,),
    "constant_memory_pools": (ConstantMemoryPools,),
    "state_memory_pool": (WorkspacePoolInfo, str),
    "io_memory_pool": (str,),
    "state_layout": (StateLayout,),
}
"""The classes that arguments accept besides None; an error names the first one."""


def check_types(**arguments: object) -> None:
    """Raise if an argument is neither None nor of its class.

    Raises
    ------
    TypeError
        an argument is of another class, such as one in the order of TVM 0.18.
    """
    for name, value in arguments.items():
        if value is None or isinstance(value, _TYPES[name]):
            continue
        message = f"{name} takes {_TYPES[name][0].__name__}, not {type(value).__name__}"
        if isinstance(value, Executor | Runtime):
            message += f"; {BY_POSITION.reason}"
        raise TypeError(message)


def check_executor(executor: object) -> None:
    """Raise if a target is passed as the executor, as positional arguments in TVM 0.18 do.

    Raises
    ------
    TypeError
        the executor is a target, or neither a name nor an `Executor`.
    """
    kind = type(executor).__name__
    if isinstance(executor, str):
        if executor.partition(" ")[0] not in TARGET_OPTION_ROWS:
            return
        kind = f'target "{executor}"'
    elif executor is None or isinstance(executor, Executor):
        return
    raise TypeError(f"executor takes an Executor or its name, not {kind}; {BY_POSITION.reason}")


def only_model(mod: _Model, ir_mod: _Model | None) -> _Model:
    """Return the model from two arguments, one of which is None.

    Raises
    ------
    TypeError
        both arguments are given.
    """
    if mod is not None and ir_mod is not None:
        raise TypeError("mod and ir_mod are two names of one argument; give one of them")
    return mod if ir_mod is None else ir_mod


def one_module_name(module_name: str | None, mod_name: str | None) -> str:
    """Return the name of the module from two arguments, or "default" if both are None.

    Raises
    ------
    ValueError
        both arguments are given and differ, or the name is empty.
    """
    if None not in (module_name, mod_name) and module_name != mod_name:
        raise ValueError(
            f'module_name "{module_name}" and mod_name "{mod_name}" contradict each other; '
            "give one of them"
        )
    name = mod_name if module_name is None else module_name
    if name is None:
        return DEFAULT_MODULE
    if not name:
        raise ValueError("module_name is empty; it is the prefix of the C symbols")
    return name


def check_target_host(target_host: OneTarget | None, targets: BuildTargets) -> None:
    """Check the target of the host, and warn that it has no effect if it is the model's CPU.

    Raises
    ------
    ValueError
        the target of the host is another one.
    """
    if target_host is None:
        return
    if not _is_of(target_host, targets):
        raise ValueError(OTHER_TARGET_HOST.sentence())
    SAME_TARGET_HOST.tell()


def _is_of(target: OneTarget, targets: BuildTargets) -> bool:
    """Return whether a target is the CPU of a build."""
    try:
        return str(parse_targets(target).cpu) == str(targets.cpu)
    except ValueError:
        return False
