"""Removed arguments of tvmc's Python functions, and names of its modules, in TVM 0.18.

Values that mean "no", as None or False, are the defaults: they need no row and no note.
"""

from __future__ import annotations

from dataclasses import replace

from usmp.tvm018 import reasons
from usmp.tvm018.compile_flags import COMPILE_FLAGS
from usmp.tvm018.old_name import OldName, accepted, refused

TIMES_INCLUDE_ALL = "times always include passing inputs and outputs"
_ON_THIS_HOST = (
    "the model runs on this host; tvmc run --board runs it in an emulator, and tvmc run --serial "
    "on your device"
)

_OWN_OPERATORS = (
    "operators are converted by this package; write others in Relax, and compile "
    "TVMCModel(mod, params)"
)
_OTHER_FORMATS = (
    "it is for Keras, TensorFlow and Paddle models, which are not read; convert them to .tflite "
    "or .onnx"
)
_NAMES_OF_THE_FILE = "operators and tensors always have their names in the file"

TVMC_LOAD: tuple[OldName, ...] = (
    accepted("dtype", "inputs have the types that the model gives them", values=("float32",)),
    refused(
        "dtype",
        "inputs have the types that the model gives them; dtype_dict={name: type} checks them",
    ),
    accepted("default_dtype", "tensors have the types of the file", values=("float32",)),
    refused("default_dtype", "tensors have the types of the file; export the model in another"),
    refused("opset", "the opset is the one that the file names; export the model with another"),
    accepted("freeze_params", "the values of parameters are always constants"),
    accepted("keep_quantized_weight", "whether weights stay integers follows from their operators"),
    accepted("use_parser_friendly_name", _NAMES_OF_THE_FILE),
    accepted("preserve_pytorch_scopes", _NAMES_OF_THE_FILE),
    *(
        refused(name, f"{_NAMES_OF_THE_FILE}; tvmc plan --operators lists them")
        for name in ("export_node_renamed_model_path", "export_renamed_c_graph_path")
    ),
    *(
        refused(name, _OWN_OPERATORS)
        for name in ("op_converter", "convert_config", "custom_convert_map")
    ),
    *(refused(name, _OTHER_FORMATS) for name in ("layout", "outputs", "scope")),
)
"""Arguments of `tvmc.load` that it passed on to Relay's frontends."""

_OF_FLAGS = {
    "tuning_records": "--tuning-records",
    "cross": "--cross-compiler",
    "cross_options": "--cross-compiler-options",
    "dump_code": "--dump-code",
    "dump_offloads": "--dump-offloads",
    "use_vm": "--use-vm",
    "output_format": "--output-format",
    "desired_layout": "--desired-layout",
    "desired_layout_ops": "--desired-layout-ops",
    "mixed_precision": "--mixed-precision",
    "mixed_precision_ops": "--mixed-precision-ops",
    "mixed_precision_calculation_type": "--mixed-precision-calculation-type",
    "mixed_precision_acc_type": "--mixed-precision-acc-type",
}
"""Argument of `tvmc.compile` -> the equivalent flag."""

TVMC_COMPILE: tuple[OldName, ...] = tuple(
    replace(row, name=name)
    for name, flag in _OF_FLAGS.items()
    for row in COMPILE_FLAGS
    if row.name == flag and row.values != ("",)
)
"""Arguments of `tvmc.compile`, with the rows of their flags."""

TVMC_RUN: tuple[OldName, ...] = (
    refused(
        "device",
        "compile the model for the board, as with --board mps2-an385, and run it with tvmc run "
        "--board; on your device with tvmc run --serial",
        values=("micro",),
    ),
    refused("device", f"{_ON_THIS_HOST}; the only device is cpu"),
    refused("hostname", _ON_THIS_HOST),
    accepted("port", "there is no RPC server, so that it has no port", values=("9090",)),
    refused("port", f"there is no RPC server; {_ON_THIS_HOST}"),
    refused("rpc_key", _ON_THIS_HOST),
    refused(
        "profile", "compile with tir.usmp.debug=profile, and call usmp.runtime.profile_on_host"
    ),
    accepted("end_to_end", TIMES_INCLUDE_ALL),
    refused("options", reasons.NO_PROJECTS),
)
"""Arguments of `tvmc.run`."""

_PACKAGE = "tvmc.compile(model, package_path=...) writes the archive, and TVMCPackage reads it"
_MODULES = {
    "arguments": "the command line is a function, tvmc.main",
    "autotuner": reasons.TUNING,
    "common": "TVMCException and TVMCImportError are names of tvmc itself",
    "compiler": "compile_model is tvmc.compile",
    "composite_target": "accelerators are patterns of tvm.relax.backend.pattern_registry",
    "config_options": "options are written out, in the command line or in Python",
    "extensions": "tvmc compile --extension runs a file of yours first",
    "fmtopt": "tvmc.main prints what the command line has",
    "frontends": "load_model is tvmc.load",
    "micro": reasons.NO_PROJECTS,
    "model": "TVMCModel, TVMCPackage and TVMCResult are names of tvmc itself",
    "pass_config": "tvmc.compile takes pass_context_configs=[...]",
    "pass_list": "tvmc.compile takes disabled_pass=[...]",
    "project": reasons.NO_PROJECTS,
    "registry": "usmp.Executor and usmp.Runtime check their options",
    "result_utils": "tvmc run --print-top N prints the largest values",
    "runner": "run_module is tvmc.run",
    "shape_parser": "tvmc.load takes shape_dict={name: shape}",
    "target": "tvmc.compile takes targets as strings",
    "transform": "operators keep the layout and the types of the model",
    "workspace_pools": "tvmc.compile takes workspace_pools=usmp.WorkspaceMemoryPools([...])",
}

PACKAGE_PARAMS = accepted(
    "TVMCPackage.params", "None: constants are part of the C, and no file has them as well"
)

TVMC_NAMES: tuple[OldName, ...] = (
    refused("tune", reasons.TUNING),
    refused("TVMCModel.export_package", _PACKAGE),
    refused("TVMCModel.export_classic_format", _PACKAGE),
    refused("TVMCModel.export_vm_format", f"{reasons.AOT_ONLY}; {_PACKAGE}"),
    refused(
        "TVMCModel.default_package_path",
        "tvmc.compile without package_path makes a temporary archive, package.package_path",
    ),
    refused("TVMCModel.default_tuning_records_path", reasons.NOT_TUNED),
    refused(
        "TVMCPackage.import_package", "TVMCPackage(package_path) reads an archive when it is made"
    ),
    refused("TVMCPackage.project_dir", reasons.NO_PROJECTS),
    PACKAGE_PARAMS,
    *(refused(name, reason) for name, reason in _MODULES.items()),
)
"""Names of `tvm.driver.tvmc` and of its classes."""
