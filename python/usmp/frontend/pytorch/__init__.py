"""Import of programs and files of `torch.export`."""
