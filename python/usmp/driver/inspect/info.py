"""`tvmc info`: describe a model file or an archive without compiling it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usmp.driver.build.plan_archive import ARCHIVE, archived_state_layout
from usmp.driver.options.import_options import add_import_options, import_arguments
from usmp.driver.output import check_readable
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import add_quiet_option, stages

if TYPE_CHECKING:
    from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor
    from usmp.runtime.archived.module import ArchivedModule

_EXAMPLES = """\
  tvmc info model.tflite
      inputs and outputs with their shapes, types, scales and zero points; states; operators
  tvmc info model.tar
      the same of an archive, with its memory pools
  tvmc info model.onnx --max seq=128
      the sizes that the shapes of the inputs leave open, with their bounds
  tvmc info model.onnx --format json"""


def add_info_parser(commands: Any) -> None:
    """Add `tvmc info` and its options."""
    parser = add_command(
        commands,
        "info",
        show_info,
        summary="show what a model or an archive has",
        description="Show the inputs, outputs and states of each entry, and the operators of a "
        "model or the pools of an archive; nothing is compiled.",
        examples=_EXAMPLES,
    )
    parser.add_argument("FILE", help="a .tflite, .onnx or .pt2 file, or an archive (.tar)")
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to show it"
    )
    add_import_options(parser)
    add_quiet_option(parser)


def show_info(options: argparse.Namespace) -> None:
    """Carry out `tvmc info`."""
    check_readable(options.FILE)
    with stages(options) as stage:
        stage(f"reading {options.FILE}")
        description = _description(options)
    from usmp.report.model_description import description_json, print_description

    if options.format == "json":
        print(description_json(description), end="")
    else:
        print_description(description)


def _description(options: argparse.Namespace) -> dict[str, Any]:
    if Path(options.FILE).suffix.lower() == ARCHIVE:
        from usmp.runtime import load_archive

        modules = load_archive(options.FILE).modules.values()
        return {
            "file": options.FILE,
            "format": "Model Library Format archive",
            "modules": [_module(module) for module in modules],
        }
    from usmp.frontend.describe_model import describe_model

    model = asdict(describe_model(options.FILE, **import_arguments(options)), dict_factory=_members)
    unneeded = {"inputs", "outputs", "states"} if model["entries"] else {"entries"}
    if not model["sizes"]:
        unneeded.add("sizes")
    return {
        "file": options.FILE,
        **{name: value for name, value in model.items() if name not in unneeded},
    }


def _members(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict of these members, without `updated` if it is False, as for most tensors."""
    return {name: value for name, value in members if (name, value) != ("updated", False)}


def _module(module: ArchivedModule) -> dict[str, Any]:
    return {
        "name": module.name,
        "c_prefix": module.c_prefix,
        **_tensors_of(module),
        "pools": [
            {
                "name": pool.name,
                "kind": "constant" if pool.is_constant else "workspace",
                "bytes": pool.size_bytes,
            }
            for pool in module.pools
        ],
        "state_size_bytes": module.state_size_bytes,
    }


def _tensors_of(module: ArchivedModule) -> dict[str, Any]:
    """Return inputs, outputs and states: as keys for a single entry, as a list for several."""
    entries = [
        {
            "entry": entry.name,
            "inputs": [_tensor(tensor) for tensor in entry.inputs.values()],
            "outputs": [_tensor(tensor) for tensor in entry.outputs.values()],
            **_sizes_of(entry),
            "states": states,
        }
        for entry, states in zip(module.entries.values(), _states(module), strict=True)
    ]
    if len(entries) > 1:
        return {"entries": entries}
    return {name: tensors for name, tensors in entries[0].items() if name != "entry"}


def _sizes_of(entry: ArchivedEntry) -> dict[str, Any]:
    """Return the symbolic sizes that a run takes, if there are any."""
    sizes = [
        {
            "name": size.name,
            "lower_bound": size.lower_bound,
            "upper_bound": size.upper_bound,
            "taken_as": None,
        }
        for size in entry.sizes.values()
    ]
    return {"sizes": sizes} if sizes else {}


def _states(module: ArchivedModule) -> list[list[dict[str, Any]]]:
    """Return the states that each entry uses, and whether the entry changes them."""
    mains = module.metadata["memory"]["functions"]["main"]
    if len(mains) > 1:
        return [
            [
                {"name": name, "bytes": state["size"], "changed": state["changed"]}
                for name, state in main["states"].items()
            ]
            for main in mains
        ]
    # A single entry changes all states, because a state that nothing changes is a constant.
    layout = archived_state_layout(module)
    states = layout.states if layout else ()
    return [[{"name": s.name, "bytes": s.size_bytes, "changed": True} for s in states]]


def _tensor(tensor: ArchivedTensor) -> dict[str, Any]:
    info = tensor.info
    return {
        "name": info.name,
        "dtype": info.dtype,
        "shape": info.shape,
        **({"symbolic_shape": list(tensor.symbolic_shape)} if tensor.symbolic_shape else {}),
        "scale": info.scale,
        "zero_point": info.zero_point,
        **({"updated": True} if tensor.is_updated else {}),
    }
