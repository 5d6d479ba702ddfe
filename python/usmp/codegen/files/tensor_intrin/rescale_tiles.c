/* The outputs of tiles of pixels and channels, before they are clamped and stored.
 *
 * tvmgen_rescale_PxC: acc[p * C + c] becomes the output of what it has, without a bias, of pixel p
 * and channel c, where `records` has multiplier, and bias << 8 | shift, of each channel. */
#include <stdint.h>
#include <string.h>

#include "features.h"
#include "rescale.c"
#include "x86.h"

/* The same of four sums by two records each. */
#if defined(TVMGEN_AVX2)
TVMGEN_INLINE tvmgen_sums4 tvmgen_rescaled_4(tvmgen_sums4 sums, tvmgen_sums4 first,
                                             tvmgen_sums4 second, int32_t rounding) {
  const tvmgen_sums4 shift = TVMGEN_SHUFFLE(first, second, 1, 3, 5, 7), right = shift & 255;
  const tvmgen_longs2 half = {0x40000000, 0x40000000};
  tvmgen_longs2 low, high;
  sums += shift >> 8;
  low = __builtin_ia32_pmuldq128(TVMGEN_SHUFFLE(sums, sums, 0, 0, 1, 1), first) + half;
  high = __builtin_ia32_pmuldq128(TVMGEN_SHUFFLE(sums, sums, 2, 2, 3, 3), second) + half;
  low = (tvmgen_longs2)((tvmgen_bits2)low >> 31);
  high = (tvmgen_longs2)((tvmgen_bits2)high >> 31);
  sums = TVMGEN_SHUFFLE((tvmgen_sums4)low, (tvmgen_sums4)high, 0, 2, 4, 6);
  sums += sums >> 31;
  const uint32_t added = (uint32_t)rounding;
  const tvmgen_bits4 roundings = {added, added, added, added};
  sums += (tvmgen_sums4)(roundings << (tvmgen_bits4)right) >> 1;
  return sums >> right;
}
#endif

TVMGEN_INLINE int32_t tvmgen_rescale_biased(int32_t sum, const tvmgen_int32* record,
                                            int32_t rounding) {
  return tvmgen_rescale_record(sum + (record[1] >> 8), record[0], record[1], rounding);
}

TVMGEN_INLINE void tvmgen_rescale_1x2(int32_t* acc, const tvmgen_int32* records, int32_t rounding) {
#if defined(TVMGEN_AVX2)
  tvmgen_sums4 sums = {acc[0], acc[1], 0, 0}, record;
  memcpy(&record, records, sizeof(record));
  sums = tvmgen_rescaled_4(sums, record, record, rounding);
  acc[0] = sums[0];
  acc[1] = sums[1];
#else
  acc[0] = tvmgen_rescale_biased(acc[0], records, rounding);
  acc[1] = tvmgen_rescale_biased(acc[1], records + 2, rounding);
#endif
}

TVMGEN_INLINE void tvmgen_rescale_1x4(int32_t* acc, const tvmgen_int32* records, int32_t rounding) {
#if defined(TVMGEN_AVX2)
  tvmgen_sums4 sums, first, second;
  memcpy(&sums, acc, sizeof(sums));
  memcpy(&first, records, sizeof(first));
  memcpy(&second, records + 4, sizeof(second));
  sums = tvmgen_rescaled_4(sums, first, second, rounding);
  memcpy(acc, &sums, sizeof(sums));
#else
  acc[0] = tvmgen_rescale_biased(acc[0], records, rounding);
  acc[1] = tvmgen_rescale_biased(acc[1], records + 2, rounding);
  acc[2] = tvmgen_rescale_biased(acc[2], records + 4, rounding);
  acc[3] = tvmgen_rescale_biased(acc[3], records + 6, rounding);
#endif
}

TVMGEN_INLINE void tvmgen_rescale_1x6(int32_t* acc, const tvmgen_int32* records, int32_t rounding) {
  tvmgen_rescale_1x4(acc, records, rounding);
  tvmgen_rescale_1x2(acc + 4, records + 8, rounding);
}

TVMGEN_INLINE void tvmgen_rescale_2x2(int32_t* acc, const tvmgen_int32* records, int32_t rounding) {
#if defined(TVMGEN_AVX2)
  tvmgen_sums4 sums, record;
  memcpy(&sums, acc, sizeof(sums));
  memcpy(&record, records, sizeof(record));
  sums = tvmgen_rescaled_4(sums, record, record, rounding);
  memcpy(acc, &sums, sizeof(sums));
#else
  acc[0] = tvmgen_rescale_biased(acc[0], records, rounding);
  acc[1] = tvmgen_rescale_biased(acc[1], records + 2, rounding);
  acc[2] = tvmgen_rescale_biased(acc[2], records, rounding);
  acc[3] = tvmgen_rescale_biased(acc[3], records + 2, rounding);
#endif
}
