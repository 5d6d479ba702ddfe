"""Flags of `tvmc compile` in TVM 0.18 about passes that are run, left out, timed or printed."""

from __future__ import annotations

from usmp.tvm018.old_name import (
    COMMA_LIST,
    NO_VALUE,
    OldName,
    accepted,
    mapped,
    refused,
)

WITHOUT_FUSION = "--pass-config=relax.FuseOps.max_depth=1"

_NEVER_RUN = (
    "AlterOpLayout",
    "AnnotateMemoryScope",
    "AnnotateTarget",
    "AutoSchedulerLayoutRewrite",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelConv2d",
    "CombineParallelDense",
    "ConvertLayout",
    "DefuseOps",
    "EtaExpand",
    "FastMath",
    "FlattenAtrousConv",
    "LabelOps",
    "MetaScheduleLayoutRewrite",
    "PlanDevices",
    "RemoveStandaloneReshapes",
    "SimplifyExprPostAlterOp",
    "SimplifyFCTranspose",
    "SplitArgs",
    "ToANormalForm",
    "ToMixedPrecision",
    "tir.CommonSubexprElimTIR",
    "tir.HoistIfThenElse",
    "tir.InjectDoubleBuffer",
    "tir.LoopPartition",
    "tir.StorageRewrite",
    "tir.UnrollLoop",
    "tir.VectorizeLoop",
)
"""Passes of Relay and TIR that no pass takes the place of."""

_ALWAYS_DONE = (
    "BackwardFoldScaleAxis",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "DeadCodeElimination",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "FakeQuantizationToInteger",
    "FoldConstant",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "InferType",
    "Inline",
    "InlineGlobals",
    "Legalize",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyInference",
    "qnn.Legalize",
)
"""Passes of Relay whose work other passes do in any case, as far as the model has any of it."""

_DISABLED = (
    accepted("--disabled-pass", "no pass is named", values=("",), arity=COMMA_LIST),
    mapped(
        "--disabled-pass",
        WITHOUT_FUSION,
        "the option relax.FuseOps.max_depth=1 takes its place",
        values=("fuseops",),
        arity=COMMA_LIST,
    ),
    accepted(
        "--disabled-pass",
        "there is no such pass",
        values=tuple(dict.fromkeys(name.lower() for name in _NEVER_RUN)),
        arity=COMMA_LIST,
    ),
    accepted(
        "--disabled-pass",
        "the work of this pass of Relay is always done",
        values=tuple(name.lower() for name in _ALWAYS_DONE),
        changes_meaning=True,
        arity=COMMA_LIST,
    ),
    refused(
        "--disabled-pass",
        "the command leaves out no pass of this name; usmp.build in a PassContext with "
        "disabled_pass leaves out passes that usmp-opt --list-passes shows",
        arity=COMMA_LIST,
    ),
)

_LEVELS = tuple(
    row
    for name in ("-O", "--opt-level")
    for row in (
        accepted(name, "all passes are run, as that level did", values=("3",)),
        accepted(
            name,
            "all passes are run, as level 3 did; results are the same",
            values=("1", "2"),
            changes_meaning=True,
        ),
        mapped(
            name,
            WITHOUT_FUSION,
            "operators are not fused (relax.FuseOps.max_depth=1); all other passes are run",
            values=("0",),
            changes_meaning=True,
        ),
        refused(name, "the level must be 0, 1, 2 or 3: leave the option out for 3"),
    )
)

_PRINTED = tuple(
    row
    for when in ("before", "after")
    for row in (
        accepted(f"--print-ir-{when}", "no pass is named", values=("",)),
        refused(
            f"--print-ir-{when}",
            f'usmp-opt FILE "--passes=Pipeline{{target=c}}" --print-{when}=NAME prints it; '
            "usmp-opt --list-passes shows the names",
        ),
    )
)

PASS_FLAGS: tuple[OldName, ...] = (
    *_LEVELS,
    *_DISABLED,
    refused(
        "--print-pass-times",
        "passes are timed from Python: usmp.get_pipeline()(usmp.import_model(FILE)) in a "
        "PassContext with the instrument tvm.ir.instrument.PassTimingInstrument(), and its "
        "render() there",
        arity=NO_VALUE,
    ),
    *_PRINTED,
)
