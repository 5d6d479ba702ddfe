"""The boards, with memory map, compiler and emulated machine.

Sources: the monitor command `info mtree` of QEMU 7.2, and Arm's application notes AN385, AN386,
AN500, AN505 and AN547.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from usmp import names
from usmp.parts import PARTS
from usmp.support.text.known_names import closest_names, unknown_name
from usmp.support.text.plain_text import shown

KIBIBYTE = 1 << 10
MEBIBYTE = 1 << 20

STACK_BYTES = 16 * KIBIBYTE
"""Default size of the stack in bytes; STACK_SIZE of the Makefile replaces it."""

DATA_RESERVE_BYTES = 1 * KIBIBYTE
"""Bytes that pools leave for variables of the program, in the memory of the stack."""

CODE_RESERVE_BYTES = 128 * KIBIBYTE
"""Bytes that constant pools leave for code, in the memory of the code."""

PROJECT_FOLDER = "project"
"""Folder of the board's project in an archive."""


@dataclass(frozen=True)
class Memory:
    """One memory of a board.

    Parameters
    ----------
    name
        name of the memory and of its pools.
    base, size_bytes
        first address, and size.
    description
        description in the terms of the board's manual.
    is_read_only
        whether programs can only read it, as with flash.

    Raises
    ------
    ValueError
        the name is no valid region of a linker script, or the description no one-line comment.
    """

    name: str
    base: int
    size_bytes: int
    description: str
    is_read_only: bool = False

    def __post_init__(self) -> None:
        # The linker script contains name and description without escapes.
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
        prefix of the names of its programs.
    packages
        Debian packages with its programs.
    options
        options of compiler and linker that select the C library.
    """

    prefix: str
    packages: str
    options: tuple[str, ...] = ()

    @property
    def compiler(self) -> str:
        """The name of the C compiler."""
        return f"{self.prefix}gcc"


@dataclass(frozen=True)
class Emulator:
    """A machine of QEMU.

    Parameters
    ----------
    program
        name of the program.
    package
        Debian package with the program.
    options
        options for the machine, before the ELF file.
    nanoseconds_shift
        binary logarithm of the nanoseconds that each instruction takes.
    counters_address
        address of the counters in the block FPGAIO of Arm's MPS boards; 0 if the CPU itself counts
        instructions.
    counters_frequency_hz
        clock frequency of these counters.
    """

    program: str
    package: str
    options: tuple[str, ...]
    nanoseconds_shift: int = 0
    counters_address: int = 0
    counters_frequency_hz: int = 0

    def command(self, elf: str) -> list[str]:
        """Return the command that runs an ELF file."""
        # Derive time from the number of instructions, so that it does not depend on the host.
        count = f"shift={self.nanoseconds_shift},align=off,sleep=off"
        quiet = ["-nographic", "-monitor", "none", "-serial", "none"]
        semihosting = ["-semihosting-config", "enable=on,target=native"]
        options = [*self.options[:-1], f"{self.options[-1]}{elf}"]
        return [self.program, *quiet, "-icount", count, *semihosting, *options]


@dataclass(frozen=True)
class Board:
    """A board with its memories, compiler and emulator.

    Parameters
    ----------
    name
        value of `--board`.
    description
        description in one line.
    architecture
        "cortex-m" or "riscv", which selects the start-up code.
    toolchain, cpu_flags
        compiler, and its options for the CPU.
    llvm_options
        options of TVM's target "llvm" for the CPU.
    emulator
        emulator of the board.
    memories
        memory map.
    workspace_memories, constant_memories
        default memories of the pools, the preferred one first.
    code_memory
        memory of vectors, code, and constants outside of pools.
    data_memory
        memory of variables, and of the stack at its start.
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
        """The value of `-mcpu` in a target "c"; empty unless the core is a Cortex-M."""
        flag = "-mcpu="
        return "".join(f.removeprefix(flag) for f in self.cpu_flags if f.startswith(flag))

    def memory(self, name: str) -> Memory:
        """Return a memory by name, or raise ValueError if the board has none of this name."""
        for memory in self.memories:
            if memory.name == name:
                return memory
        problem = f'board {self.name} has no memory "{shown(name)}"'
        memories = [memory.name for memory in self.memories]
        raise ValueError(unknown_name(problem, name, memories, "Its memories"))

    def pool_bytes(self, name: str) -> int:
        """Return the bytes of a memory that pools may use, without the reserves of the program."""
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
    """Return the QEMU machine of one of Arm's MPS boards."""
    options = ("-machine", name, "-kernel", "")
    # An instruction takes 1024 ns, over 20 ticks of the counter, so that it can be counted exactly.
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
    # Use addresses of the secure state, because the processor starts in it.
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
    """Return the section of workspace pools in a memory. From its prefix, compilers know that
    the section has no content in the file."""
    return f".bss.pool.{memory}"


def lasting_section(memory: str) -> str:
    """Return the section of states that survive a reset of the processor. From its
    prefix, compilers know that the section is not initialized."""
    return f".noinit.{memory}"


LAYOUT_SECTION = ".noinit.layout"
"""The section of the hash of the state layout, which tells whether surviving states are valid."""


def constant_section(memory: str) -> str:
    """Return the section of constant pools in a memory."""
    return f".rodata.pool.{memory}"


def board_named(name: str) -> Board:
    """Return a board by name, or raise ValueError if it is unknown."""
    for board in BOARDS:
        if board.name == name:
            return board
    message = unknown_name(f'unknown board "{name}"', name, names.BOARDS, "Boards")
    parts = closest_names(name, PARTS)
    if parts and not closest_names(name, names.BOARDS):
        part = parts[0]
        message += (
            f". Part {part} has no project: compile with "
            f'--target="c -mcpu={PARTS[part].core}". '
            f"See whether the model fits with tvmc check --boards {part}"
        )
    raise ValueError(message)
