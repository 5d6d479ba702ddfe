"""The channels that a model needs, and operators without the others.

`usmp.relax.transform.PruneConstantChannels` is the pass. Its parts: value ranges of channels
(`channel_ranges`), relations between channels of operands and results (`channel_operator`, and a
file for each family of operators), and needed channels (`needed`).
"""
