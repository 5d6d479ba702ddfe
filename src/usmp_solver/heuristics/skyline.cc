#include "usmp_solver/heuristics/skyline.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/heuristics/section_floors.h"
#include "usmp_solver/model/live_index.h"

namespace usmp {

namespace {

/*! \brief A waiting item, with a lower bound of its offset. */
struct Waiting {
  int64_t offset;
  int32_t rank;

  bool operator<(const Waiting& other) const {
    return offset != other.offset ? offset < other.offset : rank < other.rank;
  }
};

/*! \brief Restore the heap (the least on top) after its top was changed. */
void SiftDown(std::vector<Waiting>* heap) {
  const size_t size = heap->size();
  const Waiting moved = heap->front();
  size_t hole = 0;
  while (true) {
    size_t child = 2 * hole + 1;
    if (child >= size) break;
    if (child + 1 < size && (*heap)[child + 1] < (*heap)[child]) ++child;
    if (!((*heap)[child] < moved)) break;
    (*heap)[hole] = (*heap)[child];
    hole = child;
  }
  (*heap)[hole] = moved;
}

/*!
 * \brief The skyline, with exceptions for overlaps and pins.
 *
 * Items go above all placed items of their sections. Items with overlaps may go lower, and items
 * that conflict with a pin need gaps, so both compare with the placed items one by one.
 */
class Skyline {
 public:
  Skyline(const PoolProblem& problem, const Separations& separations, Budget* budget)
      : problem_(problem),
        separations_(separations),
        budget_(budget),
        floors_(problem.num_sections),
        offsets_(problem.items.size(), -1),
        looks_closer_(problem.items.size(), false) {
    bool any = false;
    for (size_t i = 0; i < problem.items.size(); ++i) {
      looks_closer_[i] = separations.overlaps_any(i);
      any = any || looks_closer_[i] || problem.items[i].fixed_offset >= 0;
    }
    if (!any) return;
    index_.emplace(problem);
    for (size_t i = 0; i < problem.items.size(); ++i) {
      if (problem.items[i].fixed_offset < 0) continue;
      offsets_[i] = problem.items[i].fixed_offset;
      index_->Place(i);
    }
    MarkPinned();
  }

  /*! \brief Return the lowest feasible offset at or above `lowest`; -1 if it overflows int64. */
  int64_t LowestOffset(int32_t i, int64_t lowest) {
    const PoolProblem::Item& item = problem_.items[i];
    if (looks_closer_[i]) {
      CollectBlocked(problem_, separations_, *index_, offsets_, i, &blocked_);
      budget_->Spend(4 + index_->WorkOf(i) / 8 + 6 * static_cast<int64_t>(blocked_.size()));
      return LowestFree(&blocked_, lowest, item.alignment);
    }
    budget_->Spend(cost_ * item.num_spans);
    for (const PoolProblem::Span& span : problem_.SpansOf(item)) {
      lowest = std::max(lowest, floors_.Max(span.begin, span.end));
    }
    return AlignUp(lowest, item.alignment).value_or(-1);
  }

  void Place(int32_t i, int64_t offset) {
    offsets_[i] = offset;
    const PoolProblem::Item& item = problem_.items[i];
    for (const PoolProblem::Span& span : problem_.SpansOf(item)) {
      floors_.Raise(span.begin, span.end, offset + item.size);
    }
    if (index_) index_->Place(i);
  }

  Offsets&& TakeOffsets() { return std::move(offsets_); }

 private:
  /*! \brief Mark the items that conflict with a pinned one. */
  void MarkPinned() {
    SectionFloors pinned(problem_.num_sections);
    for (const PoolProblem::Item& item : problem_.items) {
      if (item.fixed_offset < 0) continue;
      for (const auto& span : problem_.SpansOf(item)) pinned.Raise(span.begin, span.end, 1);
    }
    for (size_t i = 0; i < problem_.items.size(); ++i) {
      for (const PoolProblem::Span& span : problem_.SpansOf(problem_.items[i])) {
        if (pinned.Max(span.begin, span.end) > 0) looks_closer_[i] = true;
      }
    }
  }

  const PoolProblem& problem_;
  const Separations& separations_;
  Budget* budget_;
  /*! \brief Steps to look at a span; more if the items exceed the caches. */
  const int64_t cost_ = 12 * (1 + static_cast<int64_t>(problem_.items.size() / 25'000));
  SectionFloors floors_;
  Offsets offsets_;
  std::vector<bool> looks_closer_;
  std::optional<LiveIndex> index_;
  std::vector<Blocked> blocked_;
};

}  // namespace

Offsets PlaceFromBelow(const PoolProblem& problem, const Separations& separations,
                       const std::vector<int32_t>& order, int64_t give_up_beyond, Budget* budget) {
  Skyline skyline(problem, separations, budget);
  std::vector<Waiting> heap;
  heap.reserve(order.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (problem.items[order[rank]].fixed_offset >= 0) continue;
    heap.push_back({0, static_cast<int32_t>(rank)});
  }
  while (!heap.empty()) {
    Waiting& next = heap.front();
    const int32_t i = order[next.rank];
    const int64_t offset = skyline.LowestOffset(i, next.offset);
    if (offset < 0) return {};
    const std::optional<int64_t> end = CheckedAdd(offset, problem.items[i].size);
    if (!end || *end > give_up_beyond) return {};
    if (give_up_beyond != kNoLimit && budget->exhausted()) return {};
    if (offset == next.offset) {
      skyline.Place(i, offset);
      next = heap.back();
      heap.pop_back();
      if (heap.empty()) break;
    } else {
      next.offset = offset;
    }
    SiftDown(&heap);
  }
  return skyline.TakeOffsets();
}

}  // namespace usmp
