#include "usmp_solver/bounds/star_bound.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "usmp_solver/bounds/overlap_free.h"
#include "usmp_solver/bounds/overlap_savings.h"
#include "usmp_solver/bounds/promising_sections.h"
#include "usmp_solver/model/separations.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

/*! \brief Steps charged to decide whether an item is a leaf, each as long as a step of search. */
constexpr int64_t kStepsPerItem = 4;

/*! \brief Steps to look up and round the distances of a leaf. */
constexpr int64_t kStepsPerLeaf = 16;

/*! \brief A leaf that may start within the center. */
struct LeafAbove {
  /*! \brief Minimum bytes between the starts of the center and of the leaf. */
  int64_t distance;
  int64_t size;
};

/*!
 * \brief Return the bytes that a star needs; 0 if a size overflows int64.
 *
 * All offsets of the star are multiples of a unit. So a plan stays valid if sizes and distances are
 * rounded up to the unit. Its peak rises by at most the bytes that rounding adds to one size.
 */
int64_t BytesOfStar(const PoolProblem& problem, const Separations& separation, int32_t center,
                    const std::vector<int32_t>& leaves) {
  int64_t unit = problem.items[center].alignment;
  for (int32_t leaf : leaves) unit = std::gcd(unit, problem.items[leaf].alignment);
  const std::optional<int64_t> center_size = AlignUp(problem.items[center].size, unit);
  if (!center_size) return 0;
  int64_t most_added = *center_size - problem.items[center].size;
  WideBytes sum = *center_size;
  int64_t covered_from_below = 0;
  std::vector<LeafAbove> leaves_above;
  for (int32_t leaf : leaves) {
    const std::optional<int64_t> leaf_size = AlignUp(problem.items[leaf].size, unit);
    if (!leaf_size) return 0;
    most_added = std::max(most_added, *leaf_size - problem.items[leaf].size);
    sum += *leaf_size;
    // Does not overflow, because no separation exceeds the size of its lower item.
    const int64_t from_leaf = *AlignUp(separation(leaf, center), unit);
    const int64_t from_center = *AlignUp(separation(center, leaf), unit);
    covered_from_below = std::max(covered_from_below, *leaf_size - from_leaf);
    if (from_center < *center_size) leaves_above.push_back({from_center, *leaf_size});
  }
  covered_from_below = std::min(covered_from_below, *center_size);
  std::sort(leaves_above.begin(), leaves_above.end(),
            [](const LeafAbove& lhs, const LeafAbove& rhs) { return lhs.distance < rhs.distance; });
  const int64_t saved = CoveredBytes(covered_from_below, leaves_above, *center_size);
  return Clamp(sum - saved - most_added);
}

}  // namespace

int64_t StarBound(const PoolProblem& problem, int64_t bound, Budget* budget) {
  if (problem.overlaps.empty()) return bound;
  const Separations separation(problem);
  OverlapFree overlap_free(problem);
  const auto most = SumBySection(problem, [&](size_t i) { return MostBytes(problem.items[i]); });
  for (PromisingSection& section : PromisingSections(problem, most, bound)) {
    SortBySize(problem, &section.items);
    for (int32_t center : section.items) {
      if (section.most <= bound) return bound;
      if (!separation.overlaps_any(center)) continue;
      if (!budget->Spend(kStepsPerItem * static_cast<int64_t>(section.items.size()))) return bound;
      const std::vector<int32_t>& leaves = overlap_free.Pick(section.items, center);
      WideBytes most_of_star = MostBytes(problem.items[center]);
      for (int32_t leaf : leaves) most_of_star += MostBytes(problem.items[leaf]);
      if (most_of_star <= bound) continue;
      budget->Spend(kStepsPerLeaf * static_cast<int64_t>(leaves.size()));
      bound = std::max(bound, BytesOfStar(problem, separation, center, leaves));
    }
  }
  return bound;
}

}  // namespace usmp
