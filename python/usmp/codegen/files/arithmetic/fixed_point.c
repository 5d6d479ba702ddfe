/* The fixed-point functions that quantized operators call.
 *
 * Each name beginning with tvmgen_ is emitted with what it calls, if an operator calls it; comments
 * between functions are not. A shift of a negative number to the right keeps the sign, as with
 * every compiler that usmp supports. int may have 16 bits: powers of two are written out, since C
 * gives a constant a type that has it, and what int computes elsewhere is less than 2^15.
 */
#include <stdint.h>

/* Rounded twice. */
static inline int32_t tvmgen_multiply_by_quantized_multiplier(int32_t value, int32_t multiplier,
                                                              int32_t shift) {
  const int32_t left = shift > 0 ? shift : 0;
  const int32_t right = shift > 0 ? 0 : -shift;
  const int64_t shifted = (int32_t)((uint32_t)value << left);
  const int32_t high = (int32_t)((shifted * multiplier + 0x40000000) >> 31);
  const int32_t mask = (int32_t)(((uint32_t)1 << right) - 1);
  return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0));
}

/* Rounded once; the factor has 16 bits. */
static inline int32_t tvmgen_multiply_by_quantized_multiplier_64(int64_t value, int32_t multiplier,
                                                                 int32_t shift) {
  const int32_t reduced = multiplier < 0x7fff0000 ? (multiplier + 0x8000) >> 16 : 0x7fff;
  const int32_t right = 15 - shift;
  return (int32_t)((value * reduced + ((int64_t)1 << (right - 1))) >> right);
}

/* Rounded once. */
static inline int32_t tvmgen_multiply_by_quantized_multiplier_single_rounding(int32_t value,
                                                                              int32_t multiplier,
                                                                              int32_t shift) {
  const int32_t right = 31 - shift;
  return (int32_t)(((int64_t)value * multiplier + ((int64_t)1 << (right - 1))) >> right);
}

/* Rounded as floats of 24 bits: first the value, then its product with the factor, whose multiplier
 * has 24 bits, then that to an integer, each to the nearest one and halves to the even one. Only
 * near a half that differs from one rounding. The shift is from -31 to 7, and the result is exact
 * if it has less than 10 bits. */
static inline int32_t tvmgen_multiply_as_float(int32_t value, int32_t multiplier, int32_t shift) {
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) && !defined(TVMGEN_PORTABLE)
  /* Compilers may join a product and a sum, but not two products. */
  float product = (float)value * (float)multiplier;
  float power;
  int32_t nearest;
  __asm__("vmov %0, %1" : "=t"(power) : "r"((uint32_t)(shift + 96) << 23));
  product *= power;
  __asm__("vcvtr.s32.f32 %0, %0" : "+t"(product));
  __asm__("vmov %0, %1" : "=r"(nearest) : "t"(product));
  return nearest;
#else
  const int32_t right = 31 - shift;
  const int64_t rounded = (int64_t)value * multiplier + ((int64_t)1 << (right - 1));
  const uint64_t from_half = ((uint64_t)rounded << (64 - right)) + ((uint64_t)1 << 50);
  uint64_t magnitude = (uint64_t)(value < 0 ? -(int64_t)value : value);
  if (from_half >= (uint64_t)1 << 51) return (int32_t)(rounded >> right);
  for (int32_t step = 0; step < 3; ++step) {
    int32_t bits = step < 2 ? 0 : right;
    while (step < 2 && magnitude >> bits >= 0x1000000) ++bits;
    const uint64_t half = ((uint64_t)1 << bits) >> 1;
    const uint64_t rest = magnitude & (((uint64_t)1 << bits) - 1);
    magnitude >>= bits;
    magnitude += rest > half || (rest == half && half && (magnitude & 1));
    magnitude = step < 2 ? magnitude << bits : magnitude;
    magnitude *= step == 0 ? (uint32_t)multiplier : 1;
  }
  return value < 0 ? -(int32_t)magnitude : (int32_t)magnitude;
#endif
}

/* The same of a factor that is a float, greater than 0, whose bits are given. */
static inline int32_t tvmgen_multiply_by_float(int32_t value, int32_t factor) {
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) && !defined(TVMGEN_PORTABLE)
  float product = (float)value;
  float by;
  int32_t nearest;
  __asm__("vmov %0, %1" : "=t"(by) : "r"(factor));
  product *= by;
  __asm__("vcvtr.s32.f32 %0, %0" : "+t"(product));
  __asm__("vmov %0, %1" : "=r"(nearest) : "t"(product));
  return nearest;
