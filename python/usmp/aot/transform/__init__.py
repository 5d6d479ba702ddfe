"""Passes from Relax to AoT TIR: schedules, main function, states."""

from usmp.aot.transform.attach_io_quantization import AttachIOQuantization
from usmp.aot.transform.check_accelerators import CheckAccelerators
from usmp.aot.transform.convert_windows_to_states import ConvertWindowsToStates
from usmp.aot.transform.lower_control_flow import LowerControlFlow
from usmp.aot.transform.lower_entries import LowerEntries
from usmp.aot.transform.lower_main import LowerMain
from usmp.aot.transform.lower_operators import LowerOperators
from usmp.aot.transform.pass_buffers_as_pointers import PassBuffersAsPointers
from usmp.aot.transform.schedule_operators import ScheduleOperators
from usmp.aot.transform.select_kernels import SelectKernels
from usmp.aot.transform.take_devices import TakeDevices

__all__ = [
    "AttachIOQuantization",
    "CheckAccelerators",
    "ConvertWindowsToStates",
    "LowerControlFlow",
    "LowerEntries",
    "LowerMain",
    "LowerOperators",
    "PassBuffersAsPointers",
    "ScheduleOperators",
    "SelectKernels",
    "TakeDevices",
]
