// The minimum distances between the starts of conflicting items.
#ifndef USMP_SOLVER_MODEL_SEPARATIONS_H_
#define USMP_SOLVER_MODEL_SEPARATIONS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the smallest distance at which the output may overlap the input, if it may.
 *
 * \param overlaps of a problem or of a pool, sorted by output, then input.
 */
template <typename Overlap, typename Index>
std::optional<int64_t> FindDistance(const std::vector<Overlap>& overlaps, Index output,
                                    Index input) {
  const auto it = std::lower_bound(overlaps.begin(), overlaps.end(), std::tie(output, input),
                                   [](const Overlap& overlap, const auto& pair) {
                                     return std::tie(overlap.output, overlap.input) < pair;
                                   });
  if (it == overlaps.end() || it->output != output || it->input != input) return std::nullopt;
  return it->distance;
}

/*! \brief Looks up sep(lower, upper): the minimum bytes between the starts of two items. */
class Separations {
 public:
  explicit Separations(const PoolProblem& problem)
      : problem_(problem), overlaps_any_(problem.items.size(), false) {
    for (const PoolProblem::Overlap& overlap : problem.overlaps) {
      overlaps_any_[overlap.output] = true;
      overlaps_any_[overlap.input] = true;
    }
  }

  /*! \brief Return whether the item is in an overlap: if not, all its separations are sizes. */
  bool overlaps_any(int32_t item) const { return overlaps_any_[item]; }

  int64_t operator()(int32_t lower, int32_t upper) const {
    const int64_t size = problem_.items[lower].size;
    if (!overlaps_any_[lower] || !overlaps_any_[upper]) return size;
    return FindDistance(problem_.overlaps, lower, upper).value_or(size);
  }

 private:
  const PoolProblem& problem_;
  std::vector<bool> overlaps_any_;
};

/*!
 * \brief Return the smallest separation of each item from an item above it, in bytes.
 *
 * In order of offset, each item but the topmost starts at least this separation below the next
 * one. So the sum of the smallest separations is a lower bound of the topmost start in a section.
 */
std::vector<int64_t> SmallestSeparations(const PoolProblem& problem);

/*!
 * \brief Return whether the graph of overlaps, from outputs to inputs, has a cycle.
 *
 * Programs have no cycles, since an input dies before its output does. Two items that are each
 * other's output at distance 0 are ignored, since they do not conflict.
 */
bool HasCircle(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_SEPARATIONS_H_
