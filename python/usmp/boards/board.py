"""Boards: memory map, compiler and emulated machine of each.

Sources: the monitor command `info mtree` of QEMU 7.2, and Arm's application notes AN385, AN386,
AN500, AN505 and AN547.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from usmp import names
from usmp.support.plain_text import shown

KIBIBYTE = 1 << 10
MEBIBYTE = 1 << 20

STACK_BYTES = 16 * KIBIBYTE
"""Bytes that the stack has if the Makefile gets no STACK_SIZE."""

DATA_RESERVE_BYTES = 1 * KIBIBYTE
"""Bytes of the memory with the stack that pools leave for variables of the program."""

CODE_RESERVE_BYTES = 128 * KIBIBYTE
"""Bytes of the memory with the code that constant pools leave for it."""

PROJECT_FOLDER = "project"
"""Where an archive has the project for its board."""


@dataclass(frozen=True)
class Memory:
    """One memory of a board.

    Parameters
    ----------
    name
        also the name of the pools that lie in it.
    base, size_bytes
        its addresses.
    description
        what the board's manual calls it.
    is_read_only
        whether programs can only read it, as flash.

    Raises
    ------
    ValueError
        the name is no name of a region in linker scripts, or the description is no comment of one
        line.
    """

    name: str
    base: int
    size_bytes: int
    description: str
    is_read_only: bool = False

    def __post_init__(self) -> None:
        # Both stand in the linker script as they are.
        if not (self.name.isascii() and self.name.isidentifier()):
            raise ValueError(
                f'a memory is called "{shown(self.name)}", but the linker script takes ASCII '
                "letters, digits and _, and no digit first; give it such a name"
            )
        if not self.description.isprintable() or "*/" in self.description:
            raise ValueError(
                f'memory {self.name} is described as "{shown(self.description)}", which would end '
                "the comment in the linker script; describe it in one line without */"
            )

    def __str__(self) -> str:
        return f"{self.name} ({self.size_bytes} bytes at 0x{self.base:08x})"


@dataclass(frozen=True)
class Toolchain:
    """A C compiler for bare metal, with its C library.

    Parameters
    ----------
    prefix
        what the names of its programs begin with.
    packages
        the packages of Debian that hold them.
    options
        options that choose the C library, for compiler and linker.
    """

    prefix: str
    packages: str
    options: tuple[str, ...] = ()

    @property
    def compiler(self) -> str:
        """The C compiler."""
        return f"{self.prefix}gcc"


@dataclass(frozen=True)
class Emulator:
    """A machine of QEMU.

    Parameters
    ----------
    program
        the emulator.
    package
        the package of Debian that holds it.
    options
        the machine, and how it is started; the ELF file follows.
    nanoseconds_shift
        each instruction takes 2 to the power of this many nanoseconds.
    counters_address
        the block FPGAIO of Arm's MPS boards, which has counters; 0 where the CPU
        itself counts instructions.
    counters_frequency_hz
        the clock of these counters.
    """

    program: str
    package: str
    options: tuple[str, ...]
    nanoseconds_shift: int = 0
    counters_address: int = 0
    counters_frequency_hz: int = 0

    def command(self, elf: str) -> list[str]:
        """The command that runs an ELF file."""
        # Time is the number of instructions, whatever else this computer does.
        count = f"shift={self.nanoseconds_shift},align=off,sleep=off"
        quiet = ["-nographic", "-monitor", "none", "-serial", "none"]
        semihosting = ["-semihosting-config", "enable=on,target=native"]
        options = [*self.options[:-1], f"{self.options[-1]}{elf}"]
        return [self.program, *quiet, "-icount", count, *semihosting, *options]


@dataclass(frozen=True)
class Board:
    """A board.

    Parameters
    ----------
    name
        as `--board` takes it.
    description
        one line about it.
    architecture
        "cortex-m" or "riscv", which chooses the start-up code.
    toolchain, cpu_flags
        the compiler, and its options for this CPU.
    llvm_options
        the same for TVM's target "llvm".
    emulator
        what stands in for the board.
    memories
        its memory map.
    workspace_memories, constant_memories
        the memories that pools lie in unless the user names
        others, most wanted first.
    code_memory
        holds vectors, code, and constants outside pools.
    data_memory
        holds the stack, at its beginning, and variables.
    """

    name: str
    description: str
    architecture: str
    toolchain: Toolchain
    cpu_flags: tuple[str, ...]
    llvm_options: str
    emulator: Emulator
    memories: tuple[Memory, ...]
    workspace_memories: tuple[str, ...]
    constant_memories: tuple[str, ...]
    code_memory: str
    data_memory: str

    @property
    def core(self) -> str:
        """What `-mcpu` calls its core in a target "c"; nothing for one that is no Cortex-M."""
        flag = "-mcpu="
        return "".join(f.removeprefix(flag) for f in self.cpu_flags if f.startswith(flag))

    def memory(self, name: str) -> Memory:
        """The memory of that name.

        Raises
        ------
        ValueError
            the board has none.
        """
        for memory in self.memories:
            if memory.name == name:
                return memory
        raise ValueError(
            f'board {self.name} has no memory "{shown(name)}"; its memories: '
            + ", ".join(memory.name for memory in self.memories)
        )

    def pool_bytes(self, name: str) -> int:
        """The bytes of a memory that pools may use, without what the program itself needs."""
        reserved = CODE_RESERVE_BYTES if name == self.code_memory else 0
        if name == self.data_memory:
            reserved += STACK_BYTES + DATA_RESERVE_BYTES
        return self.memory(name).size_bytes - reserved


ARM_TOOLCHAIN = Toolchain("arm-none-eabi-", "gcc-arm-none-eabi libnewlib-arm-none-eabi")
RISCV_TOOLCHAIN = Toolchain(
    "riscv64-unknown-elf-",
    "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    ("--specs=picolibc.specs",),
)


def _arm_machine(name: str, counters_address: int, counters_frequency_hz: int) -> Emulator:
    """A machine of QEMU for one of Arm's MPS boards."""
    options = ("-machine", name, "-kernel", "")
    # 1024 ns are more than the microsecond that is counted, so that no instruction is lost.
    return Emulator(
        "qemu-system-arm", "qemu-system-arm", options, 10, counters_address, counters_frequency_hz
    )


