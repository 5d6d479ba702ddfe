"""Removed commands of TVM 0.18, with their options and boards."""

from __future__ import annotations

from usmp.tvm018 import reasons
from usmp.tvm018.old_name import NO_VALUE, OldName, mapped, refused

PROJECT_OPTION = "--project-option"

_COMMANDS = {
    "tvmc micro": f"{reasons.NO_PROJECTS}; create-project, build and flash say what to "
    "write instead",
    "tvmc micro create-project": reasons.NO_PROJECTS,
    "tvmc micro create": reasons.NO_PROJECTS,
    "tvmc micro build": "the build system of the application compiles the C of the archive "
    "(docs/integrate.md); tvmc builds programs for boards in an emulator only (tvmc list boards)",
    "tvmc micro flash": "the build system of the application writes the program to the device; "
    "with what tvmc export-test wrote in it, tvmc runs the model there (docs/on-your-device.md)",
}

_CORES = {
    "cortex-m0plus": ("rpipico",),
    "cortex-m3": ("due",),
    "cortex-m4": (
        "nucleo_l4r5zi",
        *("metrom4", "nano33ble", "nicla_sense", "pybadge", "spresense", "wioterminal"),
    ),
    "cortex-m7": (
        *("mimxrt1050_evk", "nucleo_f746zg", "stm32f746g_disco"),
        *("portentah7", "teensy40", "teensy41"),
    ),
    "cortex-m33": ("b_u585i_iot02a", "mps2_an521", "nrf5340dk_nrf5340_cpuapp"),
}
"""Name of a core for -mcpu -> boards of TVM 0.18's Zephyr and Arduino projects."""

_EMULATED = {"mps3_an547": "mps3-an547", "qemu_riscv32": "riscv32-virt"}
"""Board of TVM 0.18 -> its name for --board."""

_PORTABLE = ("feathers2", "qemu_cortex_r5", "qemu_riscv64", "qemu_x86")
"""Boards whose core has no kernels."""

_PREBUILT = "prj.conf of the application is yours"
_YOURS = "the application is yours, and has it in its own CMakeLists.txt"

_PROJECT_OPTIONS = {
    "project_type": "the application is yours; docs/integrate.md has its main.c",
    "cmsis_path": f"{reasons.OWN_KERNELS}, and calls no library",
    "warning_as_error": f"{_PREBUILT}: CONFIG_COMPILER_WARNINGS_AS_ERRORS; the C has no warnings "
    "of -Wall -Wextra -pedantic",
    "compile_definitions": _YOURS,
    "extra_files_tar": _YOURS,
    "config_main_stack_size": f"{_PREBUILT}: CONFIG_MAIN_STACK_SIZE={{value}}",
    "workspace_size_bytes": "the workspace has the size of the plan, and the header says it",
    "gdbserver_port": "west debugserver starts a GDB server",
    "serial_number": "west flash takes it as --dev-id={value}",
    "west_cmd": "you call west yourself",
    "arduino_cli_cmd": "you call arduino-cli yourself",
    "port": "arduino-cli upload takes it as --port, and tvmc run as --serial",
    "verbose": "west and arduino-cli take it as -v",
    "zephyr_base": "the CMakeLists.txt of the application finds Zephyr by ZEPHYR_BASE of the "
    "environment",
    "arm_fvp_path": "--board mps3-an547 is a Corstone-300 in QEMU",
    "use_fvp": "--board mps3-an547 is a Corstone-300 in QEMU",
    "fpu": f"{_PREBUILT}: CONFIG_FPU=y",
}
"""Options of TVM 0.18's Zephyr and Arduino projects, except the board."""

MICRO: tuple[OldName, ...] = (
    *(refused(name, reason) for name, reason in _COMMANDS.items()),
    refused("--force", "tar replaces the files that are there", arity=NO_VALUE),
    refused("--template-dir", "docs/integrate.md has the project of each build system"),
    refused("--list-options", "projects are yours and have no options here", arity=NO_VALUE),
    *(
        mapped(
            f"{PROJECT_OPTION} board",
            f"--target=c -mcpu={core}",
            f"compile for its core, {core}",
            values=boards,
        )
        for core, boards in _CORES.items()
    ),
    *(
        mapped(
            f"{PROJECT_OPTION} board",
            f"--board={name}",
            "tvmc builds programs for this board and runs them in the emulator",
            values=(board,),
        )
        for board, name in _EMULATED.items()
    ),
    mapped(
        f"{PROJECT_OPTION} board",
        "--target=c",
        "compile portable C, for there are no kernels for its core",
        values=_PORTABLE,
    ),
    refused(
        f"{PROJECT_OPTION} board",
        "TVM 0.18 had no board of this name; compile for its core (tvmc list cores), or portable C",
    ),
    *(refused(f"{PROJECT_OPTION} {name}", reason) for name, reason in _PROJECT_OPTIONS.items()),
)
"""Rows of `tvmc micro`, whose commands raise errors with advice."""

TUNE: tuple[OldName, ...] = (refused("tvmc tune", reasons.TUNING),)
"""The row of `tvmc tune` with any arguments."""

MODULES: tuple[OldName, ...] = (
    refused(
        "python -m tvm.driver.tvmc",
        "the package tvm is that of the wheel apache-tvm, where nothing can be added; write "
        "python -m usmp, or tvmc",
    ),
)
"""Modules that users run as commands."""
