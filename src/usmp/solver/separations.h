// How far apart two conflicting items must start.
#ifndef USMP_SOLVER_SEPARATIONS_H_
#define USMP_SOLVER_SEPARATIONS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pool_problem.h"

namespace usmp {

/*! \brief Looks up sep(lower, upper): bytes from the start of the one to that of the other. */
class Separations {
 public:
  explicit Separations(const PoolProblem& problem)
      : problem_(problem), overlaps_any_(problem.items.size(), false) {
    for (const PoolProblem::Overlap& overlap : problem.overlaps) {
      overlaps_any_[overlap.output] = true;
      overlaps_any_[overlap.input] = true;
    }
  }

  /*! \brief Whether the item is in an overlap: if not, all distances are sizes. */
  bool overlaps_any(int32_t item) const { return overlaps_any_[item]; }

  int64_t operator()(int32_t lower, int32_t upper) const {
    const int64_t size = problem_.items[lower].size;
    if (!overlaps_any_[lower] || !overlaps_any_[upper]) return size;
    const auto it = std::lower_bound(problem_.overlaps.begin(), problem_.overlaps.end(), 0,
                                     [&](const PoolProblem::Overlap& overlap, int) {
                                       return overlap.output != lower ? overlap.output < lower
                                                                      : overlap.input < upper;
                                     });
    if (it == problem_.overlaps.end() || it->output != lower || it->input != upper) return size;
    return std::min(size, it->distance);
  }

 private:
  const PoolProblem& problem_;
  std::vector<bool> overlaps_any_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEPARATIONS_H_
