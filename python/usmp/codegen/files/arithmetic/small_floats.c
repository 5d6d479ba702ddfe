/* Floating-point numbers of 16 bits, which C99 lacks, to float and back. Memory has their bits. */
#include <stdint.h>
#include <string.h>

/* A number of float16 has its digits in float32 too, at an exponent that is 112 too small. */
static inline float tvmgen_float32_of_float16(uint16_t value) {
  const uint32_t sign = (uint32_t)(value & 0x8000) << 16;
  const uint32_t magnitude = (uint32_t)(value & 0x7fff) << 13;
  uint32_t bits = magnitude;
  float number;
  memcpy(&number, &bits, sizeof(number));
  number *= 5192296858534827628530496329220096.0f;
  memcpy(&bits, &number, sizeof(bits));
  bits = (magnitude < 0x0f800000 ? bits : 0x7f800000 | magnitude) | sign;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

/* Below 2^-14 the last digit counts 2^-24, as that of floats from 1/2 to 1 does. */
static inline uint16_t tvmgen_float16_of_float32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  float small;
  memcpy(&small, &magnitude, sizeof(small));
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (magnitude >= 0x38800000) {
    return (uint16_t)(sign | (((magnitude + 0x0fff + (magnitude >> 13 & 1)) >> 13) - 0x1c000));
  }
  small += 0.5f;
  memcpy(&bits, &small, sizeof(bits));
  return (uint16_t)(sign | (bits - 0x3f000000));
}

static inline float tvmgen_float32_of_bfloat16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

static inline uint16_t tvmgen_bfloat16_of_float32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
