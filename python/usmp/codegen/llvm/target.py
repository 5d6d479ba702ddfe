"""Checks of LLVM targets, because LLVM replaces an unknown CPU by another or ends the process."""

from __future__ import annotations

import re

import tvm
from tvm.target import Target
from tvm.target import codegen as llvm

from usmp.support.text.known_names import unknown_name

_ARCHITECTURES = re.compile(
    r"(arm|thumb)(v\d[\w.]*)?|aarch64|arm64|riscv32|riscv64|x86_64|i[3-6]86"
)
"""The little-endian architectures that LLVM supports."""
_RISCV_ABIS = {
    "riscv32": ("ilp32", "ilp32e", "ilp32f", "ilp32d"),
    "riscv64": ("lp64", "lp64e", "lp64f", "lp64d"),
}
_FLOAT_ABIS = ("soft", "hard")
_GENERIC = "generic"


def check_llvm_target(target: Target) -> None:
    """Check that LLVM can generate code for an "llvm" target; ignore other kinds of targets.

    Raises
    ------
    ValueError
        a triple, CPU, feature or ABI is unknown, or they do not fit together.
    """
    if target.kind.name != "llvm":
        return
    default = tvm.get_global_func("tvm.codegen.llvm.GetDefaultTargetTriple")
    triple = str(target.attrs.get("mtriple") or default())
    cpu = str(target.attrs.get("mcpu") or _GENERIC)
    is_supported = _ARCHITECTURES.fullmatch(_architecture(triple))
    if not is_supported or not llvm.llvm_is_valid_cpu(_GENERIC, triple):
        raise ValueError(
            f'target llvm: -mtriple "{triple}" is not supported; write one for arm, thumb, riscv, '
            "x86 or aarch64, as thumbv7m-none-eabi, riscv32-unknown-none-elf or x86_64-linux-gnu"
        )
    if not llvm.llvm_is_valid_cpu(cpu, triple):
        problem = f"target llvm: -mcpu={cpu} is no CPU of -mtriple={triple}"
        known = [str(name) for name in llvm.llvm_get_cpu_archlist(_plain(triple))]
        see = f"See llc -mtriple={triple} -mcpu=help"
        raise ValueError(unknown_name(problem, cpu, known, "CPUs", see))
    features = _require_features(triple, cpu, [str(f) for f in target.attrs.get("mattr") or []])
    _check_width(triple, cpu, features)
    _check_abi(triple, features, target.attrs.get("mabi"))
    _check_float_abi(cpu, features, target.attrs.get("mfloat-abi"))


def _architecture(triple: str) -> str:
    return triple.split("-")[0].lower()


def _plain(triple: str, cpu: str = _GENERIC, features: list[str] | None = None) -> Target:
    options = {"mattr": features} if features else {}
    return Target({"kind": "llvm", "mtriple": triple, "mcpu": cpu, **options})


def _require_features(triple: str, cpu: str, wanted: list[str]) -> set[str]:
    """Return the features of the CPU after adding and removing those of `wanted`, such as "+fp"."""
    for feature in wanted:
        if feature[:1] not in ("+", "-"):
            raise ValueError(
                f'target llvm: -mattr takes features with a sign, as +{feature}, not "{feature}"'
            )
        switched_on = llvm.llvm_get_cpu_features(_plain(triple, cpu, [f"+{feature[1:]}"]))
        if feature[1:] not in map(str, switched_on):
            raise ValueError(
                f"target llvm: -mattr={feature} is no feature of -mtriple={triple} that LLVM knows"
            )
    return set(map(str, llvm.llvm_get_cpu_features(_plain(triple, cpu, wanted))))


def _check_width(triple: str, cpu: str, features: set[str]) -> None:
    """Raise if CPU and triple differ in their width, because LLVM would end the process."""
    architecture = _architecture(triple)
    if architecture == "riscv32" and "64bit" in features:
        raise ValueError(f"target llvm: {cpu} is a CPU of 64 bits, -mtriple={triple} one of 32")
    if architecture in ("riscv64", "x86_64") and "64bit" not in features:
        raise ValueError(f"target llvm: {cpu} is a CPU of 32 bits, -mtriple={triple} one of 64")


def _check_abi(triple: str, features: set[str], abi: str | None) -> None:
    if abi is None:
        return
    architecture = _architecture(triple)
    if architecture not in _RISCV_ABIS:
        raise ValueError(f"target llvm: -mabi={abi} is for RISC-V, not for -mtriple={triple}")
    if abi not in _RISCV_ABIS[architecture]:
        problem = f"target llvm: unknown -mabi={abi} for {architecture}"
        raise ValueError(unknown_name(problem, abi, _RISCV_ABIS[architecture], "ABIs"))
    extension = abi[-1] if abi[-1] in "efd" else "i"
    if extension not in features:
        raise ValueError(
            f"target llvm: -mabi={abi} needs the extension {extension.upper()}; add it, as "
            f"-mattr=+{extension}, or choose another ABI"
        )


def _check_float_abi(cpu: str, features: set[str], abi: str | None) -> None:
    if abi is None:
        return
    if abi not in _FLOAT_ABIS:
        problem = f"target llvm: unknown -mfloat-abi={abi}"
        raise ValueError(
            f"{unknown_name(problem, abi, _FLOAT_ABIS, 'ABIs')}. Code for soft can use a "
            "floating-point unit"
        )
    if abi == "hard" and "mclass" in features and "fpregs" not in features:
        raise ValueError(f"target llvm: -mfloat-abi=hard: {cpu} has no floating-point registers")
