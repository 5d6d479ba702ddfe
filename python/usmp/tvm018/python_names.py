"""Python names of TVM 0.18: `relay.build`, its results, `tvm.micro` and others."""

from __future__ import annotations

from collections.abc import Iterable

from usmp.tvm018 import reasons
from usmp.tvm018.old_name import OldName, accepted, mapped, refused

BY_POSITION = refused(
    "arguments by position",
    "the order of arguments is not that of tvm.relay.build; write those after target by name, as "
    'executor=usmp.Executor("aot")',
)
SAME_TARGET_HOST = accepted("target_host", reasons.MAIN_ON_TARGET, values=("equal to target",))
OTHER_TARGET_HOST = refused(
    "target_host", f"{reasons.MAIN_ON_TARGET}, and nothing on another host; leave it out"
)
UNPACKED = refused(
    "graph, lib, params = usmp.build(...)",
    "there is no graph, and constants are part of the C; write factory = usmp.build(...), of which "
    "factory.source is the C and factory.run(inputs) runs it",
)

OLD_OUTPUT_NAMES_ATTR = "output_tensor_names"
OUTPUT_TENSOR_NAMES = mapped(
    f"attribute {OLD_OUTPUT_NAMES_ATTR} of main",
    "output_names",
    "the attribute of a Relax function is called output_names",
)

BUILD: tuple[OldName, ...] = (
    BY_POSITION,
    SAME_TARGET_HOST,
    OTHER_TARGET_HOST,
    UNPACKED,
    OUTPUT_TENSOR_NAMES,
)
"""Arguments and results of `usmp.build`."""

_LIB = (
    "there is no module of TVM's runtime; factory.source and factory.header are the C, "
    "factory.files() is the archive, and factory.run(inputs) runs it on this host"
)
_METADATA = (
    "factory.metadata has sizes by operator, factory.memory_plan the places of buffers, and "
    "factory.interface the names in C"
)

FACTORY: tuple[OldName, ...] = (
    *(refused(name, _LIB) for name in ("lib", "get_lib", "module")),
    refused(
        "export_library",
        "factory.export_model_library_format writes an archive of C, which the build system of the "
        "application compiles (docs/integrate.md)",
    ),
    refused("function_metadata", _METADATA),
    refused("executor_codegen_metadata", _METADATA),
    *(
        refused(name, "there is no graph: main is a C function, and constants are part of the C")
        for name in ("graph_json", "get_graph_json", "iter_cnt")
    ),
    refused("lowered_ir_mods", "there is one module for all targets: factory.ir_mod"),
)
"""Attributes of the result of `usmp.build`."""


def _all_mapped(prefix: str, names: Iterable[str], reason: str) -> tuple[OldName, ...]:
    """Return the rows of names that `usmp` also has."""
    return tuple(mapped(f"{prefix}.{name}", f"usmp.{name}", reason) for name in names)


def _written_so(name: str, to: str, reason: str) -> OldName:
    """Return the row of a name that an expression replaces."""
    return mapped(name, to, f"{reason}: {to}")


_SAME_KEYS = "metadata.json has the sizes under the same keys"

_IMPORTED = (
    "usmp.import_model reads .tflite, .onnx and .pt2 files (torch.export); it returns the module "
    "alone, whose parameters are constants, and shape_dict is its input_shapes"
)

RELAY: tuple[OldName, ...] = (
    refused(
        "tvm.relay",
        "TVM has no Relay any more, and models are Relax modules; usmp.import_model reads .tflite, "
        ".onnx and .pt2 files, and usmp.build compiles them",
    ),
    mapped("tvm.relay.build", "usmp.build", "usmp.build compiles a Relax module or a model file"),
    mapped("tvm.relay.backend", "usmp", "its Executor and Runtime are names of usmp itself"),
    *_all_mapped("tvm.relay.backend", ("Executor", "Runtime"), "usmp has it under the same name"),
    *_all_mapped(
        "tvm.relay.backend.executor_factory",
        ("AOTExecutorFactoryModule",),
        "usmp has it under the same name",
    ),
    *(
        mapped(f"tvm.relay.frontend.from_{name}", "usmp.import_model", _IMPORTED)
        for name in ("tflite", "onnx", "pytorch")
    ),
    *(
        refused(
            f"tvm.relay.frontend.from_{name}",
            f"{_IMPORTED}; TensorFlow's converter makes a .tflite file of the model",
        )
        for name in ("keras", "tensorflow")
    ),
    refused(
        "tvm.relay.op.contrib.cmsisnn.partition_for_cmsisnn",
        f'nothing is partitioned: {reasons.OWN_KERNELS}, of target "c -mcpu=cortex-m55" or '
        "another core (tvmc list cores); leave the call out",
    ),
    refused(
        "tvm.relay.op.contrib.ethosu.partition_for_ethosu",
        f"{reasons.ON_ACCELERATORS}; leave the call out to run all operators on the CPU",
    ),
    refused("tvm.target.target.micro(model)", reasons.TARGET_TEXT),
)
"""Names of `tvm.relay` and `tvm.target`."""

