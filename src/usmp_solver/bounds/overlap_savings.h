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
 * All offsets are taken to be multiples of `unit`.
 *
 * \param sizes by item, bytes that it takes, a multiple of `unit`; 0 leaves it out.
 */
std::vector<WideBytes> OverlapSavings(const PoolProblem& problem, const std::vector<int64_t>& sizes,
                                      int64_t unit);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
