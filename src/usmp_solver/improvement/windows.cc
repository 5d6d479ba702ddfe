#include "usmp_solver/improvement/windows.h"

#include <algorithm>
#include <vector>

#include "usmp_solver/heuristics/bisect_peak.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

namespace {

/*! \brief Peaks count as equal if they differ by at most the peak divided by this number. */
constexpr int64_t kWindowPrecision = 100'000;

/*! \brief Fewest items that may move in a window, and most items in it. */
constexpr size_t kFewestFree = 200;
constexpr size_t kMostWindowItems = 2'000;
constexpr int64_t kStepsOfWindow = 20'000'000;
/*! \brief Most items above a target: with more, windows are not tried. */
constexpr size_t kMostBeyond = 100;

/*! \brief The items of a window, ascending, and which of them stay in place. */
struct Window {
  std::vector<int32_t> items;
  std::vector<char> stays;
  size_t num_free = 0;
};

class Windows {
 public:
  Windows(const PoolProblem& problem, Budget* budget) : problem_(problem), budget_(budget) {}

  /*! \brief Move all items within the target; return false, without a change, on failure. */
  bool LowerTo(int64_t target, Offsets* offsets) {
    std::vector<int32_t> beyond;
    for (size_t i = 0; i < offsets->size(); ++i) {
      if (EndOf(*offsets, i) > target) beyond.push_back(static_cast<int32_t>(i));
    }
    budget_->Spend(static_cast<int64_t>(offsets->size()) / 8);
    if (beyond.size() > kMostBeyond) return false;
    Offsets trial = *offsets;
    for (int32_t item : beyond) {
      if (EndOf(trial, item) > target && !PlaceAround(item, target, &trial)) return false;
    }
    *offsets = std::move(trial);
    return true;
  }

 private:
  int64_t EndOf(const Offsets& offsets, size_t item) const {
    return offsets[item] + problem_.items[item].size;
  }

  /*! \brief Try wider and wider windows around the item. */
  bool PlaceAround(int32_t item, int64_t target, Offsets* offsets) {
    const int32_t begin = problem_.BeginOf(problem_.items[item]);
    const int32_t end = problem_.EndOf(problem_.items[item]);
    for (int32_t reach = 8; !budget_->exhausted(); reach *= 2) {
      const int32_t first = std::max(0, begin - reach);
      const int32_t last = std::min(problem_.num_sections, end + reach);
      const Window window = Find(first, last);
      if (window.items.size() > kMostWindowItems) return false;
      const bool is_whole = first == 0 && last == problem_.num_sections;
      if (window.num_free < kFewestFree && !is_whole) continue;
      if (Search(window, target, offsets)) return true;
      if (is_whole) return false;
    }
    return false;
  }

  Window Find(int32_t first, int32_t last) {
    Window window;
    for (size_t i = 0; i < problem_.items.size(); ++i) {
      const PoolProblem::Item& item = problem_.items[i];
      if (problem_.EndOf(item) <= first || problem_.BeginOf(item) >= last) continue;
      const bool stays = problem_.BeginOf(item) < first || problem_.EndOf(item) > last;
      window.items.push_back(static_cast<int32_t>(i));
      window.stays.push_back(stays);
      window.num_free += !stays;
    }
    budget_->Spend(static_cast<int64_t>(problem_.items.size()) / 8);
    return window;
  }

  bool Search(const Window& window, int64_t target, Offsets* offsets) {
    PoolProblem part = Select(problem_, window.items);
    for (size_t i = 0; i < window.items.size(); ++i) {
      if (window.stays[i]) part.items[i].fixed_offset = (*offsets)[window.items[i]];
    }
    Budget share(budget_, kStepsOfWindow);
    Offsets found;
    if (PlaceWithin(part, target, &share, &found) != Verdict::kPlaced) return false;
    for (size_t i = 0; i < window.items.size(); ++i) (*offsets)[window.items[i]] = found[i];
    return true;
  }

  const PoolProblem& problem_;
  Budget* budget_;
};

}  // namespace

void LowerByWindows(const PoolProblem& problem, int64_t lower_bound, Budget* budget,
                    Offsets* best) {
  Windows windows(problem, budget);
  BisectPeak(problem, lower_bound, kWindowPrecision, budget, best,
             [&](int64_t peak) { return windows.LowerTo(peak, best); });
}

}  // namespace usmp
