#include "usmp_solver/search/placing_rules.h"

#include <map>
#include <tuple>
#include <utility>

#include "usmp_solver/model/separations.h"

namespace usmp {

PlacingRules::PlacingRules(const PoolProblem& problem) {
  const Separations separation(problem);
  const int32_t num_items = static_cast<int32_t>(problem.items.size());
  const std::vector<std::vector<int32_t>> members = ItemsBySection(problem);
  first_conflict.assign(1, 0);
  std::vector<int32_t> last_seen(num_items, -1);
  for (int32_t i = 0; i < num_items; ++i) {
    last_seen[i] = i;
    ForSections(problem, i, [&](int32_t s) {
      for (int32_t other : members[s]) {
        if (last_seen[other] == i) continue;
        last_seen[other] = i;
        const int64_t above = separation(i, other);
        const int64_t below = separation(other, i);
        // The items may overlap at any distance, so they do not conflict.
        if (above == 0 && below == 0) continue;
        conflicts.push_back({other, above, below});
      }
    });
    first_conflict.push_back(static_cast<int64_t>(conflicts.size()));
  }
}

std::vector<int32_t> NextTwins(const PoolProblem& problem) {
  std::vector<int32_t> next(problem.items.size(), -1);
  std::vector<char> overlaps(problem.items.size(), 0);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    overlaps[overlap.output] = overlaps[overlap.input] = 1;
  }
  std::map<std::tuple<int64_t, int64_t, std::vector<std::pair<int32_t, int32_t>>>, int32_t> last;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolProblem::Item& item = problem.items[i];
    if (overlaps[i] || item.fixed_offset >= 0) continue;
    std::vector<std::pair<int32_t, int32_t>> spans;
    for (const PoolProblem::Span& span : problem.SpansOf(item)) {
      spans.emplace_back(span.begin, span.end);
    }
    const int32_t twin = static_cast<int32_t>(i);
    const auto [it, inserted] =
        last.emplace(std::tuple(item.size, item.alignment, std::move(spans)), twin);
    if (inserted) continue;
    next[it->second] = twin;
    it->second = twin;
  }
  return next;
}

}  // namespace usmp
