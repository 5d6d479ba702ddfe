#include "usmp_solver/bounds/start_order_bound.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "usmp_solver/bounds/promising_sections.h"
#include "usmp_solver/model/separations.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

/*! \brief Most items that are ordered. Few of their orders are completed. */
constexpr size_t kMostOrdered = 8;

template <typename T>
using Few = std::array<T, kMostOrdered>;

/*! \brief Orders of a few conflicting items, each as low as its predecessors allow. */
class StartOrders {
 public:
  /*! \brief \param unit divisor of all offsets. */
  StartOrders(const PoolProblem& problem, const Separations& separation,
              const std::vector<int32_t>& items, int64_t unit)
      : count_(items.size()) {
    for (size_t a = 0; a < count_; ++a) {
      sizes_[a] = problem.items[items[a]].size;
      for (size_t b = 0; b < count_; ++b) {
        separations_[a][b] = AlignUp(separation(items[a], items[b]), unit).value_or(kNoLimit);
      }
    }
  }

  /*! \brief Return the lowest peak, or one up to `goal`; 0 if the budget ends first. */
  int64_t LowestPeak(int64_t goal, Budget* budget) const {
    Few<size_t> order;
    std::iota(order.begin(), order.end(), size_t{0});
    int64_t lowest = kNoLimit;
    Complete(0, order, {}, 0, goal, budget, &lowest);
    return budget->exhausted() || lowest == kNoLimit ? 0 : lowest;
  }

 private:
  /*!
   * \brief Lower `lowest` to the lowest peak over the orders that begin with the first `placed`
   *        items.
   *
   * \param starts lower bounds of the starts of the other items.
   */
  void Complete(size_t placed, Few<size_t> order, const Few<int64_t>& starts, int64_t peak,
                int64_t goal, Budget* budget, int64_t* lowest) const {
    if (!budget->Spend(static_cast<int64_t>(count_ - placed))) return;
    for (size_t k = placed; k < count_; ++k) {
      peak = std::max(peak, ClampedAdd(starts[order[k]], sizes_[order[k]]));
    }
    if (peak >= *lowest) return;
    if (placed == count_) *lowest = peak;
    for (size_t k = placed; k < count_ && *lowest > goal; ++k) {
      std::swap(order[placed], order[k]);
      const size_t next = order[placed];
      Few<int64_t> raised = starts;
      for (size_t j = placed + 1; j < count_; ++j) {
        int64_t& start = raised[order[j]];
        start = std::max(start, ClampedAdd(starts[next], separations_[next][order[j]]));
      }
      Complete(placed + 1, order, raised, peak, goal, budget, lowest);
    }
  }

  size_t count_;
  Few<int64_t> sizes_ = {};
  Few<Few<int64_t>> separations_ = {};
};

/*!
 * \brief Return the bytes that a section needs, if above `bound`; fewer if the budget ends.
 *
 * \param items of the section, the largest first.
 * \param overlaps_within whether each item overlaps another item of the section.
 */
int64_t BytesOfSection(const PoolProblem& problem, const Separations& separation,
                       const std::vector<int32_t>& items, const std::vector<char>& overlaps_within,
                       int64_t bound, Budget* budget) {
  int64_t unit = 0;
  for (int32_t i : items) unit = std::gcd(unit, problem.items[i].alignment);
  std::vector<int32_t> ordered;
  int64_t others = 0;
  int64_t most_added = 0;
  for (int32_t i : items) {
    if (overlaps_within[i]) {
      if (ordered.size() < kMostOrdered) ordered.push_back(i);
      continue;
    }
    const int64_t size = problem.items[i].size;
    const int64_t rounded = AlignUp(size, unit).value_or(kNoLimit);
    others = ClampedAdd(others, rounded);
    if (others == kNoLimit) return 0;
    most_added = std::max(most_added, rounded - size);
  }
  const StartOrders orders(problem, separation, ordered, unit);
  const int64_t peak = orders.LowestPeak(bound - others, budget);
  // The topmost item, whose size is not rounded, is an ordered item or one of the others.
  const int64_t below_others = AlignUp(peak, unit).value_or(kNoLimit);
  return ClampedAdd(others, std::min(peak, below_others - most_added));
}

}  // namespace

int64_t StartOrderBound(const PoolProblem& problem, int64_t bound, Budget* budget) {
  if (problem.overlaps.empty() || HasCircle(problem)) return bound;
  const Separations separation(problem);
  std::vector<char> is_live(problem.items.size(), 0);
  std::vector<char> overlaps_within(problem.items.size(), 0);
  const auto most = SumBySection(problem, [&](size_t i) { return MostBytes(problem.items[i]); });
  for (PromisingSection& section : PromisingSections(problem, most, bound)) {
    const int64_t steps = problem.overlaps.size() + section.items.size();
    if (section.most <= bound || !budget->Spend(steps)) break;
    for (int32_t i : section.items) is_live[i] = 1;
    for (const PoolProblem::Overlap& overlap : problem.overlaps) {
      if (!is_live[overlap.output] || !is_live[overlap.input]) continue;
      overlaps_within[overlap.output] = overlaps_within[overlap.input] = 1;
    }
    SortBySize(problem, &section.items);
    bound = std::max(
        bound, BytesOfSection(problem, separation, section.items, overlaps_within, bound, budget));
    for (int32_t i : section.items) is_live[i] = overlaps_within[i] = 0;
  }
  return bound;
}

}  // namespace usmp
