"""`tvmc run --serial`: run the model of an archive on a device over a serial line."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np

from usmp.device.digests import code_digest, interface_digest
from usmp.device.serial.port import DeviceError, SerialLine
from usmp.device.serial.session import Session
from usmp.device.testable_module import check_testable
from usmp.driver.run.expected_outputs import Tensors, check_outputs, reference_outputs
from usmp.driver.run.sizes import fill_run, given_sizes
from usmp.runtime import Archive, HostEntry, Profile
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.inputs import checked_run
from usmp.runtime.operator_profile import profile_of
from usmp.runtime.reference import REFERENCE
from usmp.runtime.sizes import at_sizes

_ADVICE = " (the device's program was built from another archive than this one)"


class DeviceRun:
    """A run of an entry on a device, and its outputs, time and profile.

    Parameters
    ----------
    options
        options of the command.
    archive
        archive of the device's model.
    entry
        name of the entry to run.
    given
        arrays of some inputs by name.

    Raises
    ------
    NotTestable
        the model cannot run over a serial line.
    UsageError, ValueError
        the inputs or sizes do not match the entry.
    """

    def __init__(
        self, options: argparse.Namespace, archive: Archive, entry: str, given: Tensors
    ) -> None:
        self._options, self._archive, self._entry = options, archive, entry
        self._module: ArchivedModule = archive.module(options.module_name)
        check_testable(self._module)
        self._number = list(self._module.entries).index(entry)
        main = self._module.metadata["memory"]["functions"]["main"][self._number]
        self._interface = HostEntry.of(main)
        some_sizes = given_sizes(options.size)
        inputs, sizes = fill_run(self._interface, given, options.fill_mode, some_sizes)
        self._inputs, self._sizes = checked_run(
            self._interface.inputs, self._interface.sizes, inputs, sizes
        )
        self.outputs: dict[str, np.ndarray] = {}
        self.seconds = 0.0
        self.cycles: int | None = None
        self.profile: Profile | None = None
        self._has_other_code = False

    def carry_out(self, stage: Callable[[str], None]) -> None:
        """Run the entry on the device.

        Raises
        ------
        DeviceError
            the line or the device fails, or the device has another model.
        """
        path, baud = self._options.serial
        stage(f"waiting for the device at {path}")
        line = SerialLine(path, baud)
        try:
            session = Session(line, self._options.timeout)
            self._check_model(session)
            self._run(session, stage)
        finally:
            line.close()

    def _check_model(self, session: Session) -> None:
        device, code = session.device, self._archive.code(self._module.name)
        if device.interface != interface_digest(self._module):
            raise DeviceError(
                "the device has a model with other entries, inputs, outputs or sizes than "
                f"{self._options.FILE}; build its program with what tvmc export-test writes for it"
            )
        self._has_other_code = device.code != code_digest(code)
        if not self._options.profile:
            return
        if not device.has_cycles:
            raise DeviceError(
                "the device counts no clock cycles; give usmp_serial_port a function `cycles`"
            )
        if device.operators != len(self._module.metadata.get("operators", [])):
            raise DeviceError(
                f"the device counts {device.operators} operators, and {self._options.FILE} has "
                f"{len(self._module.metadata.get('operators', []))}; build its program from it"
            )

    def _run(self, session: Session, stage: Callable[[str], None]) -> None:
        entry = self._module.entries[self._entry]
        rows_of_inputs = {}
        stage("sending the inputs")
        session.reset()
        for index, (name, array) in enumerate(self._inputs.items()):
            content = _little_endian(array).tobytes()
            if entry.inputs[name].is_by_rows:
                rows_of_inputs[index] = content
            else:
                session.write(self._number, index, content)
        rows_of_outputs = {
            index: bytearray(output.info.size_bytes)
            for index, output in enumerate(entry.outputs.values())
            if output.is_by_rows
        }
        stage("running")
        start = time.perf_counter()
        status, cycles = session.run(
            self._number, list(self._sizes.values()), rows_of_inputs, rows_of_outputs
        )
        self.seconds = time.perf_counter() - start
        if status != 0:
            raise DeviceError(f"the model returned {status} on the device")
        self.cycles = cycles if session.device.has_cycles else None
        stage("receiving the outputs")
        infos = at_sizes(self._interface.results, self._sizes)
        for index, (name, info) in enumerate(infos.items()):
            dtype = np.dtype(info["dtype"]).newbyteorder("<")
            size = int(np.prod(info["shape"], dtype=np.int64)) * dtype.itemsize
            if index in rows_of_outputs:
                content = bytes(rows_of_outputs[index])
            else:
                content = session.read(self._number, index, size)
            array = np.frombuffer(content, dtype).reshape(info["shape"])
            self.outputs[name] = array.astype(info["dtype"])
        if self._options.profile:
            costs = [float(count) for count in session.operator_cycles()]
            metadata = self._module.metadata
            self.profile = profile_of(metadata, self._entry, "cycles", costs, 1)

    def report(self, expected: Mapping[str, np.ndarray] | None) -> None:
        """Print the clock cycles of the run, and compare its outputs.

        Parameters
        ----------
        expected
            outputs to compare with; by default those of the reference build.

        Raises
        ------
        UsageError
            the outputs differ.
        """
        if self.cycles is not None:
            print(f"Cycles of a run: {self.cycles}")
        where = "the expected outputs" if expected is not None else REFERENCE
        if expected is None:
            run = (self._entry, self._inputs, self._sizes)
            sources = self._options.extra_source
            computed = reference_outputs(self._archive, self._module.name, [run], sources)
            expected = None if computed is None else computed[0]
        if expected is not None:
            advice = _ADVICE if self._has_other_code else ""
            check_outputs(self.outputs, expected, "the device", where, advice)


def _little_endian(array: np.ndarray) -> np.ndarray:
    """Return an array in little-endian byte order, which the protocol of the serial line uses."""
    return array.astype(array.dtype.newbyteorder("<"))
