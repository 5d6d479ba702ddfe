"""Executors and runtimes of TVM 0.18, and their options."""

from __future__ import annotations

from usmp.tvm018 import reasons
from usmp.tvm018.old_name import FALSE, TRUE, OldName, accepted, refused

_REGISTRY = ("list_registered", "list_registered_options", "flag_registry_name")


def _registry(class_name: str) -> tuple[OldName, ...]:
    reason = f"nothing is registered; help(usmp.{class_name}) has the names and the options"
    return tuple(refused(f"{class_name}.{name}", reason) for name in _REGISTRY)


LINK_PARAMS = refused(
    "link-params",
    "constants are part of the C; with constant_memory_pools, or --constant-pools of tvmc, the "
    "application gives their memory; leave it out",
    values=FALSE,
)
SYSTEM_LIB = accepted("system-lib", reasons.NO_TABLE, values=TRUE)
CPP_SYSTEM_LIB = refused('Runtime("cpp", {"system-lib": True})', reasons.NO_PACKED_TABLE)

EXECUTOR: tuple[OldName, ...] = (
    refused(
        'Executor("graph")',
        "main is a C function that calls the operators, and there is no graph in JSON; write "
        'Executor("aot"), the default',
    ),
    LINK_PARAMS,
    *_registry("Executor"),
)
"""Rows of `Executor`; `link-params` is an option of executor aot."""

RUNTIME: tuple[OldName, ...] = (
    SYSTEM_LIB,
    CPP_SYSTEM_LIB,
    refused(
        'Runtime("cpp"), interface-api c',
        "TVM's runtime for C++ calls packed functions; for these set interface-api=packed of the "
        "executor (--executor-aot-interface-api), for functions of C leave the runtime out",
    ),
    refused(
        'Runtime("crt"), interface-api packed',
        "packed functions are those of TVM's runtime for C++ (tvm-ffi), which no program with the "
        "runtime for C can call; leave the runtime out, or interface-api for functions of C",
    ),
    *_registry("Runtime"),
)
"""Rows of `Runtime`; `system-lib` is an option of runtime crt."""
