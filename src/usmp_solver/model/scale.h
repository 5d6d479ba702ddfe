// The same problem in larger units, where all bytes that matter are multiples of one number.
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
  /*! \brief Bytes that all items take if nothing is shared: no compact placement needs more. */
  int64_t largest_peak;

  /*! \brief Offsets in bytes. */
  Offsets Unscale(Offsets offsets) const;
};

/*! \brief The greatest number that divides all sizes, pins and distances; 0 without items. */
int64_t CommonDivisor(const PoolProblem& problem);

/*!
 * \brief The greatest number known to divide all offsets and peaks of compact placements; 0 without
 *        items.
 *
 * There each offset is 0, a pin, or the aligned end of a separation above another offset.
 */
int64_t CompactUnit(const PoolProblem& problem);

/*!
 * \brief Divide sizes, alignments, pins and distances by their greatest common divisor.
 *
 * Where every alignment divides every size, pin and distance, items that rest on each other are
 * aligned anyway, and alignment is left out.
 *
 * \return nothing if offsets may come near the end of int64.
 */
std::optional<ScaledProblem> Scale(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_SCALE_H_
