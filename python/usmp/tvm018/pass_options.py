"""Options (`--pass-config`), passes and levels of TVM 0.18's PassContext, and renamed options."""

from __future__ import annotations

from usmp.names import (
    DEBUG,
    OPTIONAL_PASSES,
    ORDER_OPERATORS,
    OVERLAP_INPUTS_AND_OUTPUTS,
    POISON_DEAD_BYTES,
    PRUNE_CONSTANT_CHANNELS,
    STREAM_OPERATORS,
    WORKSPACE_FUNCTIONS,
)
from usmp.tvm018 import reasons
from usmp.tvm018.old_name import FALSE, TRUE, OldName, accepted, mapped, refused

ENABLE = "tir.usmp.enable"
CMSIS_NN_CONFIG = "relay.ext.cmsisnn.options"

DISABLED_PASS = "disabled_pass"
OPT_LEVEL = "opt_level"
BELOW_0, FROM_4 = "below 0", "4 and more"

WITHOUT_USMP = (
    "tir.usmp.algorithm=greedy_by_size",
    *(
        f"{DISABLED_PASS}={name}"
        for name in (OVERLAP_INPUTS_AND_OUTPUTS, ORDER_OPERATORS, STREAM_OPERATORS)
    ),
)
"""Settings that replace `tir.usmp.enable=0`."""

_ETHOS_U = f"{reasons.ON_ACCELERATORS}; leave the option out to run all operators on the CPU"
_CODEGEN_GONE = (
    "this codegen of TVM 0.18 is gone; leave the option out, or describe an accelerator of your "
    "own (docs/accelerators.md)"
)
_COLLAGE = (
    "operators are not partitioned by Collage; leave the option out: accelerators take what their "
    "patterns match, in the order of the targets"
)
_LOWERED_OTHERWISE = "has no effect on this code, which TVM's own lowering does not make"
_NO_GPU = "has no effect: it is for GPUs, Hexagon or other runtimes of TVM"
_NO_CHECKS = (
    f"no bounds checks are put into the code; use tir.usmp.debug={POISON_DEAD_BYTES}, or compile "
    "the C with -fsanitize=address"
)
_PASS_NOT_RUN = (
    "TVM's pass of this name has no part in a build; leave the option out, or run the pass on the "
    "module yourself (usmp.get_aot_pipeline lists those of a build)"
)
_ADD_PASS = (
    "passes are not added by an option; in Python put yours around usmp.get_aot_pipeline(), and "
    "pass the result to usmp.AOTExecutorFactoryModule, which has the C"
)
_RECORDED = "the operators of the model are always recorded, in the C and in metadata.json"


def _names(namespaces: tuple[str, str], *options: str) -> tuple[str, ...]:
    """Return the names of options in two namespaces."""
    return tuple(f"{namespace}.{option}" for namespace in namespaces for option in options)


_OF_LOWERING = (
    *_names(
        ("tir", "tirx"),
        "noalias",
        "disable_assert",
        "disable_vectorize",
        "disable_storage_rewrite",
        "disable_cse_tir",
        "enable_debug",
        "enable_buffer_level_predication",
        "is_entry_func",
        "debug_keep_trivial_loop",
    ),
    "tir.enable_equiv_terms_in_cse_tir",
    "tirx.enable_fast_math",
)
"""Options that only TVM's own lowering to C and LLVM reads."""

_OF_OTHER_RUNTIMES = (
    *_names(
        ("tir", "tirx"), "instrument_lwp", "merge_static_smem", "use_async_copy", "vtcm_capacity"
    ),
    *_names(
        ("tir", "s_tir"),
        "instr_siblings",
        "lwp_disable_func_prof",
        "lwp_max_depth",
        "lwp_min_height",
        "reset_start_id",
    ),
    "tir.detect_global_barrier",
    "tir.experimental_dma_bypass_cache",
    "tir.ptx_ldg32",
    "tirx.s_tir.ldg32",
    "relax.backend.use_cuda_graph",
    "cuda.kernels_output_dir",
)

_OF_PASSES_NOT_RUN = (
    *_names(
        ("tir", "s_tir"),
        "HoistExpression",
        "HoistIfThenElse",
        "InjectDoubleBuffer",
        "LoopPartition",
    ),
    "tir.ReduceBranchingThroughOvercompute",
    "tir.UnrollLoop",
    "tirx.UnrollLoop",
)


def _off_only(name: str, reason_off: str, reason: str) -> tuple[OldName, OldName]:
    """Return the rows of a switch that is always off."""
    return accepted(name, reason_off, values=FALSE), refused(name, reason)


