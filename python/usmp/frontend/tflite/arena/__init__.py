"""The arena of TFLite Micro: its tensors, and offline plans for it."""
