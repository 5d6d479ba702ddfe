"""The choices of a build, by name: targets, cores, algorithms, boards, pass options.

Lines of help are here, too, for all other modules to read. Nothing here loads TVM, so that
help, lists and completions of the command line are fast.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

TARGETS = {
    "c": "C99 for any compiler, the default; -mcpu= says for which Cortex-M (tvmc list cores)",
    "llvm": "an object file behind the same header, with -mtriple= and -mcpu= in the target",
}
"""Targets that run a model's main function."""

TARGET_OPTIONS = {"c": ("mcpu",), "llvm": ("mtriple", "mcpu", "mattr", "mabi", "mfloat-abi")}
"""The options of each target, such as "mcpu" of `--target-c-mcpu`."""

CORES = {
    "cortex-m0": "Armv6-M: products of 32 bits",
    "cortex-m0plus": "Armv6-M: products of 32 bits",
    "cortex-m3": "Armv7-M: products of 64 bits",
    "cortex-m4": "Armv7E-M with the DSP extension: two products of 16 bits at once",
    "cortex-m7": "Armv7E-M with the DSP extension; runs two instructions in one cycle",
    "cortex-m23": "Armv8-M Baseline: products of 32 bits",
    "cortex-m33": "Armv8-M with the DSP extension; without it: +nodsp",
    "cortex-m55": "Armv8.1-M with vectors of 16 bytes (MVE, Helium); without them: +nomve",
    "cortex-m85": "Armv8.1-M with vectors of 16 bytes (MVE, Helium); without them: +nomve",
}
"""Values of -mcpu for target "c"; `usmp.objects.target.cores` has the instructions of each core."""

RISCV_CORES = {
    "rv32imc": "RISC-V without FPU",
    "rv32imac": "RISC-V with atomics, without FPU",
    "rv32imafc": "RISC-V with atomics and a single-precision FPU",
}
"""Values of `-march` for RISC-V; the C has no kernels for these cores."""

DEFAULT_MODULE = "default"
"""Name of a module whose user names none."""

GENERIC_CORE = "generic"
"""Value of -mcpu for portable C, in place of the core of a board."""

DEFAULT_ALGORITHM = "auto"

NO_SHARING = "no_sharing"

ALGORITHM_PREFIX = "tir.usmp.algo."
"""Prefix of the names of algorithms among TVM's global functions."""

ALGORITHMS = {
    "auto": "heuristics, local and exact search within fixed work; the smallest, and the default",
    "exact": "the same without an end until no plan can be smaller; proves it, may take for ever",
    "greedy_by_size": "the largest buffers first; quick",
    "greedy_by_conflicts": "the buffers that are live with most others first",
    "hill_climb": "changes the order again and again and keeps the best; TVM's",
    NO_SHARING: "bytes of its own for every buffer, for comparison and debugging",
}
"""Values of `tir.usmp.algorithm`, implemented by `usmp_solver` without this package."""

PREFERENCE, COST = "preference", "cost"

PLACEMENTS = (PREFERENCE, COST)
"""Values of `tir.usmp.placement`, the default first."""

RAM, BALANCED, SPEED = "ram", "balanced", "speed"

BALANCED_PERCENT = 105
"""Memory that `balanced` may take, in percent of the least memory."""

OPTIMIZE = (RAM, BALANCED, SPEED)
"""Values of `tir.usmp.optimize`, the default first."""

FAST, SMALL = "fast", "small"

CODE = (BALANCED, FAST, SMALL)
"""Values of `tir.usmp.code`, the default first."""

BOUND, EXPRESSION = "bound", "expression"

LAYOUT, STRIPS, GROUPS, COPIES = "layout", "strips", "groups", "copies"
ORDER, SEGMENTS, TILES, WORKSPACE_IO = "order", "segments", "tiles", "workspace_io"
STAGES = {
    LAYOUT: "layouts of images",
    STRIPS: "operators in strips",
    GROUPS: "groups of fused operators",
    COPIES: "copies of parts of tensors",
    ORDER: "orders of operators",
    SEGMENTS: "operators that run interleaved",
    TILES: "tiles of operators",
    WORKSPACE_IO: "inputs and outputs in the workspace",
}
"""Stages of the search for a plan, in their order, with the choices that each compares."""


def stages_in_order(stages: Collection[str]) -> list[str]:
    """Return these stages in the order of `STAGES`."""
    return [stage for stage in STAGES if stage in stages]


DYNAMIC = (BOUND, EXPRESSION)
"""Values of `tir.usmp.dynamic`, the default first."""

ARENA, WORKSPACE_FUNCTIONS = "arena", "TVMBackendAllocWorkspace"

DYNAMIC_ALLOCATORS = (ARENA, WORKSPACE_FUNCTIONS)
"""Values of `tir.usmp.dynamic_allocator`, the default first."""

DEFAULT_ARENA_BYTES = 64 * 2**20
"""Size of the arena of a model on hosts; unused pages take no RAM."""

FLOAT, QUANTIZED, INT8 = "float", "quantized", "int8"

IO_TYPES = (FLOAT, QUANTIZED, INT8)
"""Values of `--io-type`, the default first."""

MODEL_NAMES, NAMES_018 = "model", "0.18"

C_NAMES = (MODEL_NAMES, NAMES_018)
"""Values of `--c-names`, the default first."""

