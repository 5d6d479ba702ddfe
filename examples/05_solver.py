"""Use the placement solver alone, without TVM and without a model.

Four buffers with live ranges go into a pool of 8 KiB. While "sum" is computed, three buffers of
4 KiB are live; they fit, since "sum" may overwrite one of those that it is computed from.

    python examples/05_solver.py
"""

from usmp_solver import Buffer, Pool, Problem, solve

buffers = [
    Buffer("image", 3072, live=[(0, 2)]),
    Buffer("features", 4096, live=[(1, 4)], alignment=16),
    Buffer("filtered", 4096, live=[(2, 4)], alignment=16),
    # Its first byte may lie at the first byte of "filtered": distance 0.
    Buffer("sum", 4096, live=[(3, 5)], overlaps={"filtered": 0}),
]
solution = solve(Problem.from_buffers(buffers, pools=[Pool("sram", limit=8192)]))
for buffer, offset in zip(buffers, solution.offsets, strict=True):
    print(f"{buffer.name:9} {offset:5}")
print("peak", solution.peaks, "optimal", solution.is_optimal)
