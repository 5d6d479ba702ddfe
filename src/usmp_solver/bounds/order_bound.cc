#include "usmp_solver/bounds/order_bound.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <tuple>
#include <utility>

#include "usmp_solver/model/separations.h"
#include "usmp_solver/model/two_satisfiability.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

constexpr size_t kMaxOrderItems = 4096;
constexpr size_t kMaxPairs = 1 << 18;
constexpr size_t kMaxClauses = 1 << 18;

/*! \brief An item that conflicts with a given item, and their distances. */
struct Neighbor {
  int32_t item;
  /*! \brief The literal that means "the given item is below". */
  int32_t literal_below;
  /*! \brief Distance of the starts with the neighbor above, and with the neighbor below. */
  int64_t up;
  int64_t down;
};

/*! \brief Forbids both literals if the capacity is less than `height`. */
struct Clause {
  int64_t height;
  int32_t first;
  int32_t second;
};

/*! \brief Return the neighbors of each item by falling size; empty if there are too many pairs. */
std::vector<std::vector<Neighbor>> Neighbors(const PoolProblem& problem, Budget* budget) {
  struct Begin {
    int32_t section;
    int32_t item;
    int32_t end;
  };
  std::vector<Begin> begins;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    for (const PoolProblem::Span& span : problem.SpansOf(problem.items[i])) {
      begins.push_back({span.begin, static_cast<int32_t>(i), span.end});
    }
  }
  std::sort(begins.begin(), begins.end(), [](const Begin& lhs, const Begin& rhs) {
    return std::tuple(lhs.section, lhs.item) < std::tuple(rhs.section, rhs.item);
  });
  std::vector<std::pair<int32_t, int32_t>> pairs;
  std::vector<Begin> live;
  for (const Begin& begin : begins) {
    live.erase(std::remove_if(live.begin(), live.end(),
                              [&](const Begin& other) { return other.end <= begin.section; }),
               live.end());
    for (const Begin& other : live) pairs.push_back(std::minmax(begin.item, other.item));
    if (pairs.size() > kMaxPairs || !budget->Spend(live.size())) return {};
    live.push_back(begin);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::vector<std::vector<Neighbor>> neighbors(problem.items.size());
  const Separations separation(problem);
  int32_t variable = 0;
  for (const auto& [a, b] : pairs) {
    const int64_t a_below = separation(a, b);
    const int64_t b_below = separation(b, a);
    neighbors[a].push_back({b, 2 * variable, a_below, b_below});
    neighbors[b].push_back({a, 2 * variable + 1, b_below, a_below});
    ++variable;
  }
  for (std::vector<Neighbor>& list : neighbors) {
    std::stable_sort(list.begin(), list.end(), [&](const Neighbor& lhs, const Neighbor& rhs) {
      return problem.items[lhs.item].size > problem.items[rhs.item].size;
    });
  }
  return neighbors;
}

/*! \brief Return the lowest offset of an item at or above `from`; kNoLimit if its pin is below. */
int64_t OffsetFrom(const PoolProblem::Item& item, int64_t from) {
  if (item.fixed_offset >= 0) return from <= item.fixed_offset ? item.fixed_offset : kNoLimit;
  return AlignUp(from, item.alignment).value_or(kNoLimit);
}

/*! \brief Return the peak of a stack of `items`, with `separations` between their starts. */
int64_t StackOf(const PoolProblem& problem, std::initializer_list<int32_t> items,
                std::initializer_list<int64_t> separations) {
  int64_t from = 0;
  int64_t peak = 0;
  const int64_t* separation = separations.begin();
  for (int32_t i : items) {
    const PoolProblem::Item& item = problem.items[i];
    const int64_t offset = OffsetFrom(item, from);
    peak = std::max(peak, ClampedAdd(offset, item.size));
    if (separation != separations.end()) from = ClampedAdd(offset, *separation++);
    if (from == kNoLimit) return kNoLimit;
  }
  return peak;
}

