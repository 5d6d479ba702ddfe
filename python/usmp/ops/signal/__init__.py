"""Operators of TFLite Micro's signal library, bit-exact with its kernels: audio to features."""

from usmp.ops.signal.channels import (
    GAIN_TABLE_SIZE,
    Smoothing,
    gain_control,
    logarithm,
    spectral_subtraction,
)
from usmp.ops.signal.filter_bank import FilterBank, filter_bank, square_root
from usmp.ops.signal.real_fft import has_real_fft, irfft, rfft
from usmp.ops.signal.real_fft_2d import complex_part, magnitude, rfft_2d
from usmp.ops.signal.samples import energy, fft_auto_scale, window
from usmp.ops.signal.streams import (
    counted_to,
    extended,
    frames,
    overlap_add,
    part,
    stacked,
)

__all__ = [
    "GAIN_TABLE_SIZE",
    "FilterBank",
    "Smoothing",
    "complex_part",
    "counted_to",
    "energy",
    "extended",
    "fft_auto_scale",
    "filter_bank",
    "frames",
    "gain_control",
    "has_real_fft",
    "irfft",
    "logarithm",
    "magnitude",
    "overlap_add",
    "part",
    "rfft",
    "rfft_2d",
    "spectral_subtraction",
    "square_root",
    "stacked",
    "window",
]