_ON_DEVICE = (
    "no Python object stands for a device; tvmc export-test writes C for it, and tvmc run "
    "ARCHIVE --serial=PORT runs the model there (docs/on-your-device.md)"
)
_NO_CONFIGURATION = f"{reasons.NO_RUNTIME} and no configuration of one"

_MICRO_NAMES = {
    "GeneratedProject": reasons.NO_PROJECTS,
    "TemplateProject": reasons.NO_PROJECTS,
    "generate_project": reasons.NO_PROJECTS,
    "generate_project_from_mlf": reasons.NO_PROJECTS,
    "Session": _ON_DEVICE,
    "TransportLogger": _ON_DEVICE,
    "compile_and_create_micro_session": _ON_DEVICE,
    "create_local_aot_executor": _ON_DEVICE,
    "create_local_debug_executor": _ON_DEVICE,
    "create_local_graph_executor": _ON_DEVICE,
    "copy_crt_config_header": _NO_CONFIGURATION,
    "get_microtvm_template_projects": reasons.NO_PROJECTS,
    "get_standalone_crt_dir": _NO_CONFIGURATION,
    "AutoTvmModuleLoader": reasons.TUNING,
    "autotvm_build_func": reasons.TUNING,
}

MICRO_PACKAGE: tuple[OldName, ...] = (
    refused(
        "tvm.micro",
        f"usmp.export_model_library_format writes the archive; {reasons.NO_PROJECTS}",
    ),
    *_all_mapped(
        "tvm.micro",
        ("export_model_library_format", "UnsupportedInModelLibraryFormatError"),
        "usmp has it under the same name",
    ),
    *(refused(f"tvm.micro.{name}", reason) for name, reason in _MICRO_NAMES.items()),
    _written_so(
        "tvm.micro.model_library_format._build_function_memory_map",
        'factory.metadata["modules"][factory.module_name]["memory"]["functions"]',
        _SAME_KEYS,
    ),
)
"""Names of `tvm.micro`."""

_AOT_MODEL = "usmp.build compiles a module with inputs and outputs that have names"
_AOT_RUN = (
    "factory.run(inputs) runs the C on this host and gives the outputs, tvmc run --board in an "
    "emulator, and tvmc export-test writes a test for a device"
)

TESTING: tuple[OldName, ...] = (
    _written_so(
        "tvm.testing.usmp.is_tvm_backendallocworkspace_calls",
        'any("TVMBackendAllocWorkspace" in text for text in factory.sources)',
        "the C has no such calls, unless tir.usmp.dynamic asks for them",
    ),
    *(
        mapped(f"tvm.testing.aot.{name}", "usmp.build", _AOT_MODEL)
        for name in ("AOTTestModel", "AOTTestRunner", "compile_models")
    ),
    *(
        mapped(f"tvm.testing.aot.{name}", "factory.run(inputs)", _AOT_RUN)
        for name in ("compile_and_run", "run_and_check")
    ),
    _written_so(
        "tvm.testing.aot.generate_ref_data",
        "usmp.build(mod, reference=True).load_reference().run(inputs)",
        "a reference build computes what is to be compared, without kernels and streaming",
    ),
    _written_so(
        "tvm.micro.testing.utils.mlf_extract_workspace_size_bytes",
        'sum(module["memory"]["functions"]["main"][0]["workspace_size_bytes"] '
        'for module in usmp.load_archive(path).metadata["modules"].values())',
        _SAME_KEYS,
    ),
    refused(
        "tvm.micro.testing.utils.create_header_file",
        "tvmc export-test writes a program with the inputs and the outputs to expect as C arrays "
        "(docs/on-your-device.md)",
    ),
    *(
        refused(f"tvm.micro.testing.{name}", _ON_DEVICE)
        for name in ("create_aot_session", "predict_labels_aot")
    ),
    refused("tvm.micro.testing.get_target", reasons.TARGET_TEXT),
)
"""Names of `tvm.testing` and `tvm.micro.testing`."""

PYTHON_SECTIONS: dict[str, tuple[OldName, ...]] = {
    "usmp.build": BUILD,
    "usmp.AOTExecutorFactoryModule": FACTORY,
    "tvm.relay": RELAY,
    "tvm.micro": MICRO_PACKAGE,
    "tvm.testing": TESTING,
}
"""Place where users write the names -> rows."""


def row_of_attribute(name: str) -> OldName | None:
    """Return the row of `RELAY`, `MICRO_PACKAGE` or `TESTING` for `name` in any module, or None."""
    for row in (*RELAY, *MICRO_PACKAGE, *TESTING):
        if row.name.rpartition(".")[2] == name:
            return row
    return None
