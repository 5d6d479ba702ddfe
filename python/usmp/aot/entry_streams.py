"""The streamed inputs and outputs of each of several entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import OUTPUT_NAMES_ATTR
from usmp.objects.tensor_info import default_output_names
from usmp.planning.options import PlanningOptions
from usmp.planning.stream_inputs import HOP, OPTION, OUTPUT_OPTION
from usmp.relax.states import input_params, states_of
from usmp.relax.static_shapes import flatten_types, main_function
from usmp.support.text.known_names import unknown_name

Streams = Mapping[str, Sequence[str]]
"""The options of a PassContext with streamed inputs and outputs, and their values."""


def entry_streams(entries: Mapping[str, IRModule], options: PlanningOptions) -> dict[str, Streams]:
    """Return the streamed inputs and outputs of each entry, by its own names.

    An option names a tensor, or `ENTRY.NAME` if several entries have one of the name.

    Parameters
    ----------
    entries
        entry -> its module, in which the entry is `main`.
    options
        options for all entries.

    Raises
    ------
    ValueError
        no entry has a tensor of the name, or several have one and the option names no entry.
    """
    if not (options.stream_inputs or options.stream_outputs):
        return {entry: {} for entry in entries}
    tensors = {entry: _names(mod) for entry, mod in entries.items()}
    streams: dict[str, dict[str, list[str]]] = {
        entry: {OPTION: [], OUTPUT_OPTION: []} for entry in entries
    }
    sides = ((OPTION, options.stream_inputs), (OUTPUT_OPTION, options.stream_outputs))
    for side, (option, texts) in enumerate(sides):
        names = {entry: both[side] for entry, both in tensors.items()}
        for text in texts:
            name, separator, hop = text.rpartition(HOP) if side == 0 else ("", "", text)
            entry, own = _owner(option, name if separator else text, names)
            streams[entry][option].append(f"{own}{separator}{hop}" if separator else own)
    return dict(streams)


def _owner(option: str, text: str, names: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return the entry and the tensor that an option names."""
    entry, _, own = text.partition(".")
    if own in names.get(entry, ()):
        return entry, own
    owners = [entry for entry, known in names.items() if text in known]
    if len(owners) == 1:
        return owners[0], text
    what = "input" if option == OPTION else "output"
    if owners:
        forms = ", ".join(f"{owner}.{text}" for owner in owners)
        raise ValueError(f'{option}: several entries have an {what} "{text}"; give one of {forms}')
    known = [f"{entry}.{name}" for entry, own in names.items() for name in own]
    problem = f'{option}: no entry has an {what} "{text}"'
    raise ValueError(unknown_name(problem, text, known, f"{what.capitalize()}s"))


def _names(mod: IRModule) -> tuple[list[str], list[str]]:
    """Return the names of the inputs, and of the outputs, of `main`."""
    main = main_function(mod)
    states = states_of(main)
    inputs = [str(param.name) for param in input_params(main)]
    returned = len(flatten_types(main.body.body.ty)) - sum(state.output >= 0 for state in states)
    outputs = OUTPUT_NAMES_ATTR.of(main) or default_output_names(returned, inputs)
    return inputs, [str(name) for name in outputs]
