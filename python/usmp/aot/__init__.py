"""Relax operators and their main function to AoT TIR: schedules, main function, states."""

from usmp.aot.attach_io_quantization import AttachIOQuantization
from usmp.aot.check_accelerators import CheckAccelerators
from usmp.aot.lower_main import LowerMain
from usmp.aot.lower_operators import LowerOperators
from usmp.aot.pass_buffers_as_pointers import PassBuffersAsPointers
from usmp.aot.schedule_operators import ScheduleOperators
from usmp.aot.take_devices import TakeDevices

__all__ = [
    "AttachIOQuantization",
    "CheckAccelerators",
    "LowerMain",
    "LowerOperators",
    "PassBuffersAsPointers",
    "ScheduleOperators",
    "TakeDevices",
]
