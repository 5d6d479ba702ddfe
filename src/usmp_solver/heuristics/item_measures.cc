#include "usmp_solver/heuristics/item_measures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "usmp_solver/heuristics/section_floors.h"

namespace usmp {

ItemMeasures::ItemMeasures(const PoolProblem& problem)
    : problem_(problem), urgency_(problem.items.size(), 0), duration_(problem.items.size(), 0) {
  const std::vector<int64_t> loads = Loads(problem);
  SectionFloors highest(problem.num_sections);
  for (int32_t s = 0; s < problem.num_sections; ++s) highest.Raise(s, s + 1, loads[s]);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    for (const PoolProblem::Span& span : problem.SpansOf(problem.items[i])) {
      urgency_[i] = std::max(urgency_[i], highest.Max(span.begin, span.end));
    }
    duration_[i] = Duration(problem, problem.items[i]);
  }
}

double ItemMeasures::Measure(int32_t item, Key key) const {
  const PoolProblem::Item& it = problem_.items[item];
  const auto size = static_cast<double>(it.size);
  switch (key) {
    case kUrgency:
      return static_cast<double>(urgency_[item]);
    case kSize:
      return size;
    case kDuration:
      return duration_[item];
    case kArea:
      return size * duration_[item];
    case kRootArea:
      return size * std::sqrt(duration_[item]);
    case kStart:
      return problem_.BeginOf(it);
    case kEarlyEnd:
      return -problem_.EndOf(it);
  }
  return 0;
}

std::vector<int32_t> ItemMeasures::Order(const std::vector<Key>& keys) const {
  std::vector<int32_t> order = AllItems(problem_);
  // Sort by the last key first: stable sorts keep the order of equal values.
  std::vector<std::pair<double, int32_t>> measured(order.size());
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    for (size_t k = 0; k < order.size(); ++k) measured[k] = {Measure(order[k], *key), order[k]};
    std::stable_sort(measured.begin(), measured.end(),
                     [](const auto& lhs, const auto& rhs) { return lhs.first > rhs.first; });
    for (size_t k = 0; k < order.size(); ++k) order[k] = measured[k].second;
  }
  return order;
}

}  // namespace usmp