PASS_CONFIGS: tuple[OldName, ...] = (
    mapped(
        ENABLE,
        WITHOUT_USMP,
        "main is planned as by TVM 0.18 without USMP: greedy_by_size, no overlap, no streaming, "
        "the model's order of operators; tir.usmp.algorithm=no_sharing gives every buffer bytes "
        "of its own",
        values=FALSE,
    ),
    mapped(
        "relay.FuseOps.max_depth",
        "relax.FuseOps.max_depth",
        "relax.FuseOps.max_depth takes its place",
    ),
    accepted("relay.FuseOps.link_params", "constants are always linked into the code"),
    *(
        row
        for option in ("use_auto_scheduler", "use_meta_schedule", "use_meta_schedule_dispatch")
        for row in _off_only(f"relay.backend.{option}", reasons.NOT_TUNED, reasons.LEAVE_OUT_TUNING)
    ),
    accepted(
        "relay.backend.tir_converter",
        "operators are lowered in the one way that there is",
        values=("default",),
    ),
    refused(
        "relay.backend.tir_converter",
        "there is one way in which operators are lowered; leave the option out",
    ),
    mapped(
        CMSIS_NN_CONFIG,
        "target c -mcpu=CORE",
        "its mcpu and mattr are the -mcpu of target c, whose kernels take the place of CMSIS-NN",
    ),
    refused("relay.ext.ethos-u.options", _ETHOS_U),
    *(
        refused(f"tir.contrib.ethos-u.copy_compute_reordering_{option}", _ETHOS_U)
        for option in ("max_copy_movements", "reorder_by_cycles")
    ),
    *(
        refused(f"relay.ext.{codegen}", _CODEGEN_GONE)
        for codegen in (
            "ethos-n.options",
            "mrvl.options",
            "tensorrt.options",
            "verilator.options",
            "vitis_ai.options",
            "vitis_ai.options.target",
            "vitis_ai.options.build_dir",
            "vitis_ai.options.work_dir",
            "vitis_ai.options.export_runtime_module",
            "vitis_ai.options.load_runtime_module",
        )
    ),
    accepted("relay.remove_standalone_reshapes.enable", "a reshape is a view and copies nothing"),
    accepted("relay.frontend.fill_span", _RECORDED),
    accepted("ir.enable_si_builder", _RECORDED),
    *(
        accepted(f"{namespace}.fallback_device_type", "operators run where the target says")
        for namespace in ("relay", "relax")
    ),
    accepted("te.keep_schedule_record", "operators have no schedules of TE"),
    *_off_only(
        "relay.ToMixedPrecision.keep_orig_output_dtype",
        "no types are changed",
        "no operator is converted to a smaller float type; leave the option out, and convert the "
        "model before it is exported",
    ),
    *(
        refused(f"relay.collage.{option}", _COLLAGE)
        for option in ("tvm_max_depth", "byoc_max_depth", "byoc_fusion_style")
    ),
    refused(
        "tir.Simplify",
        "TVM's pass has other fields now; leave the option out, or set tirx.StmtSimplify, as "
        'tirx.StmtSimplify={"transitively_prove_inequalities": true}',
    ),
    refused(
        "tir.RemoveNoOp",
        "TVM's pass has other fields now; leave the option out, or set tirx.RemoveNoOp, as "
        'tirx.RemoveNoOp={"max_simplification_steps": 100}',
    ),
    *(refused(name, _ADD_PASS) for name in ("tir.add_lower_pass", "tirx.add_lower_pass")),
    *(
        row
        for name in ("tir.instrument_bound_checkers", "tirx.instrument_bound_checkers")
        for row in _off_only(name, "no bounds checks are put into the code", _NO_CHECKS)
    ),
    *(refused(name, _PASS_NOT_RUN) for name in _OF_PASSES_NOT_RUN),
    *(accepted(name, _LOWERED_OTHERWISE) for name in _OF_LOWERING),
    *(accepted(name, _NO_GPU) for name in _OF_OTHER_RUNTIMES),
)
"""Keys without effect, mapped keys and refused keys, including keys of TVM 0.27 for passes that a
build does not run. Keys that a build reads unchanged have no row."""


