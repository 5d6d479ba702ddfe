"""The files of a board's project."""

from __future__ import annotations

from pathlib import Path

from usmp.boards.board import PROJECT_FOLDER, Board
from usmp.boards.project.lasting_state import lasting_memories
from usmp.boards.project.linker_script import print_linker_script
from usmp.boards.project.main_of_entries import print_main_of_entries
from usmp.boards.project.main_program import print_main
from usmp.boards.project.makefile import print_makefile
from usmp.boards.project.operators_file import operator_files
from usmp.codegen.interface.module_interface import Interface

_FILES = Path(__file__).parent / "files"
_COMMON = (
    *("measure.h", "measure_stack.c", "report.h", "report.c"),
    *("semihosting.h", "semihosting.c", "startup.h", "startup.c"),
)
_STARTUP = {"cortex-m": "startup_cortex_m.c", "riscv": "startup_riscv.c"}


def project_files(interface: Interface, board: Board) -> dict[str, bytes]:
    """Return all files that `make` needs beside the code of the model, by path in the archive."""
    measure = "measure_fpgaio.c" if board.emulator.counters_address else "measure_riscv.c"
    copied = [*_COMMON, _STARTUP[board.architecture], measure]
    texts = {name: (_FILES / name).read_text() for name in copied}
    texts["Makefile"] = print_makefile(board)
    texts["board.h"] = _board_header(board)
    addresses = {
        pool.name: pool.first_address
        for pool in interface.pools
        if pool.first_address is not None and not pool.is_empty
    }
    texts["board.ld"] = print_linker_script(board, lasting_memories(interface), addresses)
    main = print_main if len(interface.entries) == 1 else print_main_of_entries
    texts |= operator_files(interface)
    texts["main.c"] = main(interface, board)
    return {f"{PROJECT_FOLDER}/{name}": text.encode() for name, text in sorted(texts.items())}


def _board_header(board: Board) -> str:
    lines = [
        f"/* Board {board.name}: {board.description}. */",
        "#ifndef BOARD_H_\n#define BOARD_H_\n",
    ]
    if board.emulator.counters_address:
        lines += [
            "/* The FPGA's own counters. */",
            f"#define BOARD_FPGAIO 0x{board.emulator.counters_address:08x}u",
            f"#define BOARD_FPGAIO_HZ {board.emulator.counters_frequency_hz}u\n",
        ]
    return "\n".join([*lines, "#endif\n"])
