"""Texts that rows of several tables share."""

from __future__ import annotations

AOT_ONLY = "aot is the only executor"

NOT_TUNED = "kernels are not tuned, and there are no records of it"
TUNING = (
    f"{NOT_TUNED}; --pass-config tir.usmp.optimize=speed takes memory for faster kernels, "
    "--usmp-time-budget searches longer for less memory, and tvmc explore compares builds"
)
LEAVE_OUT_TUNING = f"leave it out: {TUNING}"

ALL_PASSES = "all passes run, as at level 3"
NOT_FUSED = "each operator of the model is a function of its own"

NO_PROJECTS = (
    "there are no projects to generate: the application is yours, and the archive in it is a "
    "module of Zephyr, a library of Arduino or a folder of CMake (docs/integrate.md); tvmc compile "
    "--board adds a program for a board, and tvmc run --board runs it in the emulator"
)

NO_RUNTIME = "the C needs no runtime"
NO_TABLE = "C calls functions by their names, as tvmgen_<module>_run, and there is no table of them"
NO_PACKED_TABLE = (
    "packed functions stand in no table, and tvm.runtime.load_module finds them by their symbols "
    "in the library that you link: leave it out"
)

MAIN_ON_TARGET = "main runs on the target, as all operators do"

OWN_KERNELS = "the C has kernels for Cortex-M itself"
ON_ACCELERATORS = (
    "operators on an NPU are those of an accelerator of your own (docs/accelerators.md)"
)

TARGET_TEXT = 'the target is a text with the core, as "c -mcpu=cortex-m4" (tvmc list cores)'
