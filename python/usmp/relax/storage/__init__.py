"""Storage planning for Relax functions: offsets of tensors in shared storages."""
