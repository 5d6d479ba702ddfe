"""Programs that `torch.export` has made, and the files that hold them."""
