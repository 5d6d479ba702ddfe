"""Arguments of tvmc's Python functions in TVM 0.18, and names of its modules, that are no more.

A value that means "no", as None or False, is what happens anyway: it needs no row, and no note.
"""

from __future__ import annotations

from usmp.tvm018.old_name import OldName, accepted, refused

TIMES_INCLUDE_ALL = "times always include passing inputs and outputs"
NOTHING_IS_TUNED = (
    "kernels are written for each core, and nothing is tuned; tvmc compile --usmp-time-budget "
    "searches longer for memory, --pass-config tir.usmp.optimize=speed takes faster kernels, and "
    "tvmc explore compares builds"
)
NO_PROJECTS = (
    "there are no projects of microTVM; tvmc compile --board makes a program for a board, and "
    "tvmc run --board runs it"
)
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
"""Arguments of `tvmc.load`: those of Relay's frontends, which it passed on."""

_NO_CROSS = "the archive holds C for your own toolchain"
LAYOUT_IS_CHOSEN = (
    "operators keep the layout of the model, unless another one takes less memory, which a build "
    "finds out itself"
)
_SAME_TYPES = "operators keep the types of the model; quantize it where it is exported"

TVMC_COMPILE: tuple[OldName, ...] = (
    refused("tuning_records", "nothing is tuned, so there are no records"),
    refused("cross", _NO_CROSS),
    refused("cross_options", _NO_CROSS),
    refused("target_host", "the main function runs on the target"),
    refused("dump_code", "the archive holds the C, and the planned TIR in src/"),
    refused("dump_offloads", "tvmc plan --operators shows what each operator becomes"),
    refused("use_vm", "aot is the only executor"),
    *(refused(name, LAYOUT_IS_CHOSEN) for name in ("desired_layout", "desired_layout_ops")),
    *(
        refused(f"mixed_precision{part}", _SAME_TYPES)
        for part in ("", "_ops", "_calculation_type", "_acc_type")
    ),
)
"""Arguments of `tvmc.compile`."""

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
    refused("profile", "compile with tir.usmp.profile, and call usmp.runtime.profile_on_host"),
    accepted("end_to_end", TIMES_INCLUDE_ALL),
    refused("options", NO_PROJECTS),
)
"""Arguments of `tvmc.run`."""

_PACKAGE = "tvmc.compile(model, package_path=...) writes the archive, and TVMCPackage reads it"
_MODULES = {
    "arguments": "the command line is a function, tvmc.main",
    "autotuner": "nothing is tuned",
    "common": "TVMCException and TVMCImportError are names of tvmc itself",
    "compiler": "compile_model is tvmc.compile",
    "composite_target": "accelerators are patterns of tvm.relax.backend.pattern_registry",
    "config_options": "options are written out, in the command line or in Python",
    "extensions": "tvmc compile --extension runs a file of yours first",
    "fmtopt": "tvmc.main prints what the command line has",
    "frontends": "load_model is tvmc.load",
    "micro": "tvmc compile --board makes a program for a board, and tvmc run --board runs it",
    "model": "TVMCModel, TVMCPackage and TVMCResult are names of tvmc itself",
    "pass_config": "tvmc.compile takes pass_context_configs=[...]",
    "pass_list": "tvmc.compile takes disabled_pass=[...]",
    "project": "tvmc compile --board makes a program for a board",
    "registry": "usmp.Executor and usmp.Runtime check their options",
    "result_utils": "tvmc run --print-top N prints the largest values",
    "runner": "run_module is tvmc.run",
    "shape_parser": "tvmc.load takes shape_dict={name: shape}",
    "target": "tvmc.compile takes targets as strings",
    "transform": "operators keep the layout and the types of the model",
    "workspace_pools": "tvmc.compile takes workspace_pools=usmp.WorkspaceMemoryPools([...])",
}

TVMC_NAMES: tuple[OldName, ...] = (
    refused("tune", NOTHING_IS_TUNED),
    refused("TVMCModel.export_package", _PACKAGE),
    refused("TVMCModel.export_classic_format", _PACKAGE),
    refused("TVMCModel.export_vm_format", f"there is no virtual machine; {_PACKAGE}"),
    refused(
        "TVMCModel.default_package_path",
        "tvmc.compile without package_path makes a temporary archive, package.package_path",
    ),
    refused("TVMCModel.default_tuning_records_path", "nothing is tuned, so there are no records"),
    refused(
        "TVMCPackage.import_package", "TVMCPackage(package_path) reads an archive when it is made"
    ),
    refused("TVMCPackage.project_dir", NO_PROJECTS),
    *(refused(name, reason) for name, reason in _MODULES.items()),
)
"""Names of `tvm.driver.tvmc` and of its classes."""
