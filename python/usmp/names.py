"""The choices of a build, by name: targets, cores, algorithms, boards, pass options.

Lines of help are here, too, for all other modules to read. Nothing here loads TVM, so that
help, lists and completions of the command line are fast.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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

PLACEMENTS = {
    PREFERENCE: "in the first listed pool that has space",
    COST: "where their accesses take the fewest cycles",
}
"""Values of `tir.usmp.placement`, the default first."""

RAM, BALANCED, SPEED = "ram", "balanced", "speed"

BALANCED_PERCENT = 105
"""Memory that `balanced` may take, in percent of the least memory."""

OPTIMIZE = {
    RAM: "faster schedules take no more memory",
    BALANCED: f"faster schedules take at most {BALANCED_PERCENT - 100} % more memory",
    SPEED: "the fastest schedules that fit the pools",
}
"""Values of `tir.usmp.optimize`, the default first."""

FAST, SMALL = "fast", "small"

CODE = {
    BALANCED: "operators that rarely run share code",
    FAST: "no operators share code",
    SMALL: "all operators that differ in sizes only share code",
}
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


ARENA, WORKSPACE_FUNCTIONS = "arena", "TVMBackendAllocWorkspace"

DYNAMIC_ALLOCATORS = (ARENA, WORKSPACE_FUNCTIONS)
"""Allocators of buffers whose size has no upper bound."""

DYNAMIC = {
    BOUND: "offsets are those of a plan at the largest sizes",
    EXPRESSION: "a run computes the offsets from its sizes",
    WORKSPACE_FUNCTIONS: "TVM's runtime gives buffers without a bound, in place of an arena",
}
"""Words of `tir.usmp.dynamic`, the default first."""

PROFILE, POISON_DEAD_BYTES = "profile", "poison_dead_bytes"
VERIFY_KERNELS = "verify_kernels"

DEBUG = {
    PROFILE: "the code calls functions of the application before and after each operator",
    POISON_DEAD_BYTES: "the code overwrites dead bytes after each operator",
    VERIFY_KERNELS: "the build runs each kernel on this host beside the operator that it replaces",
}
"""Words of `tir.usmp.debug`."""

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
        its possible values with what each does, "" if the description says it; empty if they
        cannot be listed.
    default
        value if the option is not given; None for no value.
    description
        one line of help.
    """

    type_name: str
    values: Mapping[str, str]
    default: str | None
    description: str


_SWITCH = {"0": "", "1": ""}

LIST_TYPE = "Array<str>"
"""Name of the type of an option that is a list of words."""

PASS_OPTIONS = {
    "tir.usmp.enable": PassOption(
        "bool",
        {"1": "", "0": "greedy_by_size, without overlap, streaming or another order of operators"},
        "1",
        "plan with all optimizations",
    ),
    "tir.usmp.algorithm": PassOption(
        "str",
        dict.fromkeys(ALGORITHMS, ""),
        DEFAULT_ALGORITHM,
        "what places the buffers, see tvmc list algorithms",
    ),
    "tir.usmp.custom_algorithm": PassOption(
        "str", {}, None, "an algorithm of your own, registered as tir.usmp.algo.NAME"
    ),
    "tir.usmp.use_workspace_io": PassOption(
        "bool", _SWITCH, "0", "place inputs and outputs in the workspace too"
    ),
    "tir.usmp.preserve_inputs": PassOption(
        "bool", _SWITCH, "0", "keep inputs in the workspace intact to the end of a run"
    ),
    "tir.usmp.stream_inputs": PassOption(
        LIST_TYPE,
        {},
        None,
        "inputs (ENTRY.NAME of several entries) that the application gives row by row; NAME:hop=N "
        "is a window, of which it gives the N rows that are new in each run",
    ),
    "tir.usmp.stream_outputs": PassOption(
        LIST_TYPE, {}, None, "outputs that the application takes row by row"
    ),
    "tir.usmp.placement": PassOption(
        "str", PLACEMENTS, PREFERENCE, "which of several pools a buffer lies in"
    ),
    "tir.usmp.time_budget": PassOption(
        "str", {}, None, "when all searches end, as 10s; without it, fixed work ends them"
    ),
    "tir.usmp.optimize": PassOption(
        "str", OPTIMIZE, RAM, "how much memory a faster schedule of an operator may take"
    ),
    "tir.usmp.max_extra_macs": PassOption(
        "percentage",
        {},
        None,
        "how many more multiply-accumulates may save memory, as 10%, for strips of images whose "
        "borders are computed again",
    ),
    "tir.usmp.code": PassOption("str", CODE, BALANCED, "which operators share code"),
    "tir.usmp.dynamic": PassOption(
        LIST_TYPE, DYNAMIC, BOUND, "where buffers lie whose sizes only a run knows"
    ),
    "tir.usmp.debug": PassOption("Array<str>", DEBUG, None, "what helps to find faults"),
}
"""The options of the planner; `usmp.registration` registers them with TVM by their types."""

OVERLAP_INPUTS_AND_OUTPUTS = "OverlapInputsAndOutputs"
ORDER_OPERATORS, STREAM_OPERATORS = "OrderOperators", "StreamOperators"
PRUNE_CONSTANT_CHANNELS = "PruneConstantChannels"

OPTIONAL_PASSES = {
    "ChooseSchedules": "choose the fastest schedule of an operator that memory allows",
    "ConvertImageLayout": "convert float convolutions from NCHW to NHWC",
    "ConvertQDQToIntegers": "replace operators between dequantize and quantize by integer ones",
    "ExtendStates": "keep states apart from their concatenations if several entries then need less",
    "FoldConstants": "compute operators on constants while the model is compiled",
    "FoldPadding": "fold padding with zeros into the convolutions that read it",
    "FoldUnchangedStates": "make states that the model never changes constants",
    "FuseEntries": "fuse all operators of several entries if that takes no more memory",
    "FuseRecordedOperators": "fuse operators into one function where that takes no more memory",
    "FuseSlices": "fuse a slice with the operator whose result it reads",
    "FuseWindowSlices": "fuse an operator that copies parts of a window with its reader",
    "MergeSimilarFunctions": "share the code of operators that differ in sizes only",
    "NormalizeCopies": "rewrite operators that only copy as slices and concatenations, or as views",
    ORDER_OPERATORS: "run operators in the order that needs the least memory",
    OVERLAP_INPUTS_AND_OUTPUTS: "let an output overwrite what its operator has read of an input",
    PRUNE_CONSTANT_CHANNELS: "remove channels that are constant or that nothing reads",
    "PushSliceThroughConcat": "slice the inputs of a concatenation instead of its result",
    "ScheduleOperators": "compute element-wise stages where their results are read",
    "SelectKernels": "replace operators by kernels for the core",
    "SplitIntoStrips": "compute chains of operators in strips of images, if max_extra_macs allows",
    STREAM_OPERATORS: "run consecutive operators row by row where that takes less memory",
}
"""Optimizations that `--disabled-pass` may leave out, because the result is right without them."""
