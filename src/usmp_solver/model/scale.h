// A one-pool problem in larger units, where all sizes and offsets share a divisor.
#ifndef USMP_SOLVER_MODEL_SCALE_H_
#define USMP_SOLVER_MODEL_SCALE_H_

#include <cstdint>
#include <optional>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

struct ScaledProblem {
  PoolProblem problem;
  /*! \brief Bytes in one unit. */
  int64_t unit;
  /*! \brief Upper bound of the peak in bytes: the highest pin, plus all items in an aligned row. */
  int64_t largest_peak;

  /*! \brief Convert offsets from units to bytes. */
  Offsets Unscale(Offsets offsets) const;
};

/*! \brief Return the greatest common divisor of sizes, pins and distances; 0 without items. */
int64_t CommonDivisor(const PoolProblem& problem);

/*!
 * \brief Return a divisor of all offsets and peaks of compact placements; 0 without items.
 *
 * In a compact placement each offset is 0, a pin, or another item's offset plus a separation,
 * rounded up to the alignment.
 */
int64_t CompactUnit(const PoolProblem& problem);

/*!
 * \brief Divide sizes, alignments, pins and distances by their greatest common divisor.
 *
 * Alignments are dropped where every alignment divides every size, pin and distance, because
 * compact placements are aligned then.
 *
 * \return nullopt if offsets may come near the end of int64.
 */
std::optional<ScaledProblem> Scale(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_SCALE_H_
