#include "usmp_solver/search/start_ranges.h"

#include <algorithm>

#include "usmp_solver/search/placing_rules.h"

namespace usmp {

namespace {

/*! \brief Return the greatest multiple that is at most `value`, which may be negative. */
int64_t RoundDown(int64_t value, int64_t multiple) {
  const int64_t rest = value % multiple;
  return value - (rest < 0 ? rest + multiple : rest);
}

int64_t RoundUp(int64_t value, int64_t multiple) { return value + Padding(value, multiple); }

/*! \brief Return the least value that rounds up to `need` or more. */
int64_t LeastRoundedUpTo(int64_t need, int64_t multiple) {
  return RoundDown(need - 1, multiple) + 1;
}

}  // namespace

StartRanges::StartRanges(const PoolProblem& problem)
    : problem_(problem), orders_(problem.items.size()), is_queued_(problem.items.size(), 0) {
  const PlacingRules rules(problem);
  for (int32_t a = 0; a < static_cast<int32_t>(problem.items.size()); ++a) {
    for (int64_t c = rules.first_conflict[a]; c < rules.first_conflict[a + 1]; ++c) {
      const PlacingRules::Conflict& conflict = rules.conflicts[c];
      if (conflict.item < a) continue;
      const Order order = static_cast<Order>(lower_.size());
      lower_.insert(lower_.end(), {a, conflict.item});
      above_.insert(above_.end(), {conflict.above, conflict.below});
      orders_[a].push_back(order);
      orders_[conflict.item].push_back(Reverse(order));
    }
  }
  holds_.assign(lower_.size(), 0);
}

bool StartRanges::Reset(int64_t capacity, Budget* budget, std::vector<Refused>* refused) {
  std::fill(holds_.begin(), holds_.end(), 0);
  changes_.clear();
  for (const Side side : {kEarliest, kLatest}) last_[side].clear();
  bool fits = true;
  for (int32_t i = 0; i < static_cast<int32_t>(problem_.items.size()); ++i) {
    const PoolProblem::Item& item = problem_.items[i];
    const bool is_pinned = item.fixed_offset >= 0;
    const int64_t highest = RoundDown(capacity - item.size, item.alignment);
    const int64_t earliest = is_pinned ? item.fixed_offset : 0;
    const int64_t latest = is_pinned ? std::min(item.fixed_offset, highest) : highest;
    fits = fits && earliest <= latest;
    last_[kEarliest].push_back(static_cast<int32_t>(changes_.size()));
    changes_.push_back({i, kEarliest, earliest, -1, -1});
    last_[kLatest].push_back(static_cast<int32_t>(changes_.size()));
    changes_.push_back({i, kLatest, -latest, -1, -1});
  }
  for (int32_t i = 0; fits && i < static_cast<int32_t>(problem_.items.size()); ++i) {
    Refuse(kEarliest, i, budget, refused);
  }
  return fits;
}

bool StartRanges::Decide(Order order, Budget* budget, std::vector<Refused>* refused,
                         std::vector<Order>* why) {
  holds_[order] = 1;
  // A change of its own, so that `Undo` finds the order even if it moves no start.
  changes_.push_back({-1, kEarliest, 0, order, -1});
  return Rise(kEarliest, order, budget, refused, why) && Rise(kLatest, order, budget, refused, why);
}

bool StartRanges::Rise(Side side, Order first, Budget* budget, std::vector<Refused>* refused,
                       std::vector<Order>* why) {
  const auto raise = [&](Order order) {
    const int32_t item = to(side, order);
    const int64_t alignment = problem_.items[item].alignment;
    const int64_t risen = RoundUp(value(side, from(side, order)) + above_[order], alignment);
    if (risen <= value(side, item)) return true;
    changes_.push_back({item, side, risen, order, last_[side][item]});
    last_[side][item] = static_cast<int32_t>(changes_.size()) - 1;
    const Side other = side == kEarliest ? kLatest : kEarliest;
    if (risen + value(other, item) > 0) {
      Explain(other, item, value(other, item), why);
      Explain(side, item, 1 - value(other, item), why);
      return false;
    }
    if (item == from(side, first)) {
      ExplainCircle(side, first, why);
      return false;
    }
    if (!is_queued_[item]) {
      is_queued_[item] = 1;
      queue_.push_back(item);
    }
    return true;
  };
  bool possible = raise(first);
  for (size_t next = 0; possible && next < queue_.size(); ++next) {
    const int32_t item = queue_[next];
    is_queued_[item] = 0;
    budget->Spend(static_cast<int64_t>(orders_[item].size()));
    for (Order order : orders_[item]) {
      // Orders are listed at their lower items. The latest starts propagate from upper to lower
      // items.
      const Order along = side == kEarliest ? order : Reverse(order);
      if (holds_[along] && !(possible = raise(along))) break;
    }
    if (possible) Refuse(side, item, budget, refused);
  }
  for (int32_t item : queue_) is_queued_[item] = 0;
  queue_.clear();
  return possible;
}

/*! \brief Add to `why` the orders of the cycle through `first`. */
void StartRanges::ExplainCircle(Side side, Order first, std::vector<Order>* why) const {
  Order order = -1;
  for (int32_t item = from(side, first); order != first; item = from(side, order)) {
    order = changes_[last_[side][item]].order;
    why->push_back(order);
  }
}

/*! \brief Add to `refused` the open orders that the new start of the item excludes. */
void StartRanges::Refuse(Side side, int32_t item, Budget* budget,
                         std::vector<Refused>* refused) const {
  const Side other = side == kEarliest ? kLatest : kEarliest;
  budget->Spend(static_cast<int64_t>(orders_[item].size()));
  for (Order each : orders_[item]) {
    const Order order = side == kEarliest ? each : Reverse(each);
    if (holds_[order] || holds_[Reverse(order)]) continue;
    const int32_t end = to(side, order);
    const int64_t risen = RoundUp(value(side, item) + above_[order], problem_.items[end].alignment);
    if (risen + value(other, end) > 0) refused->push_back({order, latest(upper(order))});
  }
}

void StartRanges::Explain(const Refused& refused, std::vector<Order>* why) const {
  const Order order = refused.order;
  Explain(kLatest, upper(order), -refused.latest, why);
  const int64_t alignment = problem_.items[upper(order)].alignment;
  Explain(kEarliest, lower(order), LeastRoundedUpTo(refused.latest + 1, alignment) - above_[order],
          why);
}

void StartRanges::Explain(Side side, int32_t item, int64_t need, std::vector<Order>* why) const {
  while (true) {
    const Change* change = &changes_[last_[side][item]];
    while (change->before >= 0 && changes_[change->before].value >= need) {
      change = &changes_[change->before];
    }
    if (change->order < 0) return;
    why->push_back(change->order);
    need = LeastRoundedUpTo(need, problem_.items[item].alignment) - above_[change->order];
    item = from(side, change->order);
  }
}

void StartRanges::Undo(size_t mark) {
  while (changes_.size() > mark) {
    const Change& change = changes_.back();
    if (change.item < 0) {
      holds_[change.order] = 0;
    } else {
      last_[change.side][change.item] = change.before;
    }
    changes_.pop_back();
  }
}

Offsets StartRanges::earliest() const {
  Offsets offsets;
  for (size_t i = 0; i < problem_.items.size(); ++i) {
    offsets.push_back(value(kEarliest, static_cast<int32_t>(i)));
  }
  return offsets;
}

}  // namespace usmp
