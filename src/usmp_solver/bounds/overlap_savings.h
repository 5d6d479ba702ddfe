// Upper bounds of the bytes that safe overlaps save.
#ifndef USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
#define USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

/*!
 * \brief Return, for each section, an upper bound of the bytes that its items share.
 *
 * \param sizes bytes by item, rounded up to a common divisor of the alignments of all items whose
 *   size here is not 0. Items of size 0 are left out.
 */
std::vector<WideBytes> OverlapSavings(const PoolProblem& problem,
                                      const std::vector<int64_t>& sizes);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