#else
  const uint32_t multiplier = ((uint32_t)factor & 0x7fffff) | 0x800000;
  return tvmgen_multiply_as_float(value, (int32_t)(multiplier << 7), (factor >> 23) - 126);
#endif
}

/* Bias and factor from the record of a channel, which has `record_bits` bits: the mantissa of the
 * multiplier, how much less its shift is than `shift`, and the bias. */
static inline int32_t tvmgen_rescale_channel(int32_t accumulator, uint16_t low, uint16_t middle,
                                             uint32_t high, int32_t record_bits,
                                             int32_t mantissa_bits, int32_t shift_bits,
                                             int32_t shift) {
  const uint64_t record = low | (uint64_t)middle << 16 | (uint64_t)high << 32;
  const uint32_t one = (uint32_t)1 << mantissa_bits;
  const uint32_t mantissa = ((uint32_t)record & (one - 1)) | one;
  const int32_t multiplier = (int32_t)(mantissa << (30 - mantissa_bits));
  const uint32_t less = (uint32_t)(record >> mantissa_bits) & (((uint32_t)1 << shift_bits) - 1);
  const int32_t above = 64 - record_bits;
  const int64_t signed_record = (int64_t)(record << above) >> above;
  const int32_t bias = (int32_t)(signed_record >> (mantissa_bits + shift_bits));
  return tvmgen_multiply_by_quantized_multiplier(accumulator + bias, multiplier,
                                                 shift - (int32_t)less);
}

static inline int32_t tvmgen_leading_zeros(int32_t value) {
  int32_t zeros = 0;
  while (zeros < 32 && !((uint32_t)value >> (31 - zeros))) ++zeros;
  return zeros;
}

/* Newton's division, three steps from 48/17 - 32/17 * d, as gemmlowp does it; d is half the
 * denominator, and its reciprocal has 29 fractional bits. */
static inline int32_t tvmgen_one_over_one_plus(int32_t value) {
  const int64_t d = ((int64_t)value + 2147483648) >> 1;
  int64_t x = 1515870810 + ((d * -1010580540 + 0x40000000) >> 31);
  for (int32_t step = 0; step < 3; ++step) {
    const int64_t error = 0x20000000 - ((d * x + 0x40000000) >> 31);
    x += ((x * error + 0x40000000) >> 31) * 4;
  }
  return x < 0x40000000 ? (int32_t)(x * 2) : 2147483647;
}

/* Of numbers of at most 17 bits; a divisor of 0 counts as 1. */
static inline int32_t tvmgen_divide(int32_t dividend, int32_t divisor, int32_t multiplier,
                                    int32_t shift) {
  const int32_t x = divisor < 0 ? -dividend : dividend;
  const int32_t y = divisor < 0 ? -divisor : divisor > 0 ? divisor : 1;
  const int32_t zeros = tvmgen_leading_zeros(y);
  const int32_t inverse = tvmgen_one_over_one_plus((int32_t)((uint32_t)y << zeros & 0x7fffffff));
  const int32_t headroom = tvmgen_leading_zeros(x < 0 ? ~x : x) - 1;
  const int32_t quotient = tvmgen_multiply_by_quantized_multiplier(x, inverse, headroom);
  const int32_t total = shift - (31 - zeros) - headroom;
  return total < -31 ? 0 : tvmgen_multiply_by_quantized_multiplier(quotient, multiplier, total);
}

/* The shift of the factor 1 / sqrt(value). */
static inline int32_t tvmgen_inverse_square_root_shift(int32_t value) {
  int32_t right = 11;
  if (value <= 1) return 0;
  for (; value >= 0x20000000; value /= 4) ++right;
  for (; value < 0x8000000; value *= 4) --right;
  return right < 0 ? 0 : -right;
}

/* The multiplier of that factor: five steps of Newton's iteration from 1, on a number between 1/4
 * and 1 in 28 fractional bits. */
