"""What tests share: models, programs, references to compare with."""

from usmp.driver.without_torch import without_torch

# Together with PyTorch it takes seconds more to load, which few tests need.
with without_torch():
    import tvm  # noqa: F401
