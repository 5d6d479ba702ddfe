"""Random inputs for models that are measured, equal at each call."""

from __future__ import annotations

import numpy as np

import usmp


def random_inputs(factory: usmp.AOTExecutorFactoryModule) -> dict[str, np.ndarray]:
    """Return random inputs: floats of a normal distribution, or integers of the whole range."""
    generator = np.random.default_rng(0)
    inputs = {}
    for tensor in factory.interface.inputs:
        dtype, shape = np.dtype(str(tensor.info.dtype)), list(tensor.info.shape)
        if dtype.kind == "f":
            inputs[str(tensor.info.name)] = generator.standard_normal(shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            values = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
            inputs[str(tensor.info.name)] = values
    return inputs