static inline int32_t tvmgen_inverse_square_root(int32_t value) {
  int32_t right = 11;
  int64_t x = 0x10000000;
  if (value <= 1) return 2147483647;
  for (; value >= 0x20000000; value /= 4) ++right;
  for (; value < 0x8000000; value *= 4) --right;
  const int64_t half = ((value >> 1) + 1) >> 1;
  for (int32_t step = 0; step < 5; ++step) {
    const int64_t square = (x * x + 0x40000000) >> 31;
    const int64_t cube = ((square * x + 0x40000000) >> 31) * 64;
    x = (((402653184 * x + 0x40000000) >> 31) - ((half * cube + 0x40000000) >> 31)) * 8;
  }
  x = (x * 1518500250 + 0x40000000) >> 31;
  return (int32_t)(right < 0 ? x << -right : x);
}

/* The exponent of two, and a rational function of what is left between sqrt(1/2) and 1. */
static inline int32_t tvmgen_logarithm(int32_t value) {
  const int32_t a_zeros = tvmgen_leading_zeros(value);
  const int64_t a = (((int64_t)value << (a_zeros - 1)) * 1518500250 + 0x40000000) >> 31;
  const int64_t b = ((int64_t)value * 1518500250 + 0x40000000) >> 31;
  const int32_t b_zeros = tvmgen_leading_zeros((int32_t)b) - 1;
  const int64_t a_power = (int64_t)(12 - a_zeros) * 0x2000000 + 0x800000;
  const int64_t b_power = (int64_t)(12 - b_zeros) * 0x2000000 - 0x800000;
  const int64_t a_rest = a * 2 < 2147483647 ? a * 2 : 2147483647;
  const int64_t b_shifted = (int64_t)value << b_zeros;
  const int64_t b_rest = b_shifted < 2147483647 ? b_shifted : 2147483647;
  const int64_t r = a_rest < b_rest ? a_rest : b_rest;
  const int64_t power = a_power > b_power ? a_power : b_power;
  const int64_t p = (r + 1805811301 + 1) >> 1;
  const int64_t q = (r - 1805811301) * 2;
  const int64_t q2 = (q * q + 0x40000000) >> 31;
  const int64_t q3 = (q * q2 + 0x40000000) >> 31;
  const int64_t top = ((q * r + 0x40000000) >> 31) + ((q3 * 117049297 + 0x40000000) >> 31);
  const int64_t slope = 1057819769 + q + ((127690142 * q2 + 0x40000000) >> 31);
  const int64_t bottom = ((p * slope + 0x40000000) >> 31) + ((638450708 * q + 0x40000000) >> 31);
  const int64_t inverse = tvmgen_one_over_one_plus((int32_t)bottom);
  const int64_t scaled = (top + 32 - (top < 0)) >> 6;
  const int64_t whole = (power * 1488522236 + 0x40000000) >> 31;
  return (int32_t)((whole + ((scaled * inverse + 0x40000000) >> 31)) * 2);
}

/* The entry of a table of 256 sigmoids at or before the magnitude of the argument. */
static inline int32_t tvmgen_sigmoid_index(int32_t argument, int32_t bits, int32_t next) {
  const int32_t index = (argument < 0 ? -argument : argument) >> bits;
  return (index < 254 ? index : 254) + next;
}

/* sigmoid(-x) = 1 - sigmoid(x). */
static inline int32_t tvmgen_interpolated_logistic(int32_t argument, uint16_t low, uint16_t high) {
  const int32_t magnitude = argument < 0 ? -argument : argument;
  const int32_t between = ((int32_t)low << 9) + (magnitude & 511) * ((int32_t)high - low);
  const int32_t value = (magnitude >> 9) < 255 ? between : (int32_t)32767 << 10;
  return (argument < 0 ? 0x2000000 + 511 - value : value + 512) >> 10;
}

/* tanh(x) = 2 * sigmoid(2 * x) - 1, which is odd. */
static inline int32_t tvmgen_interpolated_tanh(int32_t argument, uint16_t low, uint16_t high) {
  const int32_t magnitude = argument < 0 ? -argument : argument;
  const int32_t between = ((int32_t)low << 8) + (magnitude & 255) * ((int32_t)high - low);
  const int32_t value = (magnitude >> 8) < 255 ? between : (int32_t)65535 << 8;
  return (argument < 0 ? 0x800000 + 127 - value : value - 0x800000 + 128) >> 8;
}
