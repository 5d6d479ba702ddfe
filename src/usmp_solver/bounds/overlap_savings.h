// What safe overlaps can save at most.
#ifndef USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
#define USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

/*!
 * \brief By section, bytes by which its buffers may at most take less than the sum of their sizes.
 *
 * \param sizes by item, bytes that it takes, rounded up to what divides the alignment of all that
 *        are not 0; 0 leaves it out.
 */
std::vector<WideBytes> OverlapSavings(const PoolProblem& problem,
                                      const std::vector<int64_t>& sizes);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
