#include "usmp_solver/bounds/promising_sections.h"

#include <algorithm>
#include <utility>

namespace usmp {

namespace {

constexpr size_t kMaxSections = 64;

/*! \brief Return at most 64 sections above `bound`, those with the most bytes, ascending. */
std::vector<int32_t> SectionsAbove(const std::vector<WideBytes>& most, int64_t bound) {
  std::vector<int32_t> sections;
  for (size_t s = 0; s < most.size(); ++s) {
    if (most[s] > bound) sections.push_back(s);
  }
  if (sections.size() > kMaxSections) {
    std::nth_element(sections.begin(), sections.begin() + kMaxSections, sections.end(),
                     [&](int32_t lhs, int32_t rhs) {
                       return std::pair(-most[lhs], lhs) < std::pair(-most[rhs], rhs);
                     });
    sections.resize(kMaxSections);
    std::sort(sections.begin(), sections.end());
  }
  return sections;
}

}  // namespace

WideBytes MostBytes(const PoolProblem::Item& item) {
  return WideBytes{item.size} + (item.alignment - 1);
}

std::vector<PromisingSection> PromisingSections(const PoolProblem& problem,
                                                const std::vector<WideBytes>& most, int64_t bound) {
  const std::vector<int32_t> sections = SectionsAbove(most, bound);
  std::vector<PromisingSection> promising;
  for (int32_t s : sections) promising.push_back({most[s], {}});
  for (size_t i = 0; i < problem.items.size(); ++i) {
    for (const PoolProblem::Span& span : problem.SpansOf(problem.items[i])) {
      const auto first = std::lower_bound(sections.begin(), sections.end(), span.begin);
      for (auto s = first; s != sections.end() && *s < span.end; ++s) {
        promising[s - sections.begin()].items.push_back(i);
      }
    }
  }
  std::stable_sort(
      promising.begin(), promising.end(),
      [](const PromisingSection& lhs, const PromisingSection& rhs) { return lhs.most > rhs.most; });
  return promising;
}

}  // namespace usmp
