// Sums of sizes that may exceed 64 bits.
#ifndef USMP_SOLVER_WIDE_BYTES_H_
#define USMP_SOLVER_WIDE_BYTES_H_

#include <cstdint>

#include "problem.h"

namespace usmp {

/*! \brief Holds the sum of as many sizes as there can be. */
using WideBytes = __int128;

/*! \brief As int64; kNoLimit for what is larger. */
inline int64_t Clamp(WideBytes bytes) {
  return bytes > kNoLimit ? kNoLimit : static_cast<int64_t>(bytes);
}

}  // namespace usmp

#endif  // USMP_SOLVER_WIDE_BYTES_H_
