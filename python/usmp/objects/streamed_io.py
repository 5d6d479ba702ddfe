"""Streamed inputs and outputs, which the application passes row by row."""

from __future__ import annotations

from collections.abc import Collection

from tvm import tirx

from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    OUTPUT_TENSORS_ATTR,
    STREAMED_INPUTS_ATTR,
    STREAMED_OUTPUTS_ATTR,
)


def streamed_names(main: tirx.PrimFunc) -> tuple[Collection[str], Collection[str]]:
    """Return the names of the streamed inputs, and of the streamed outputs."""
    return STREAMED_INPUTS_ATTR.of(main) or (), STREAMED_OUTPUTS_ATTR.of(main) or ()


def streams_io(main: tirx.PrimFunc) -> bool:
    """Return whether a main function has streamed inputs or outputs."""
    return any(streamed_names(main))


def streamed_parameters(main: tirx.PrimFunc) -> set[int]:
    """Return the indices of the parameters of streamed inputs and outputs, which are handles.

    Parameters
    ----------
    main
        a main function with inputs and outputs as parameters.
    """
    input_names, output_names = streamed_names(main)
    inputs = INPUT_TENSORS_ATTR.of(main) or ()
    outputs = OUTPUT_TENSORS_ATTR.of(main) or ()
    streamed = {index for index, tensor in enumerate(inputs) if str(tensor.name) in input_names}
    return streamed | {
        len(inputs) + index
        for index, tensor in enumerate(outputs)
        if str(tensor.name) in output_names
    }
