"""Dot products of tiles against plain loops."""

from __future__ import annotations

from collections.abc import Sequence

FILES = ["tensor_intrin/dot.c"]

_TILES = [(1, 1), (1, 2), (1, 4), (1, 6), (2, 1), (2, 2), (4, 1)]

_COMPARISON = """
typedef void dot(const int8_t*, int32_t, const int8_t*, int32_t, int32_t, int32_t, int32_t*);
static void check_dot(dot* function, const int32_t pixels, const int32_t channels, const int32_t xd,
                      const int32_t wd, const int32_t n, const char* name) {
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t x_size = (pixels - 1) * xd + n, w_size = (channels - 1) * wd + n;
    int8_t* const x = buffer(0, x_size, kind & 3);
    int8_t* const w = buffer(1, w_size, kind >> 2);
    int32_t expected[6], actual[6];
    fill(x, x_size, kind & 3);
    fill(w, w_size, kind >> 2);
    for (int32_t i = 0; i < pixels * channels; ++i) {
      actual[i] = expected[i] = (int32_t)random_word() >> 4;
      const int32_t p = i / channels, c = i % channels;
      for (int32_t k = 0; k < n; ++k) {
        expected[i] += (x[p * xd + k] + offsets[kind & 3]) * w[c * wd + k];
      }
    }
    function(x, xd, w, wd, n, offsets[kind & 3], actual);
    for (int32_t i = 0; i < pixels * channels; ++i) {
      if (actual[i] != expected[i]) failure = name;
    }
  }
}
"""

_CASE = """
static void dot_%(name)s(const int8_t* x, int32_t x_distance, const int8_t* w, int32_t w_distance,
                         int32_t n, int32_t offset, int32_t* sums) {
  (void)x_distance, (void)w_distance, (void)n;
  tvmgen_dot_%(p)sx%(c)s(x, %(xd)s, w, %(wd)s, %(n)s, offset, sums);
}
"""
"""Of its own, so that no compiler knows more than what is known here."""

_KNOWN = """
static __attribute__((noinline)) void dot_known_%(p)sx%(c)s(void) {
  /* What sums begin with is what is added to the data: they may not share a register. */
  int8_t* const x = buffer(0, 100, 0);
  int8_t* const w = buffer(1, 100, 0);
  int32_t expected[%(sums)s] = {0}, actual[%(sums)s] = {0};
  fill(x, 100, 3);
  fill(w, 100, 3);
  for (int32_t i = 0; i < %(sums)s; ++i) {
    for (int32_t k = 0; k < 4; ++k) {
      expected[i] += x[i / %(c)s * 16 + k] * w[i %% %(c)s * 16 + k];
    }
  }
  tvmgen_dot_%(p)sx%(c)s(x, 16, w, 16, 4, 0, actual);
  for (int32_t i = 0; i < %(sums)s; ++i) {
    if (actual[i] != expected[i]) failure = "dot_known_%(p)sx%(c)s";
  }
}
"""

_SIZES = (*range(25), 40, 64, 100)
_FEW_SIZES = (0, 3, 22, 40)
_DISTANCES = [
    ("x_distance", "w_distance", _SIZES),
    ("64", "40", _SIZES),
    ("x_distance", "x_distance", _SIZES),
    ("4200", "27", _FEW_SIZES),
    ("9", "4200", _FEW_SIZES),
]
"""Of pixels and channels, constants and not: those that a load has room for, and larger ones."""


def _check(
    distances: Sequence[tuple[str, str, Sequence[int]]], sizes: Sequence[int], known: str
) -> str:
    """C of a function `test_dot` of all tiles.

    Parameters
    ----------
    distances
        of pixels and of channels, and numbers of elements that no compiler knows.
    sizes
        numbers of elements that a compiler knows.
    known
        a function that is not given anything.
    """
    functions = [_COMPARISON]
    calls = []
    actual = {"x_distance": 50, "w_distance": 41}
    for p, c in _TILES:
        variants = [(xd, wd, "n", numbers) for xd, wd, numbers in distances]
        variants += [("64", "64", str(n), (n,)) for n in sizes]
        for number, (xd, wd, n, numbers) in enumerate(variants):
            name = f"{p}x{c}_{number}"
            functions.append(_CASE % {"p": p, "c": c, "xd": xd, "wd": wd, "n": n, "name": name})
            tile = f"{p}, {c}, {actual.get(xd, xd)}, {actual.get(wd, wd)}"
            calls += [f'  check_dot(dot_{name}, {tile}, {size}, "dot_{name}");' for size in numbers]
        if known:
            functions.append(known % {"p": p, "c": c, "sums": p * c})
            calls.append(f"  dot_known_{p}x{c}();")
    return "\n".join([*functions, "static void test_dot(void) {", *calls, "}"])


CHECK = _check(_DISTANCES, (9, 64), _KNOWN)
CHECK_OF_C = _check(_DISTANCES[:1], (9,), "")
"""For cores whose bodies have no instructions in them that depend on which distances are known."""
