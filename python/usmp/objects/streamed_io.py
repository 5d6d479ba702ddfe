"""Which inputs and outputs does the application give and take row by row?"""

from __future__ import annotations

from collections.abc import Collection

from tvm import tirx

from usmp.objects.attributes import (
    INPUT_TENSORS_ATTR,
    OUTPUT_TENSORS_ATTR,
    STREAMED_INPUTS_ATTR,
    STREAMED_OUTPUTS_ATTR,
)


def streamed_names(main: tirx.PrimFunc) -> tuple[Collection[str], Collection[str]]:
    """The names of the inputs that are given, and of the outputs that are taken row by row."""
    return STREAMED_INPUTS_ATTR.of(main) or (), STREAMED_OUTPUTS_ATTR.of(main) or ()


def streams_io(main: tirx.PrimFunc) -> bool:
    """Whether there are any."""
    return any(streamed_names(main))


def streamed_parameters(main: tirx.PrimFunc) -> set[int]:
    """The positions of their parameters, which are handles, among those of the main function.

    Parameters
    ----------
    main
        whose inputs and outputs are still parameters.
    """
    inputs, outputs = streamed_names(main)
    given = INPUT_TENSORS_ATTR.of(main) or ()
    taken = OUTPUT_TENSORS_ATTR.of(main) or ()
    found = {index for index, tensor in enumerate(given) if str(tensor.name) in inputs}
    return found | {
        len(given) + index for index, tensor in enumerate(taken) if str(tensor.name) in outputs
    }
