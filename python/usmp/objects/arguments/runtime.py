"""The runtime of a compiled model, like `tvm.relay.backend.Runtime`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from usmp.objects.arguments.executor import Executor
from usmp.objects.arguments.named_options import GoneAttribute, NamedOptions
from usmp.support.text.known_names import unknown_name
from usmp.tvm018 import RUNTIME, find
from usmp.tvm018.executor_runtime import CPP_SYSTEM_LIB, SYSTEM_LIB

_RUNTIMES = ("crt", "cpp")


@dataclass(frozen=True, eq=False)
class Runtime(NamedOptions):
    """TVM's runtime for C or C++; the emitted C needs neither.

    `runtime["system-lib"]` is the value of an option, and `str(runtime)` is the name.

    Parameters
    ----------
    name
        "crt", with functions of C, or "cpp", with packed functions (`Executor("aot",
        {"interface-api": "packed"})`).
    options
        TVM's option "system-lib", which has no effect for "crt", and must be false for "cpp".

    Raises
    ------
    ValueError
        an unknown runtime or option, or a system library for "cpp".
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    list_registered = GoneAttribute(RUNTIME)
    list_registered_options = GoneAttribute(RUNTIME)
    flag_registry_name = GoneAttribute(RUNTIME)

    def __post_init__(self) -> None:
        if self.name not in _RUNTIMES:
            problem = f'unknown runtime "{self.name}". The C needs none'
            raise ValueError(unknown_name(problem, self.name, _RUNTIMES, "Runtimes"))
        for option, value in self.options.items():
            if option != SYSTEM_LIB.name:
                problem = f'unknown option "{option}" of runtime {self.name}'
                raise ValueError(unknown_name(problem, option, [SYSTEM_LIB.name], "Options"))
            if value and self.name == "cpp":
                raise ValueError(CPP_SYSTEM_LIB.sentence())
            if value:
                SYSTEM_LIB.tell(str(value))


def check_runtime(runtime: Runtime | None, executor: Executor) -> None:
    """Raise if a runtime cannot call the functions of an executor.

    Raises
    ------
    ValueError
        TVM's runtime for C with packed functions, or the runtime for C++ without them.
    """
    if runtime is None:
        return
    interface = "packed" if executor.is_packed else "c"
    row = find(RUNTIME, f'Runtime("{runtime.name}"), interface-api {interface}')
    if row is not None:
        raise ValueError(row.sentence())
