"""The classes of `tvmc` for Python: a model, a package, and a result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from usmp.driver.errors import UsageError, file_error
from usmp.driver.output import written
from usmp.driver.run.output_names import Outputs
from usmp.driver.tvm018.arguments import no_attribute
from usmp.tvm018 import TVMC_NAMES, find
from usmp.tvm018.tvmc_python import PACKAGE_PARAMS

if TYPE_CHECKING:
    import numpy as np
    from tvm.ir import IRModule
    from tvm.runtime.module import BenchmarkResult


_READ = """
import sys
from usmp.driver.without_torch import without_torch
with without_torch():
    import usmp.objects
    from tvm.ir import load_json
str(load_json(sys.stdin.buffer.read().decode()))
"""
"""A Python program that reads a model and visits all of its nodes."""

_SAVE = """
from tvm.ir import save_json
from tvm.tirx import IntImm
save_json(IntImm("int32", 0))
"""
"""A Python program that crashes if TVM cannot save models, as with apache-tvm-ffi 0.1.15."""

_SAVES = ((0, 1, 14), "0.1.14.post1")
"""The last version of apache-tvm-ffi that is known to save models, and its name."""


class TVMCModel:
    """A model in TVM's form: a Relax module and the values of its parameters.

    Parameters
    ----------
    mod
        a module with a Relax `main`, or with several entries.
    params
        values of parameters of `main`, by name.
    model_path
        a file that `save` wrote, instead of `mod` and `params`.
    name
        name of the model among several; `tvmc.load` sets the name of the file.

    Raises
    ------
    UsageError
        neither a module nor a file is given, or both are, or `save` did not write the file.
    """

    def __init__(
        self,
        mod: IRModule | None = None,
        params: Mapping[str, np.ndarray] | None = None,
        model_path: str | Path | None = None,
        name: str | None = None,
    ) -> None:
        if (mod is None) == (model_path is None):
            raise UsageError("TVMCModel takes either mod, with params, or model_path")
        self.params = dict(params or {})
        self.name = name
        self.mod = _load_module(model_path) if model_path is not None else mod

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("'TVMCModel' object", name, "TVMCModel.")

    def load(self, model_path: str | Path) -> None:
        """Replace this model by the model of a file that `save` wrote.

        Raises
        ------
        UsageError
            the file cannot be read, or `save` did not write it.
        """
        self.mod, self.params = _load_module(model_path), {}

    def save(self, model_path: str | Path) -> None:
        """Write the model to a file, with its parameters as constants.

        Raises
        ------
        UsageError
            the file cannot be written, or TVM cannot save with this version of apache-tvm-ffi.
        """
        _check_saves()
        from tvm.ir import save_json

        from usmp.codegen.write_file import write_file
        from usmp.relax.bind_params import bind_params

        mod = bind_params(self.mod, self.params) if self.params else self.mod
        with written(str(model_path)):
            write_file(model_path, save_json(mod).encode())

    def summary(self, file: TextIO | None = None) -> None:
        """Print the Relax module, to stdout or to `file`."""
        print(self.mod, file=file or sys.stdout)


class TVMCPackage:
    """A compiled model: a Model Library Format archive.

    Parameters
    ----------
    package_path
        the archive.
    project_dir
        None, because there are no projects of microTVM.
    folder
        temporary folder of the archive, which is deleted with the package.

    Raises
    ------
    ArchiveError
        the file is missing, damaged, or no Model Library Format archive.
    UsageError
        a project is given.
    """

    type = "mlf"
    executor_type = "aot"
    # Attributes of TVM 0.18 for other formats and executors, and for projects.
    lib_name = lib_path = graph = project_dir = None

    def __init__(
        self,
        package_path: str | Path,
        project_dir: None = None,
        *,
        folder: TemporaryDirectory[str] | None = None,
    ) -> None:
        from usmp.runtime import load_archive

        if project_dir is not None:
            row = find(TVMC_NAMES, "TVMCPackage.project_dir")
            raise UsageError(f"TVMCPackage: project_dir={project_dir}: {row.reason if row else ''}")
        self.package_path = str(package_path)
        self.archive = load_archive(package_path)
        self._folder = folder

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("'TVMCPackage' object", name, "TVMCPackage.")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, without the folder, which this object owns."""
        return {**vars(self), "_folder": None}

    @property
    def params(self) -> None:
        """None, because constants are part of the C."""
        PACKAGE_PARAMS.tell()

    @property
    def metadata(self) -> dict[str, Any]:
        """The content of the archive's metadata.json."""
        return self.archive.metadata


class TVMCResult:
    """The outputs and the times of a run.

    Parameters
    ----------
    outputs
        an array for each output of the model, by name; `output_0`, ... are aliases.
    times
        time of each measured run in seconds, or TVM's benchmark result.
    """

    def __init__(
        self, outputs: Mapping[str, np.ndarray], times: Sequence[float] | BenchmarkResult
    ) -> None:
        from tvm.runtime.module import BenchmarkResult

        self.outputs = outputs if isinstance(outputs, Outputs) else Outputs(outputs)
        self.times = times if isinstance(times, BenchmarkResult) else BenchmarkResult(times)

    def format_times(self) -> str:
        """Return mean, median, maximum, minimum and standard deviation of the times, as a table."""
        return str(self.times)

    def get_output(self, name: str) -> np.ndarray:
        """Return the output of a name or alias; raise `KeyError` if there is none."""
        return self.outputs[name]

    def save(self, output_path: str | Path) -> None:
        """Write the outputs to an .npz file, by their names and their aliases `output_0`, ...

        Raises
        ------
        UsageError
            the file cannot be written.
        """
        from usmp.driver.run.tensors import save_tensors

        save_tensors(str(output_path), self.outputs.under_all_names())

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"


def _ends_the_process(text: str) -> bool:
    """Return whether TVM's reader crashes on a text (as on cyclic nodes), in another process."""
    if not sys.executable:
        return False
    return _is_ended(_READ, text)


def _is_ended(program: str, text: str = "") -> bool:
    """Return whether a signal ends a Python program that reads a text from stdin."""
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    return process.returncode < 0


def _check_saves() -> None:
    """Raise UsageError if TVM's `save_json` would crash the process."""
    from tvm_ffi import __version__, __version_tuple__

    known, name = _SAVES
    if __version_tuple__[:3] > known and _is_ended(_SAVE):
        raise UsageError(
            f"a model cannot be saved with apache-tvm-ffi {__version__}: TVM's save_json, which "
            f"writes it, crashes; install apache-tvm-ffi {name}, or keep the file that the "
            "model was loaded from"
        )


def _load_module(path: str | Path) -> IRModule:
    from tvm.ir import IRModule, load_json

    try:
        text = Path(path).read_text(encoding="utf-8")
        if _ends_the_process(text):
            raise ValueError("nodes refer to themselves, or are none that a model has")
        mod = load_json(text)
    except OSError as error:
        raise file_error(error, path) from error
    except Exception as error:
        raise UsageError(f"{path}: not a model that TVMCModel.save wrote") from error
    if not isinstance(mod, IRModule):
        raise UsageError(f"{path}: not a model that TVMCModel.save wrote")
    return mod
