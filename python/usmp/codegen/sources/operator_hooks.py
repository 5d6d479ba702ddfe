"""Hooks: functions that an application may define, called before and after each operator."""

from __future__ import annotations

from usmp.codegen.c.text import comment, quoted
from usmp.codegen.interface.emitted_calls import EmittedCall, OperatorTensor
from usmp.codegen.interface.module_interface import Interface

_PARAMETER = "int32_t operator_index"


def declare_operator_hooks(interface: Interface) -> list[str]:
    """Return the hooks' part of the header; none without hooks."""
    if not interface.operator_hooks:
        return []
    module = f"TVM module {quoted(interface.module_name)}"
    count = comment(f"How many operators {module} calls, in all entries")
    macro = f"#define {interface.macro_prefix}_OPERATOR_COUNT {len(interface.operators)}\n"
    text = comment(
        f"Called before and after each operator of {module}, with its number. Both do",
        "nothing unless the application defines them, which it must if the compiler knows no weak",
        "functions. The operators:",
        *(f"{n}: {_described(interface, call)}" for n, call in enumerate(interface.operators)),
    )
    declarations = "\n".join(f"void {hook}({_PARAMETER});" for hook in interface.operator_hooks)
    return [f"{count}\n{macro}", f"{text}\n{declarations}\n"]


def define_operator_hooks(interface: Interface) -> list[str]:
    """Return the weak definitions of the hooks, which do nothing; none without hooks."""
    if not interface.operator_hooks:
        return []
    lines = [
        "#if defined(__GNUC__) || defined(__clang__)",
        *(
            f"__attribute__((weak)) void {hook}({_PARAMETER}) {{ (void)operator_index; }}"
            for hook in interface.operator_hooks
        ),
        "#endif\n",
    ]
    return ["\n".join(lines)]


def _described(interface: Interface, call: EmittedCall) -> str:
    """Return a line about an operator: its functions, inputs and outputs."""
    name = " ".join(call.functions)
    if len(interface.entries) > 1:
        name = f"{name} of entry {quoted(call.entry)}"
    inputs, outputs = (", ".join(map(_tensor, tensors)) for tensors in (call.inputs, call.outputs))
    return f"{name}, {inputs} -> {outputs}"


def _tensor(tensor: OperatorTensor) -> str:
    return tensor.dtype + "".join(f"[{extent}]" for extent in tensor.shape)
