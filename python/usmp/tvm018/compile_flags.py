"""Flags of `tvmc compile` in TVM 0.18 that are removed, or take other values now."""

from __future__ import annotations

from dataclasses import replace

from usmp.names import TARGET_OPTIONS
from usmp.tvm018 import reasons
from usmp.tvm018.executor_runtime import LINK_PARAMS
from usmp.tvm018.model_formats import MODEL_FORMAT
from usmp.tvm018.old_name import (
    COMMA_LIST,
    FALSE,
    NO_VALUE,
    OPTIONAL_TRUTH,
    TRUE,
    VALUES,
    OldName,
    accepted,
    mapped,
    refused,
)
from usmp.tvm018.pass_options import FUSION

_ANY_TRUTH = ("", *TRUE, *FALSE)

_INTERFACES = (
    refused(
        "--executor",
        f"{reasons.AOT_ONLY}, and needs no graph JSON: leave it out",
        values=("graph",),
    ),
    accepted(
        "--executor-graph-link-params",
        "constants are part of the code in any case, and there is no graph executor",
        values=_ANY_TRUTH,
        arity=OPTIONAL_TRUTH,
    ),
    refused(
        "--use-vm",
        f"{reasons.AOT_ONLY}: leave it out; memory of TVM's virtual machine is planned "
        "from Python (docs/tvm-vm.md)",
        arity=NO_VALUE,
    ),
    mapped(
        "--runtime",
        "--runtime=crt",
        "functions are called from C, as with --executor-aot-interface-api=c; TVM 0.18 made packed "
        "ones by default",
        values=("crt",),
        changes_meaning=True,
        beside="!--executor-aot-interface-api*",
    ),
    accepted("--runtime-crt-system-lib", reasons.NO_TABLE, values=_ANY_TRUTH, arity=OPTIONAL_TRUTH),
    accepted(
        "--runtime-cpp-system-lib", "no function is registered", values=FALSE, arity=OPTIONAL_TRUTH
    ),
    refused(
        "--runtime-cpp-system-lib",
        reasons.NO_PACKED_TABLE,
        values=("", *TRUE),
        arity=OPTIONAL_TRUTH,
    ),
)

_FOR_TOOLCHAIN = "the archive holds C, or an object file of target llvm, for your own toolchain"
_NO_LIBRARY = (
    f"{_FOR_TOOLCHAIN}: write mlf; shared libraries are made by TVM itself, as by "
    "tvm.compile(mod).export_library(path)"
)
_NO_CROSS = f"{_FOR_TOOLCHAIN}: leave it out (docs/integrate.md)"

_OUTPUT = (
    *(refused(name, _NO_LIBRARY, values=("so", "tar")) for name in ("-f", "--output-format")),
    *(
        row
        for name in ("--cross-compiler", "--cross-compiler-options")
        for row in (
            accepted(name, "no compiler is called", values=("",)),
            refused(name, _NO_CROSS),
        )
    ),
    accepted("--dump-code", "nothing is asked for", values=("",), arity=COMMA_LIST),
    *(
        accepted(
            "--dump-code",
            f"no file is written beside the archive, which has {what}",
            values=(name,),
            changes_meaning=True,
            arity=COMMA_LIST,
        )
        for name, what in (
            ("tir", "the planned TIR in its folder src"),
            ("c", "the C in its folder codegen/host/src"),
        )
    ),
    refused(
        "--dump-code",
        "there is no Relay: usmp-opt FILE prints the model as it is imported",
        values=("relay",),
        arity=COMMA_LIST,
    ),
    refused(
        "--dump-code",
        "no file is written beside the archive; of target c your compiler writes it, as clang -S "
        "of the files in codegen/host/src, and of target llvm objdump -d of the object file in "
        "codegen/host/lib",
        values=("asm",),
        arity=COMMA_LIST,
    ),
    refused(
        "--dump-code",
        "LLVM's code is not kept; of target c clang -S -emit-llvm makes it of the files in "
        "codegen/host/src, and of target llvm the archive has the planned TIR in its folder src",
        values=("ll",),
        arity=COMMA_LIST,
    ),
    refused("--dump-code", "the formats are tir and c", arity=COMMA_LIST),
    accepted("--dump-offloads", "nothing is asked for", values=("",)),
    refused(
        "--dump-offloads",
        "tvmc plan FILE --operators shows what runs each operator of the model",
    ),
)

_KEPT_LAYOUT = "without a layout it says nothing"
_KEPT_TYPES = "without mixed precision it says nothing"

_MODEL = (
    *MODEL_FORMAT,
    accepted("--tuning-records", reasons.NOT_TUNED, values=("",)),
    refused("--tuning-records", reasons.LEAVE_OUT_TUNING),
    refused(
        "--desired-layout",
        "operators keep the layout of the model, unless another one takes less memory, which a "
        "build finds out itself: leave it out",
        arity=VALUES,
    ),
    accepted("--desired-layout-ops", _KEPT_LAYOUT, arity=VALUES),
    refused(
        "--mixed-precision",
        "operators keep the types of the model: leave it out, and quantize or convert "
        "the model before",
        arity=NO_VALUE,
    ),
    accepted("--mixed-precision-ops", _KEPT_TYPES, arity=VALUES),
    *(accepted(f"--mixed-precision-{what}-type", _KEPT_TYPES) for what in ("calculation", "acc")),
    accepted("--workspace-pools", "the C holds one pool itself", values=("",)),
)

_OPT_LEVELS = tuple(
    row
    for name in ("-O", "--opt-level")
    for row in (
        accepted(name, reasons.ALL_PASSES, values=("1", "2", "3")),
        mapped(
            name,
            f"--disabled-pass={','.join(FUSION)}",
            f"{reasons.NOT_FUSED}; all other passes run",
            values=("0",),
            changes_meaning=True,
        ),
        refused(name, "the level must be 0, 1, 2 or 3: leave it out for 3"),
    )
)

UNSHOWN_FLAGS: tuple[OldName, ...] = (
    accepted("--runtime", f"{reasons.NO_RUNTIME}, so that it need not be given"),
    accepted(
        "--executor-aot-unpacked-api",
        "it follows from --executor-aot-interface-api: 1 with c, 0 with packed",
    ),
    accepted(
        "--executor-aot-link-params", "constants are part of the code in any case", values=TRUE
    ),
    replace(LINK_PARAMS, name="--executor-aot-link-params"),
    *(
        mapped(f"--target-llvm-{name}", f"-{name}={{value}}", "it is the same in --target")
        for name in TARGET_OPTIONS["llvm"]
    ),
)
"""Flags that the command line takes as TVM 0.18 did, and that no help shows."""

COMPILE_FLAGS: tuple[OldName, ...] = (*_MODEL, *_INTERFACES, *_OPT_LEVELS, *_OUTPUT)