def _renamed(option: str, to: str, values: tuple[str, ...]) -> tuple[OldName, OldName]:
    """Return the rows of an option of which `values` became a setting, and others the default."""
    name, _, value = to.partition("=")
    written = to
    if name == DISABLED_PASS:
        written = f'--disabled-pass={value}, in a PassContext disabled_pass=["{value}"]'
    goes = "the old name goes with the next release"
    return (
        mapped(f"tir.usmp.{option}", to, f"write {written}; {goes}", values=values),
        accepted(f"tir.usmp.{option}", f"leave it out, because it is the default; {goes}"),
    )


RENAMED_CONFIGS: tuple[OldName, ...] = (
    *(
        row
        for option, name in (
            ("overlap", OVERLAP_INPUTS_AND_OUTPUTS),
            ("order_operators", ORDER_OPERATORS),
            ("streaming", STREAM_OPERATORS),
            ("prune_constant_channels", PRUNE_CONSTANT_CHANNELS),
        )
        for row in _renamed(option, f"{DISABLED_PASS}={name}", FALSE)
    ),
    *(row for word in DEBUG for row in _renamed(word, f"tir.usmp.debug={word}", TRUE)),
    *_renamed(
        "dynamic_allocator",
        f"tir.usmp.dynamic={WORKSPACE_FUNCTIONS}",
        (WORKSPACE_FUNCTIONS.lower(),),
    ),
)
"""Options of the previous release of this package, with the settings that replace them."""

BESIDE_ENABLE: tuple[OldName, ...] = tuple(
    accepted(name, f"not read beside {ENABLE}=0, as in TVM 0.18; leave out one of the two")
    for name in ("tir.usmp.algorithm", "tir.usmp.custom_algorithm")
)
"""Options that TVM 0.18 did not read if USMP was off."""

_RELAY_PASSES = (
    "AlterOpLayout",
    "AnnotateMemoryScope",
    "AutoSchedulerLayoutRewrite",
    "BackwardFoldScaleAxis",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2d",
    "CombineParallelDense",
    "ConvertLayout",
    "DefuseOps",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FakeQuantizationToInteger",
    "FastMath",
    "FlattenAtrousConv",
    "ForwardFoldScaleAxis",
    "InlineGlobals",
    "LabelOps",
    "Legalize",
    "MetaScheduleLayoutRewrite",
    "QnnCanonicalize",
    "QnnLegalize",
    "RemoveStandaloneReshapes",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyExprPostAlterOp",
    "SimplifyFCTranspose",
    "SimplifyInference",
    "ToANormalForm",
    "ToMixedPrecision",
)

NEEDED_PASS = refused(
    DISABLED_PASS,
    "there is no code without this pass; those that can be left out are "
    + ", ".join(OPTIONAL_PASSES),
    values=("a pass that builds need",),
)
UNKNOWN_PASS = accepted(
    DISABLED_PASS,
    "no pass that can be left out has this name, so nothing is turned off",
    changes_meaning=True,
)
REQUIRED_PASS = accepted(
    "required_pass", "has no effect: all passes run, at every optimization level"
)

FUSION = ("usmp.FuseRecordedOperators", "usmp.FuseSlices", "usmp.FuseWindowSlices")
"""Passes that fuse operators."""

DISABLED_PASSES: tuple[OldName, ...] = (
    *(
        mapped(
            f"{DISABLED_PASS}={name}",
            FUSION,
            reasons.NOT_FUSED,
        )
        for name in ("FuseOps", "relax.FuseOps")
    ),
    *(
        mapped(
            f"{DISABLED_PASS}={name}", "usmp.FoldConstants", "usmp.FoldConstants takes its place"
        )
        for name in ("FoldConstant", "relax.FoldConstant")
    ),
    *(
        accepted(
            f"{DISABLED_PASS}={name}",
            "this pass of Relay is gone, and there is nothing to turn off",
        )
        for name in _RELAY_PASSES
    ),
    NEEDED_PASS,
    UNKNOWN_PASS,
    REQUIRED_PASS,
)
"""Passes in `disabled_pass` of a PassContext, with rows for other names and for `required_pass`.
`OPTIONAL_PASSES` have no row."""

OPT_LEVELS: tuple[OldName, ...] = (
    mapped(
        OPT_LEVEL,
        "disabled_pass=FuseOps",
        f"{reasons.NOT_FUSED}; all other passes run",
        values=("0",),
        changes_meaning=True,
    ),
    accepted(OPT_LEVEL, reasons.ALL_PASSES, values=("1", FROM_4)),
    refused(OPT_LEVEL, "a level is 0 or more; leave it out for all passes", values=(BELOW_0,)),
)
"""Levels of a PassContext other than the defaults of TVM (2) and tvmc (3)."""
