"""C for the integer operators of an accelerator, written from what metadata.json says of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

HELPERS = """
#include "{prefix}.h"
static int32_t rescaled(int32_t value, int32_t multiplier, int32_t shift) {{
  const int64_t left = (int64_t)value * ((int64_t)1 << (shift > 0 ? shift : 0));
  const int64_t product = left * multiplier;
  const int64_t nudge = product >= 0 ? (1 << 30) : 1 - (1 << 30);
  const int32_t high = (int32_t)((product + nudge) / ((int64_t)1 << 31));
  const int right = shift < 0 ? -shift : 0;
  const int32_t mask = (int32_t)(((int64_t)1 << right) - 1);
  return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0));
}}
static int32_t clamped(int32_t value, int32_t low, int32_t high) {{
  return value < low ? low : value > high ? high : value;
}}
"""

PRODUCT = """
  for (int row = 0; row < {rows}; ++row)
    for (int o = 0; o < {outputs}; ++o) {{
      int32_t sum = bias[o];
      for (int k = 0; k < {depth}; ++k)
        sum += (input[row * {depth} + k] - ({input_zero_point}))
               * (weight[o * {depth} + k] - ({weight_zero_point}));
      sum = rescaled(sum, multiplier[o], shift[o]) + ({output_zero_point});
      output[row * {outputs} + o] = clamped(sum, {clamp[0]}, {clamp[1]});
    }}
"""

CONVOLUTION = """
  for (int y = 0; y < {oh}; ++y)
    for (int x = 0; x < {ow}; ++x)
      for (int o = 0; o < {outputs}; ++o) {{
        int32_t sum = bias[o];
        for (int ky = 0; ky < {kh}; ++ky)
          for (int kx = 0; kx < {kw}; ++kx) {{
            const int row = y * {strides[0]} + ky * {dilations[0]} - {padding[0]};
            const int column = x * {strides[1]} + kx * {dilations[1]} - {padding[1]};
            if (row < 0 || row >= {ih} || column < 0 || column >= {iw}) continue;
            for (int i = 0; i < {depth}; ++i)
              sum += (input[(row * {iw} + column) * {channels} + {channel}]
                      - ({input_zero_point})) * (weight[{tap}] - ({weight_zero_point}));
          }}
        sum = rescaled(sum, multiplier[o], shift[o]) + ({output_zero_point});
        output[(y * {ow} + x) * {outputs} + o] = clamped(sum, {clamp[0]}, {clamp[1]});
      }}
"""


def c_of(module: Mapping[str, Any], prefix: str) -> str:
    """The functions of all accelerators of a module; images are NHWC, of batch 1."""
    functions = [_function(function) for function in module["accelerator_functions"]]
    return HELPERS.format(prefix=prefix) + "".join(functions)


def _function(function: Mapping[str, Any]) -> str:
    (operator,) = function["operators"]
    attributes = operator["attributes"]
    assert attributes["rounding"] == "twice"
    shapes = {p["name"]: p["shape"] for p in function["parameters"]}
    declared = [
        f"{'' if p['role'] == 'output' else 'const '}{p['dtype']}_t* {p['name']}"
        for p in function["parameters"]
    ]
    weight = shapes["weight"]
    if operator["name"] == "fully_connected":
        outputs, depth = weight
        body = PRODUCT.format(
            rows=prod(shapes["input"]) // depth, outputs=outputs, depth=depth, **attributes
        )
    else:
        assert attributes["layout"] == "NHWC" and shapes["input"][0] == 1
        _, ih, iw, channels = shapes["input"]
        _, oh, ow, outputs = shapes["output"]
        if operator["name"] == "depthwise_conv2d":
            kh, kw, _ = weight
            depth, channel = 1, f"o / {outputs // channels} + i"
            tap = f"(ky * {kw} + kx) * {outputs} + o"
        else:
            _, kh, kw, depth = weight
            channel = f"o / {outputs // (channels // depth)} * {depth} + i"
            tap = f"((o * {kh} + ky) * {kw} + kx) * {depth} + i"
        extents = {"ih": ih, "iw": iw, "oh": oh, "ow": ow, "kh": kh, "kw": kw}
        body = CONVOLUTION.format(
            **extents, channels=channels, outputs=outputs, depth=depth, channel=channel, tap=tap,
            **attributes,
        )  # fmt: skip
    head = f"int32_t {function['symbol']}({', '.join(declared)}, void* device)"
    return f"{head} {{\n  (void)device;{body}  return 0;\n}}\n"