/*! \brief Return the most bytes of padding in stacks of three items; kNoLimit if any is pinned. */
int64_t MostWasted(const PoolProblem& problem) {
  int64_t alignment = 1;
  for (const PoolProblem::Item& item : problem.items) {
    if (item.fixed_offset >= 0) return kNoLimit;
    alignment = std::max(alignment, item.alignment);
  }
  return Clamp(WideBytes{alignment - 1} + (alignment - 1));
}

/*!
 * \brief Return the clauses of the stacks of two and three items that end above `bound`, the
 *        highest first.
 *
 * \param least lower bound of the sum of the sizes in each stack.
 */
std::vector<Clause> Clauses(const PoolProblem& problem,
                            const std::vector<std::vector<Neighbor>>& neighbors, int64_t bound,
                            int64_t least, Budget* budget) {
  std::vector<Clause> clauses;
  for (int32_t v = 0; v < static_cast<int32_t>(neighbors.size()); ++v) {
    for (const Neighbor& u : neighbors[v]) {
      const int32_t u_below = u.literal_below ^ 1;
      const int64_t pair = StackOf(problem, {u.item, v}, {u.down});
      if (pair > bound) clauses.push_back({pair, u_below, u_below});
      const WideBytes others =
          WideBytes{least} - problem.items[v].size - problem.items[u.item].size;
      for (const Neighbor& w : neighbors[v]) {
        if (problem.items[w.item].size <= others) break;
        if (!budget->Spend(2)) return {};
        if (u.item == w.item) continue;
        const int64_t height = StackOf(problem, {u.item, v, w.item}, {u.down, w.up});
        if (height > bound) clauses.push_back({height, u_below, w.literal_below});
      }
      if (clauses.size() > kMaxClauses) return {};
    }
  }
  std::sort(clauses.begin(), clauses.end(), [](const Clause& lhs, const Clause& rhs) {
    return std::tuple(-lhs.height, lhs.first, lhs.second) <
           std::tuple(-rhs.height, rhs.first, rhs.second);
  });
  return clauses;
}

WideBytes SumOfThreeLargest(const PoolProblem& problem) {
  std::vector<int64_t> sizes;
  for (const PoolProblem::Item& item : problem.items) sizes.push_back(item.size);
  const size_t three = std::min<size_t>(3, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + three, sizes.end(), std::greater<>());
  return std::accumulate(sizes.begin(), sizes.begin() + three, WideBytes{0});
}

}  // namespace

int64_t OrderBound(const PoolProblem& problem, int64_t bound, Budget* budget) {
  if (problem.items.size() > kMaxOrderItems) return bound;
  const int64_t least = bound - std::min(bound, MostWasted(problem));
  if (SumOfThreeLargest(problem) <= least) return bound;
  const auto neighbors = Neighbors(problem, budget);
  int32_t num_literals = 0;
  for (const std::vector<Neighbor>& list : neighbors) num_literals += list.size();
  const std::vector<Clause> clauses = Clauses(problem, neighbors, bound, least, budget);
  std::vector<std::pair<int32_t, int32_t>> not_both;
  for (const Clause& clause : clauses) not_both.emplace_back(clause.first, clause.second);
  // Find the shortest prefix of the clauses that is contradictory. A peak below the height of its
  // last clause would need all clauses of the prefix.
  size_t satisfiable = 0;
  size_t contradictory = clauses.size() + 1;
  while (satisfiable + 1 < contradictory) {
    const size_t count = satisfiable + (contradictory - satisfiable) / 2;
    if (!budget->Spend(num_literals + 2 * static_cast<int64_t>(count))) return bound;
    if (Satisfiable({not_both.begin(), not_both.begin() + count}, num_literals)) {
      satisfiable = count;
    } else {
      contradictory = count;
    }
  }
  return contradictory > clauses.size() ? bound : clauses[contradictory - 1].height;
}

}  // namespace usmp
