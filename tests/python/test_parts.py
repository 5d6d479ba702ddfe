"""The table of microcontrollers."""

from __future__ import annotations

from usmp.boards.core_compilers import core_compiler
from usmp.names import BOARDS, CORES, RISCV_CORES
from usmp.parts import PARTS


def test_names_are_sorted_and_none_is_that_of_a_board():
    assert list(PARTS) == sorted(PARTS)
    assert not PARTS.keys() & {*BOARDS, "all"}
    assert not any({",", ":", "=", " "} & set(name) for name in PARTS)


def test_every_figure_has_a_source():
    for part in PARTS.values():
        assert part.source.startswith(("Zephyr, dts/", "Zephyr, boards/", "Arduino, "))
        assert part.ram_bytes % 1024 == part.flash_bytes % 1024 == 0
        assert 0 < part.ram_bytes < part.flash_bytes


def test_cores_are_known():
    for part in PARTS.values():
        assert part.core in (*CORES, *RISCV_CORES, "xtensa-lx7")
        assert (core_compiler(part.core) is None) == (part.core == "xtensa-lx7")


def test_cores_without_an_fpu_get_no_code_for_one():
    hard = {core for core in CORES if "-mfloat-abi=hard" in core_compiler(core).flags}
    assert hard == {"cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85"}
    assert "-mfloat-abi=hard" not in core_compiler("cortex-m4+nofp").flags
    assert core_compiler("rv32imafc").flags[:2] == ("-march=rv32imafc", "-mabi=ilp32f")