_MPS2_MEMORIES = (
    Memory("flash", 0x0000_0000, 4 * MEBIBYTE, "ZBT SSRAM1, which holds the program", True),
    Memory("sram", 0x2000_0000, 4 * MEBIBYTE, "ZBT SSRAM2 and SSRAM3"),
)

_MPS2_AN385 = Board(
    name="mps2-an385",
    description=names.BOARDS["mps2-an385"],
    architecture="cortex-m",
    toolchain=ARM_TOOLCHAIN,
    cpu_flags=("-mcpu=cortex-m3", "-mthumb"),
    llvm_options="-mtriple=thumbv7m-none-eabi -mcpu=cortex-m3",
    emulator=_arm_machine("mps2-an385", 0x4002_8000, 25_000_000),
    memories=(*_MPS2_MEMORIES, Memory("psram", 0x2100_0000, 16 * MEBIBYTE, "PSRAM")),
    workspace_memories=("sram", "psram"),
    constant_memories=("flash",),
    code_memory="flash",
    data_memory="sram",
)

_MPS2_AN386 = replace(
    _MPS2_AN385,
    name="mps2-an386",
    description=names.BOARDS["mps2-an386"],
    cpu_flags=("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    llvm_options="-mtriple=thumbv7em-none-eabihf -mcpu=cortex-m4 -mfloat-abi=hard",
    emulator=_arm_machine("mps2-an386", 0x4002_8000, 25_000_000),
)

_MPS2_AN500 = Board(
    name="mps2-an500",
    description=names.BOARDS["mps2-an500"],
    architecture="cortex-m",
    toolchain=ARM_TOOLCHAIN,
    cpu_flags=("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16"),
    llvm_options="-mtriple=thumbv7em-none-eabihf -mcpu=cortex-m7 -mfloat-abi=hard",
    emulator=_arm_machine("mps2-an500", 0x4002_8000, 25_000_000),
    memories=(*_MPS2_MEMORIES, Memory("psram", 0x6000_0000, 16 * MEBIBYTE, "PSRAM")),
    workspace_memories=("sram", "psram"),
    constant_memories=("flash",),
    code_memory="flash",
    data_memory="sram",
)

_MPS2_AN505 = Board(
    name="mps2-an505",
    description=names.BOARDS["mps2-an505"],
    architecture="cortex-m",
    toolchain=ARM_TOOLCHAIN,
    cpu_flags=("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
    llvm_options="-mtriple=thumbv8m.main-none-eabihf -mcpu=cortex-m33 -mfloat-abi=hard",
    emulator=_arm_machine("mps2-an505", 0x5030_2000, 20_000_000),
    # Addresses of the secure state, in which the processor starts.
    memories=(
        Memory("flash", 0x1000_0000, 4 * MEBIBYTE, "SSRAM1, which holds the program", True),
        Memory("sram", 0x3800_0000, 4 * MEBIBYTE, "SSRAM2 and SSRAM3"),
        Memory("isram", 0x3000_0000, 32 * KIBIBYTE, "internal SRAM"),
        Memory("psram", 0x8000_0000, 16 * MEBIBYTE, "PSRAM"),
    ),
    workspace_memories=("sram", "psram"),
    constant_memories=("flash",),
    code_memory="flash",
    data_memory="sram",
)

_MPS3_AN547 = Board(
    name="mps3-an547",
    description=names.BOARDS["mps3-an547"],
    architecture="cortex-m",
    toolchain=ARM_TOOLCHAIN,
    cpu_flags=("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"),
    llvm_options="-mtriple=thumbv8.1m.main-none-eabihf -mcpu=cortex-m55 -mfloat-abi=hard",
    emulator=_arm_machine("mps3-an547", 0x4930_2000, 20_000_000),
    memories=(
        Memory("itcm", 0x0000_0000, 512 * KIBIBYTE, "ITCM, which holds the program", True),
        Memory("dtcm", 0x2000_0000, 512 * KIBIBYTE, "DTCM"),
        Memory("sram", 0x0100_0000, 2 * MEBIBYTE, "FPGA SRAM"),
        Memory("isram", 0x2100_0000, 4 * MEBIBYTE, "internal SRAM, two banks"),
        Memory("flash", 0x2800_0000, 8 * MEBIBYTE, "QSPI flash", True),
        Memory("ddr", 0x6000_0000, 2048 * MEBIBYTE, "DDR4"),
    ),
    workspace_memories=("dtcm", "sram", "isram", "ddr"),
    constant_memories=("flash",),
    code_memory="itcm",
    data_memory="dtcm",
)

_RISCV32_VIRT = Board(
    name="riscv32-virt",
    description=names.BOARDS["riscv32-virt"],
    architecture="riscv",
    toolchain=RISCV_TOOLCHAIN,
    cpu_flags=("-march=rv32imafc", "-misa-spec=2.2", "-mabi=ilp32f", "-mcmodel=medany"),
    llvm_options=(
        "-mtriple=riscv32-unknown-elf -mcpu=generic-rv32 -mattr=+m,+a,+f,+c -mabi=ilp32f"
    ),
    emulator=Emulator(
        "qemu-system-riscv32",
        "qemu-system-misc",
        ("-machine", "virt", "-bios", "none", "-device", "loader,cpu-num=0,file="),
    ),
    memories=(
        Memory("flash", 0x2000_0000, 32 * MEBIBYTE, "first bank of CFI flash", True),
        Memory("sram", 0x8000_0000, 128 * MEBIBYTE, "RAM"),
    ),
    workspace_memories=("sram",),
    constant_memories=("flash",),
    code_memory="flash",
    data_memory="sram",
)

BOARDS: Sequence[Board] = (
    _MPS2_AN385,
    _MPS2_AN386,
    _MPS2_AN500,
    _MPS2_AN505,
    _MPS3_AN547,
    _RISCV32_VIRT,
)


def workspace_section(memory: str) -> str:
    """The section of workspace pools in a memory; its beginning is the one that C compilers
    know as a section without content in the file."""
    return f".bss.pool.{memory}"


def lasting_section(memory: str) -> str:
    """The section of states that a reset of the processor leaves as they are; its beginning is
    the one that C compilers know as a section that nothing fills."""
    return f".noinit.{memory}"


LAYOUT_SECTION = ".noinit.layout"
"""The section of what a program stores beside such states, to know whether they are its own."""


def constant_section(memory: str) -> str:
    """The section of constant pools in a memory."""
    return f".rodata.pool.{memory}"


def board_named(name: str) -> Board:
    """The board of that name.

    Raises
    ------
    ValueError
        there is none.
    """
    for board in BOARDS:
        if board.name == name:
            return board
    raise ValueError(f'unknown board "{name}"; boards: {", ".join(names.BOARDS)}')
