"""Compare the outputs of another machine with those of the reference build, or of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from usmp.driver.errors import UsageError
from usmp.runtime import Archive, BuildError
from usmp.runtime.compare import first_difference
from usmp.runtime.reference import NoReference, load_reference
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import printable, shown

Tensors = Mapping[str, np.ndarray]
Run = tuple[str, Tensors, Mapping[str, int]]
"""The entry, its inputs by name, and its symbolic sizes by name."""


def reference_outputs(
    archive: Archive,
    module_name: str | None,
    runs: Sequence[Run],
    sources: Sequence[str],
) -> list[dict[str, np.ndarray]] | None:
    """Return the outputs of the reference build for each run; if it cannot run, print why and
    return None.

    Parameters
    ----------
    module_name
        name of the model in the archive; optional if there is only one.
    runs
        runs in order, which share the state of the model.
    sources
        C files of the user to compile on this host.

    Raises
    ------
    ArchiveError
        the reference build is damaged.
    """
    try:
        module = load_reference(archive, module_name, sources)
        return [module.run(inputs, entry, sizes) for entry, inputs, sizes in runs]
    except (NoReference, BuildError) as error:
        print(
            f"Nothing independent was compared: {printable(str(error).splitlines()[0])}; give the "
            "outputs to expect with --expected."
        )
        return None


def check_outputs(
    outputs: Tensors, expected: Tensors, machine: str, where: str, advice: str = ""
) -> None:
    """Check that outputs equal the expected ones (floats with tolerances), and print a note.

    Parameters
    ----------
    machine
        name of the machine that computed the outputs, for errors.
    where
        source of the expected outputs.
    advice
        last words of an error.

    Raises
    ------
    UsageError
        the outputs differ.
    """
    _check_names(list(outputs), list(expected))
    for name, value in outputs.items():
        difference = first_difference(value, expected[name])
        if difference is not None:
            raise UsageError(
                f'output "{shown(name)}" on {machine} differs from {where}: {difference}{advice}'
            )
    print(f"The outputs equal {where}.")


def _check_names(outputs: Sequence[str], expected: Sequence[str]) -> None:
    missing = [name for name in outputs if name not in expected]
    unknown = [name for name in expected if name not in outputs]
    if missing:
        problem = f'the expected outputs lack output "{missing[0]}"'
        raise UsageError(unknown_name(problem, missing[0], expected, "They have"))
    if unknown:
        problem = f'the expected outputs have an unknown "{unknown[0]}"'
        raise UsageError(unknown_name(problem, unknown[0], outputs, "The model's outputs"))
