// Upper bounds of the bytes that safe overlaps save.
#ifndef USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
#define USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_

#include <algorithm>
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

/*!
 * \brief Return the most bytes of an item that disjoint other items cover.
 *
 * Each other item starts at least its distance above the start of the item, like a job with a
 * release date on one machine. The machine is busy the longest, until the end of the item, if it
 * never waits while a job is ready.
 *
 * \param covered bytes at the start of the item that are covered from below.
 * \param others elements with a distance and a size, in order of distance.
 */
template <typename Others>
int64_t CoveredBytes(int64_t covered, const Others& others, int64_t item_size) {
  int64_t end = covered;
  for (const auto& other : others) {
    const int64_t start = std::max(end, other.distance);
    if (start >= item_size) break;
    end = start + std::min(item_size - start, other.size);
    covered += end - start;
  }
  return covered;
}

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_OVERLAP_SAVINGS_H_
