"""Which channels of a model's tensors are needed, and the operators without the others.

`usmp.relax.transform.PruneConstantChannels` is the pass; here each file has one part of it: what a
channel can hold (`channel_ranges`), what each operator says of channels (`channel_operator`, and a
file for each family of operators), which channels are needed (`needed`).
"""
