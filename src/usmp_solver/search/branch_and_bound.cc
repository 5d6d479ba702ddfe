#include "usmp_solver/search/branch_and_bound.h"

#include <algorithm>
#include <utility>

namespace usmp {

namespace {

/*! \brief An unreachable distance: marks an order that is excluded. */
constexpr int64_t kNever = int64_t{1} << 61;

/*! \brief Most orders decided on one path, because each takes stack. */
constexpr size_t kMostOrders = 1'000;

}  // namespace

int64_t BranchAndBound::Align(int64_t position, int32_t item) const {
  return has_alignment_ ? position + Padding(position, problem_.items[item].alignment) : position;
}

BranchAndBound::BranchAndBound(const PoolProblem& problem, const ExactRules& rules)
    : problem_(problem),
      rules_(rules),
      num_items_(static_cast<int32_t>(problem.items.size())),
      placing_(problem),
      next_twin_(rules.twins ? NextTwins(problem) : std::vector<int32_t>(num_items_, -1)),
      is_plain_(problem.overlaps.empty()),
      sections_(problem),
      weights_(problem.num_sections, 1.0) {
  for (const PoolProblem::Item& item : problem.items) {
    has_alignment_ = has_alignment_ || item.alignment > 1;
    is_plain_ = is_plain_ && item.alignment == 1 && item.fixed_offset < 0;
  }
}

Verdict BranchAndBound::Run(int64_t capacity, const std::vector<double>& priorities,
                            int64_t max_nodes, Budget* budget) {
  priorities_ = &priorities;
  budget_ = budget;
  nodes_ = 0;
  max_nodes_ = max_nodes;
  undecided_ = false;
  const bool found = Start(capacity) && Search(AllItems(problem_));
  return found ? Verdict::kPlaced : undecided_ ? Verdict::kUndecided : Verdict::kInfeasible;
}

/*! \brief Mark all items as unplaced, with the heads that pins and twins give. */
bool BranchAndBound::Start(int64_t capacity) {
  Undo(0);
  capacity_ = capacity;
  heads_.assign(num_items_, 0);
  placed_.assign(num_items_, 0);
  holes_.clear();
  num_holes_.assign(num_items_, 0);
  sections_.Reset();
  limits_.clear();
  for (int32_t i = 0; i < num_items_; ++i) {
    const int64_t pin = problem_.items[i].fixed_offset;
    const int64_t highest = capacity_ - problem_.items[i].size;
    limits_.push_back(pin >= 0 ? std::min(pin, highest) : highest);
    if (limits_[i] < std::max<int64_t>(pin, 0)) return false;
    if (pin > 0 && !RaiseHead(i, pin)) return false;
  }
  for (int32_t i = 0; i < num_items_; ++i) {
    const int32_t twin = next_twin_[i];
    if (twin >= 0 && !RaiseHead(twin, Align(heads_[i] + problem_.items[i].size, twin)))
      return false;
  }
  sections_.ForgetChanges();
  return sections_.AllFit(heads_, capacity_, rules_.heads);
}

bool BranchAndBound::Search(std::vector<int32_t> items, bool is_part) {
  while (true) {
    items.erase(std::remove_if(items.begin(), items.end(), [&](int32_t i) { return placed_[i]; }),
                items.end());
    if (items.empty()) return true;
    if (rules_.decomposition && (sections_.MayHaveNewCut() || is_part)) {
      const int32_t cut = FindCut(items);
      if (cut >= 0) return SearchParts(items, cut);
    }
    is_part = false;
    if (++nodes_ > max_nodes_ || !budget_->Spend(static_cast<int64_t>(items.size()) / 2)) {
      undecided_ = true;
      return false;
    }
    int64_t circular = -1;
    const int32_t item = Choose(items, &circular);
    if (circular >= 0) {
      undecided_ = orders_undone_.size() >= 2 * kMostOrders;
      return !undecided_ && SearchOrders(std::move(items), circular);
    }
    const bool is_slab = rules_.slabs && IsSlab(item, items);
    const size_t mark = changes_.size();
    if (Place(item) && Search(items)) return true;
    if (undecided_ || is_slab) return false;
    Undo(mark);
    if (!Refuse(item)) return false;
  }
}

/*! \brief Search the items on both sides of the cut separately, because they are independent. */
bool BranchAndBound::SearchParts(const std::vector<int32_t>& items, int32_t cut) {
  std::vector<int32_t> left;
  std::vector<int32_t> right;
  for (int32_t i : items) {
    (problem_.BeginOf(problem_.items[i]) < cut ? left : right).push_back(i);
  }
  // Search the smaller part first, because it fails sooner.
  if (left.size() > right.size()) std::swap(left, right);
  return Search(std::move(left), /*is_part=*/true) && Search(std::move(right), /*is_part=*/true);
}

/*! \brief Return a section inside the range of the items that none of them enters from the previous
 *         section; -1 if there is none. */
int32_t BranchAndBound::FindCut(const std::vector<int32_t>& items) const {
  int32_t begin = problem_.num_sections;
  int32_t end = 0;
  for (int32_t i : items) {
    const PoolProblem::Item& item = problem_.items[i];
    begin = std::min(begin, problem_.BeginOf(item));
    end = std::max(end, problem_.EndOf(item));
  }
  for (int32_t s = begin + 1; s < end; ++s) {
    if (sections_.IsCut(s)) return s;
  }
  return -1;
}

/*!
 * \brief Return the item of the least head. Among those, prefer items without an unplaced output at
 *        the same head, then the highest priority.
 *
 * \param circular set to a conflict, if outputs at the same head form a cycle.
 */
int32_t BranchAndBound::Choose(const std::vector<int32_t>& items, int64_t* circular) const {
  int32_t best = items.front();
  for (int32_t i : items) {
    if (heads_[i] < heads_[best] ||
        (heads_[i] == heads_[best] && (*priorities_)[i] > (*priorities_)[best])) {
      best = i;
    }
  }
  if (is_plain_) return best;
  const auto output_at = [&](int32_t item) {
    for (int64_t c = placing_.first_conflict[item]; c < placing_.first_conflict[item + 1]; ++c) {
      const PlacingRules::Conflict& conflict = placing_.conflicts[c];
      if (conflict.below > 0 || conflict.above == kNever || placed_[conflict.item]) continue;
      if (heads_[conflict.item] == heads_[item]) return c;
    }
    return int64_t{-1};
  };
  int64_t last = -1;
  int64_t looked_at = 0;
  for (size_t steps = 0; steps <= items.size(); ++steps) {
    const int64_t next = output_at(best);
    if (next < 0) return best;
    looked_at += next + 1 - placing_.first_conflict[best];
    best = placing_.conflicts[next].item;
    last = next;
  }
  budget_->Spend(looked_at / 2);
  *circular = last;
  return best;
}

/*! \brief Search with the other item of the conflict at or below this one, then above. */
bool BranchAndBound::SearchOrders(std::vector<int32_t> items, int64_t conflict) {
  const size_t mark = changes_.size();
  Order(conflict, /*below=*/true);
  if (Search(items)) return true;
  if (undecided_) return false;
  Undo(mark);
  Order(conflict, /*below=*/false);
  return Search(std::move(items));
}

void BranchAndBound::Order(int64_t conflict, bool below) {
  const int64_t mirror = Mirror(conflict);
  changes_.push_back({Change::kOrder, static_cast<int32_t>(orders_undone_.size()), conflict});
  orders_undone_.push_back(placing_.conflicts[conflict]);
  orders_undone_.push_back(placing_.conflicts[mirror]);
  if (below) {
    placing_.conflicts[conflict].above = placing_.conflicts[mirror].below = kNever;
  } else {
    placing_.conflicts[conflict].below = placing_.conflicts[mirror].above = kNever;
  }
}

/*! \brief Return the same conflict, from the point of view of the other item. */
int64_t BranchAndBound::Mirror(int64_t conflict) const {
  const auto owner =
      std::upper_bound(placing_.first_conflict.begin(), placing_.first_conflict.end(), conflict);
  const int32_t item = static_cast<int32_t>(owner - placing_.first_conflict.begin()) - 1;
  int64_t mirror = placing_.first_conflict[placing_.conflicts[conflict].item];
  while (placing_.conflicts[mirror].item != item) ++mirror;
  return mirror;
}

/*!
 * \brief Return whether the item can be assumed to be the lowest.
 *
 * It is live in all sections of the other items, and all have one head and no holes. Then it can be
 * taken out of any placement and put below all others, which move up by its size.
 */
bool BranchAndBound::IsSlab(int32_t item, const std::vector<int32_t>& items) const {
  const PoolProblem::Item& lowest = problem_.items[item];
  if (!is_plain_ || lowest.num_spans != 1) return false;
  for (int32_t i : items) {
    const PoolProblem::Item& other = problem_.items[i];
    if (problem_.BeginOf(other) < problem_.BeginOf(lowest)) return false;
    if (problem_.EndOf(other) > problem_.EndOf(lowest)) return false;
    if (heads_[i] != heads_[item] || num_holes_[i] > 0) return false;
  }
  return true;
}

bool BranchAndBound::Place(int32_t item) {
  const int64_t offset = heads_[item];
  changes_.push_back({Change::kPlaced, item, 0});
  placed_[item] = 1;
  sections_.Place(item);
  for (int64_t c = placing_.first_conflict[item]; c < placing_.first_conflict[item + 1]; ++c) {
    const PlacingRules::Conflict& conflict = placing_.conflicts[c];
    if (placed_[conflict.item]) continue;
    if (conflict.above == kNever) {
      // The other item may not start above this one, and it cannot start lower.
      if (conflict.below > 0 || heads_[conflict.item] > offset) {
        return Fail(problem_.BeginOf(problem_.items[item]));
      }
      changes_.push_back({Change::kLimit, conflict.item, limits_[conflict.item]});
      limits_[conflict.item] = std::min(limits_[conflict.item], offset);
      continue;
    }
    const int64_t head = Align(offset + conflict.above, conflict.item);
    if (head > heads_[conflict.item] && !RaiseHead(conflict.item, head)) return false;
  }
  budget_->Spend((placing_.first_conflict[item + 1] - placing_.first_conflict[item]) / 2);
  return CheckSections() && CheckHoles(item);
}

/*! \brief Rule out the item's head as its offset. */
bool BranchAndBound::Refuse(int32_t item) {
  if (problem_.items[item].fixed_offset >= 0) return false;
  int64_t head = kNoLimit;
  for (int64_t c = placing_.first_conflict[item]; c < placing_.first_conflict[item + 1]; ++c) {
    const PlacingRules::Conflict& conflict = placing_.conflicts[c];
    if (placed_[conflict.item]) continue;
    head = std::min(head, heads_[conflict.item] + conflict.below);
  }
  if (head > capacity_) return false;
  if (!rules_.supports) head = heads_[item] + 1;
  head = std::max(head, heads_[item] + 1);
  if (rules_.blocked_holes) {
    changes_.push_back({Change::kHole, item, 0});
    holes_.push_back({item, heads_[item], placing_.first_conflict[item]});
    ++num_holes_[item];
  }
  if (!RaiseHead(item, Align(head, item))) return false;
  return CheckSections() && CheckHoles(item);
}

bool BranchAndBound::RaiseHead(int32_t item, int64_t head) {
  while (head > heads_[item] && !placed_[item]) {
    if (head > limits_[item]) {
      return Fail(problem_.BeginOf(problem_.items[item]));
    }
    changes_.push_back({Change::kHead, item, heads_[item]});
    heads_[item] = head;
    sections_.Raise(item, head);
    const int32_t twin = next_twin_[item];
    if (twin < 0) break;
    head = Align(head + problem_.items[item].size, twin);
    item = twin;
  }
  return true;
}

bool BranchAndBound::CheckSections() {
  const int32_t misfit = sections_.FindMisfit(heads_, capacity_, rules_.heads, budget_);
  return misfit < 0 || Fail(misfit);
}

/*!
 * \brief Return whether another item covers, or can still cover, each refused place.
 *
 * Items placed after the refused item are above it, so they cannot cover that place.
 */
bool BranchAndBound::CheckHoles(int32_t placed_now) {
  for (Hole& hole : holes_) {
    if (placed_[hole.item] && hole.item != placed_now) continue;
    if (!IsTaken(&hole)) return Fail(problem_.BeginOf(problem_.items[hole.item]));
  }
  budget_->Spend(static_cast<int64_t>(holes_.size()) / 2);
  return true;
}

bool BranchAndBound::IsTaken(Hole* hole) {
  const auto takes = [&](const PlacingRules::Conflict& conflict) {
    if (heads_[conflict.item] >= hole->offset + conflict.above) return false;
    return !placed_[conflict.item] || heads_[conflict.item] + conflict.below > hole->offset;
  };
  // Remains valid on backtracking, because heads only get lower.
  if (takes(placing_.conflicts[hole->watched])) return true;
  const int64_t end = placing_.first_conflict[hole->item + 1];
  for (int64_t c = placing_.first_conflict[hole->item]; c < end; ++c) {
    if (!takes(placing_.conflicts[c])) continue;
    hole->watched = c;
    return true;
  }
  budget_->Spend((end - placing_.first_conflict[hole->item]) / 2);
  return false;
}

bool BranchAndBound::Fail(int32_t section) {
  weights_[section] += 1.0;
  sections_.ForgetChanges();
  return false;
}

void BranchAndBound::Undo(size_t mark) {
  while (changes_.size() > mark) {
    const Change change = changes_.back();
    changes_.pop_back();
    const int32_t item = change.item;
    if (change.kind == Change::kHead) {
      heads_[item] = change.old;
    } else if (change.kind == Change::kHole) {
      holes_.pop_back();
      --num_holes_[item];
    } else if (change.kind == Change::kLimit) {
      limits_[item] = change.old;
    } else if (change.kind == Change::kOrder) {
      placing_.conflicts[Mirror(change.old)] = orders_undone_.back();
      orders_undone_.pop_back();
      placing_.conflicts[change.old] = orders_undone_.back();
      orders_undone_.pop_back();
    } else {
      placed_[item] = 0;
      sections_.Reopen(item, heads_[item]);
    }
  }
}

}  // namespace usmp