REPORTS = {
    ".html": "a page: the memory map, tables, search",
    ".svg": "the memory map as a picture",
    ".png": "the same in pixels",
    ".json": "the memory map for other programs",
    ".csv": "a row for each buffer",
    ".perfetto.json": "a trace for Perfetto",
    ".pickle": "a snapshot for PyTorch's memory viewer",
    "_c_info.json": "for tools of ST Edge AI Core",
    ".live_bytes.node_data.json": "for Model Explorer: live bytes by operator",
    ".output_bytes.node_data.json": "bytes of results",
    ".output_offset.node_data.json": "their offsets",
    ".macs.node_data.json": "multiply-accumulates",
    ".instructions.node_data.json": "instructions",
}
"""Reports of `--report`, by the ending of the file's name."""

BOARDS = {
    "mps2-an385": "Arm MPS2 with Cortex-M3",
    "mps2-an386": "Arm MPS2 with Cortex-M4 and its single-precision FPU",
    "mps2-an500": "Arm MPS2 with Cortex-M7 and its double-precision FPU",
    "mps2-an505": "Arm MPS2 with IoT Kit: Cortex-M33 with TrustZone, in its secure state",
    "mps3-an547": "Arm MPS3 with Corstone-300: Cortex-M55 with its vector unit",
    "riscv32-virt": "QEMU's RISC-V machine: RV32IMAFC",
}
"""Values of `--board`; `usmp.boards.board` describes the boards."""


@dataclass(frozen=True)
class PassOption:
    """One option of `--pass-config`.

    Parameters
    ----------
    type_name
        name of the type of its value.
    values
        its possible values; empty if they cannot be listed.
    default
        value if the option is not given; None for no value.
    description
        one line of help.
    """

    type_name: str
    values: tuple[str, ...]
    default: str | None
    description: str


_SWITCH = ("0", "1")

PASS_OPTIONS = {
    "tir.usmp.enable": PassOption(
        "bool",
        _SWITCH,
        "1",
        "0 is greedy_by_size without overlap, streaming or another order",
    ),
    "tir.usmp.algorithm": PassOption(
        "str", tuple(ALGORITHMS), DEFAULT_ALGORITHM, "what places the buffers"
    ),
    "tir.usmp.use_workspace_io": PassOption(
        "bool", _SWITCH, "0", "1 places inputs and outputs in the workspace too"
    ),
    "tir.usmp.preserve_inputs": PassOption(
        "bool", _SWITCH, "0", "1 keeps inputs in the workspace intact to the end of a run"
    ),
    "tir.usmp.overlap": PassOption(
        "bool",
        _SWITCH,
        "1",
        "0 lets no output overwrite what its operator has read of a dying input, for comparison",
    ),
    "tir.usmp.order_operators": PassOption(
        "bool", _SWITCH, "1", "0 runs the operators in the order in which the model has them"
    ),
    "tir.usmp.streaming": PassOption(
        "bool",
        _SWITCH,
        "1",
        "0 runs each operator as a whole, instead of row by row where that takes less memory",
    ),
    "tir.usmp.stream_inputs": PassOption(
        "Array<str>",
        (),
        None,
        "names of inputs (ENTRY.NAME if several entries have one) that the application gives row "
        "by row; NAME:hop=N is a window of time, of which it gives the N rows that are new in each "
        "run",
    ),
    "tir.usmp.stream_outputs": PassOption(
        "Array<str>",
        (),
        None,
        "names of outputs (ENTRY.NAME if several entries have one) that the application takes row "
        "by row",
    ),
    "tir.usmp.max_extra_macs": PassOption(
        "percentage",
        (),
        None,
        "such as 10%: more multiply-accumulates, for strips whose borders are computed again",
    ),
    "tir.usmp.prune_constant_channels": PassOption(
        "bool", _SWITCH, "1", "0 keeps channels that are constant or that nothing reads"
    ),
    "tir.usmp.optimize": PassOption(
        "str",
        OPTIMIZE,
        RAM,
        "fewer instructions: as far as they take no memory, at most 5 %, or any that fits",
    ),
    "tir.usmp.code": PassOption(
        "str",
        CODE,
        BALANCED,
        "operators that differ in sizes only share code: those that rarely run, none, or all",
    ),
    "tir.usmp.dynamic": PassOption(
        "str",
        DYNAMIC,
        BOUND,
        "offsets where sizes are known at run time only: those at the largest sizes, or computed",
    ),
    "tir.usmp.dynamic_allocator": PassOption(
        "str",
        DYNAMIC_ALLOCATORS,
        ARENA,
        "what gives buffers whose size has no bound: an arena of the application, or TVM's runtime",
    ),
    "tir.usmp.custom_algorithm": PassOption(
        "str", (), None, "an algorithm of your own, registered as tir.usmp.algo.NAME"
    ),
    "tir.usmp.placement": PassOption(
        "str",
        PLACEMENTS,
        PREFERENCE,
        "cost puts buffers where their accesses take the fewest cycles",
    ),
    "tir.usmp.time_budget": PassOption(
        "str", (), None, "such as 10s: the time for all searches; else fixed work ends them"
    ),
    "tir.usmp.poison_dead_bytes": PassOption(
        "bool", _SWITCH, "0", "1 for debugging: the code overwrites dead bytes after each operator"
    ),
    "tir.usmp.verify_kernels": PassOption(
        "bool",
        _SWITCH,
        "0",
        "1 runs each kernel and the operator that it replaces on this host, and compares the bytes",
    ),
    "tir.usmp.profile": PassOption(
        "bool", _SWITCH, "0", "1 calls functions of the application before and after each operator"
    ),
}
"""The options of the planner; `usmp.registration` registers them with TVM by their types."""
