#include "usmp_solver/bounds/stack_bound.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "usmp_solver/bounds/overlap_free.h"
#include "usmp_solver/bounds/promising_sections.h"
#include "usmp_solver/bounds/stack_height.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

bool AnyPin(const PoolProblem& problem) {
  return std::any_of(problem.items.begin(), problem.items.end(),
                     [](const PoolProblem::Item& item) { return item.fixed_offset >= 0; });
}

bool AlignmentsDiffer(const PoolProblem& problem) {
  return std::any_of(
      problem.items.begin(), problem.items.end(),
      [&](const PoolProblem::Item& item) { return item.alignment != problem.items[0].alignment; });
}

/*!
 * \brief Return an upper bound of the stack of each section, in bytes.
 *
 * Padding before an item is less than its alignment. Above the highest pin there are only unpinned
 * items.
 */
std::vector<WideBytes> MostBytes(const PoolProblem& problem) {
  return SumBySection(problem, [&](size_t i) {
    const PoolProblem::Item& item = problem.items[i];
    return WideBytes{item.size} + (item.fixed_offset >= 0 ? item.fixed_offset : item.alignment - 1);
  });
}

/*! \brief Return items of the section without overlaps: pinned first, then large ones. */
std::vector<PoolProblem::Item> WithoutOverlaps(const PoolProblem& problem,
                                               std::vector<int32_t> members,
                                               OverlapFree* overlap_free) {
  std::sort(members.begin(), members.end(), [&](int32_t lhs, int32_t rhs) {
    const PoolProblem::Item& a = problem.items[lhs];
    const PoolProblem::Item& b = problem.items[rhs];
    return std::tuple(a.fixed_offset < 0, -a.size, lhs) <
           std::tuple(b.fixed_offset < 0, -b.size, rhs);
  });
  std::vector<PoolProblem::Item> items;
  for (int32_t member : overlap_free->Pick(members)) items.push_back(problem.items[member]);
  return items;
}

}  // namespace

int64_t StackBound(const PoolProblem& problem, int64_t bound, Budget* budget) {
  const bool pinned = AnyPin(problem);
  if (!pinned && !AlignmentsDiffer(problem)) return bound;
  if (pinned) {
    for (const PoolProblem::Item& item : problem.items) {
      if (item.fixed_offset < 0) continue;
      bound = std::max(bound, ClampedAdd(item.fixed_offset, item.size));
    }
  }
  OverlapFree overlap_free(problem);
  for (const PromisingSection& section : PromisingSections(problem, MostBytes(problem), bound)) {
    if (section.most <= bound || !budget->Spend(section.items.size())) break;
    const auto items = WithoutOverlaps(problem, section.items, &overlap_free);
    bound = StackHeight(items, bound, budget);
  }
  return bound;
}

}  // namespace usmp
