"""Targets that LLVM would replace by others, or end the process for, are refused in words."""

from __future__ import annotations

import pytest

from usmp.codegen.llvm import check_llvm_target
from usmp.objects.target.targets import parse_targets

NOT_SUPPORTED = (
    " is not supported; write one for arm, thumb, riscv, x86 or aarch64, as thumbv7m-none-eabi, "
    "riscv32-unknown-none-elf or x86_64-linux-gnu"
)


def check(target: str) -> None:
    check_llvm_target(parse_targets(target).cpu)


@pytest.mark.parametrize(
    "target",
    [
        "c",
        "llvm",
        "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3",
        "llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=hard",
        "llvm -mtriple=thumbv8.1m.main-none-eabi -mcpu=cortex-m55 -mattr=-mve.fp",
        "llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=soft",
        "llvm -mtriple=riscv32 -mattr=+m,-a -mabi=ilp32",
        "llvm -mtriple=riscv32 -mattr=+d -mabi=ilp32d",
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a53",
    ],
)
def test_known(target):
    check(target)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-mtriple=nonsense", f'-mtriple "nonsense"{NOT_SUPPORTED}'),
        ("-mtriple=nvptx64-nvidia-cuda", f'-mtriple "nvptx64-nvidia-cuda"{NOT_SUPPORTED}'),
        ("-mtriple=thumbebv7m-none-eabi", f'-mtriple "thumbebv7m-none-eabi"{NOT_SUPPORTED}'),
        (
            "-mtriple=thumbv7m-none-eabi -mcpu=cortex-m33x",
            "-mcpu=cortex-m33x is no CPU of -mtriple=thumbv7m-none-eabi. Did you mean "
            '"cortex-m33" or "cortex-m3"? See llc -mtriple=thumbv7m-none-eabi -mcpu=help',
        ),
        (
            "-mtriple=thumbv7m-none-eabi -mcpu=znver4",
            "-mcpu=znver4 is no CPU of -mtriple=thumbv7m-none-eabi. See llc "
            "-mtriple=thumbv7m-none-eabi -mcpu=help",
        ),
        (
            "-mtriple=riscv32 -mcpu=generic-rv64",
            "generic-rv64 is a CPU of 64 bits, -mtriple=riscv32 one of 32",
        ),
        (
            "-mtriple=x86_64-linux-gnu -mcpu=i386",
            "i386 is a CPU of 32 bits, -mtriple=x86_64-linux-gnu one of 64",
        ),
        (
            "-mtriple=riscv32 -mattr=+m,+foo",
            "-mattr=+foo is no feature of -mtriple=riscv32 that LLVM knows",
        ),
        ("-mtriple=riscv32 -mattr=m", '-mattr takes features with a sign, as +m, not "m"'),
        (
            "-mtriple=riscv32 -mabi=ilp32d",
            "-mabi=ilp32d needs the extension D; add it, as -mattr=+d, or choose another ABI",
        ),
        (
            "-mtriple=riscv32 -mabi=lp64",
            "unknown -mabi=lp64 for riscv32. ABIs: ilp32, ilp32e, ilp32f, ilp32d",
        ),
        (
            "-mtriple=thumbv7m-none-eabi -mabi=ilp32",
            "-mabi=ilp32 is for RISC-V, not for -mtriple=thumbv7m-none-eabi",
        ),
        (
            "-mtriple=thumbv7m-none-eabi -mcpu=cortex-m3 -mfloat-abi=hard",
            "-mfloat-abi=hard: cortex-m3 has no floating-point registers",
        ),
        (
            "-mtriple=thumbv7em-none-eabi -mfloat-abi=softfp",
            'unknown -mfloat-abi=softfp. Did you mean "soft"? ABIs: soft, hard. Code for soft can '
            "use a floating-point unit",
        ),
    ],
)
def test_refused(options, message):
    with pytest.raises(ValueError) as refused:
        check(f"llvm {options}")
    assert str(refused.value) == f"target llvm: {message}"
