#include "usmp_solver/bounds/stack_bound.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "usmp_solver/bounds/stack_height.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

/*! \brief Sections that are looked at. */
constexpr size_t kMaxSections = 64;

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
 * \brief By section, bytes that its stack cannot exceed.
 *
 * Before an item no more is wasted than its alignment less one. Nothing is above the highest pin
 * but such items.
 */
std::vector<WideBytes> MostBytes(const PoolProblem& problem) {
  return SumBySection(problem, [&](size_t i) {
    const PoolProblem::Item& item = problem.items[i];
    return WideBytes{item.size} + (item.fixed_offset >= 0 ? item.fixed_offset : item.alignment - 1);
  });
}

/*! \brief Some sections, ascending, that have the most bytes and more than `bound`. */
std::vector<int32_t> PromisingSections(const std::vector<WideBytes>& most, int64_t bound) {
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

/*! \brief By chosen section, its items. */
std::vector<std::vector<int32_t>> MembersOf(const PoolProblem& problem,
                                            const std::vector<int32_t>& sections) {
  std::vector<std::vector<int32_t>> members(sections.size());
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolProblem::Item& item = problem.items[i];
    for (int32_t k = item.first_span; k < item.first_span + item.num_spans; ++k) {
      const auto first = std::lower_bound(sections.begin(), sections.end(), problem.spans[k].begin);
      for (auto s = first; s != sections.end() && *s < problem.spans[k].end; ++s) {
        members[s - sections.begin()].push_back(i);
      }
    }
  }
  return members;
}

/*! \brief By item, what overlaps it in either direction. */
std::vector<std::vector<int32_t>> OverlapPartners(const PoolProblem& problem) {
  std::vector<std::vector<int32_t>> partners(problem.items.size());
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    partners[overlap.output].push_back(overlap.input);
    partners[overlap.input].push_back(overlap.output);
  }
  return partners;
}

/*! \brief Items of the section without overlaps among them: pinned ones first, then large ones. */
std::vector<PoolProblem::Item> WithoutOverlaps(const PoolProblem& problem,
                                               std::vector<int32_t> members,
                                               const std::vector<std::vector<int32_t>>& partners,
                                               std::vector<bool>* is_out) {
  std::sort(members.begin(), members.end(), [&](int32_t lhs, int32_t rhs) {
    const PoolProblem::Item& a = problem.items[lhs];
    const PoolProblem::Item& b = problem.items[rhs];
    return std::tuple(a.fixed_offset < 0, -a.size, lhs) <
           std::tuple(b.fixed_offset < 0, -b.size, rhs);
  });
  std::vector<PoolProblem::Item> items;
  for (int32_t member : members) {
    if ((*is_out)[member]) continue;
    items.push_back(problem.items[member]);
    for (int32_t partner : partners[member]) (*is_out)[partner] = true;
  }
  for (int32_t member : members) {
    for (int32_t partner : partners[member]) (*is_out)[partner] = false;
  }
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
  const std::vector<WideBytes> most = MostBytes(problem);
  const std::vector<int32_t> sections = PromisingSections(most, bound);
  const auto members = MembersOf(problem, sections);
  std::vector<std::vector<int32_t>> partners(problem.items.size());
  if (!problem.overlaps.empty()) partners = OverlapPartners(problem);
  std::vector<bool> is_out(problem.items.size(), false);
  std::vector<size_t> order(sections.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) {
    return most[sections[lhs]] > most[sections[rhs]];
  });
  for (size_t k : order) {
    if (most[sections[k]] <= bound || !budget->Spend(members[k].size())) break;
    const auto items = WithoutOverlaps(problem, members[k], partners, &is_out);
    bound = StackHeight(items, bound, budget);
  }
  return bound;
}

}  // namespace usmp
