#include "branch_and_bound.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "scale.h"

namespace usmp {

namespace {

/*! \brief A distance that nothing keeps: the two do not come in this order. */
constexpr int64_t kNever = int64_t{1} << 61;

/*! \brief By item and output of a safe overlap with it, the distance. */
using Distances = std::map<std::pair<int32_t, int32_t>, int64_t>;

}  // namespace

template <typename Visit>
void BranchAndBound::ForSections(int32_t item, Visit visit) const {
  const PoolProblem::Item& it = problem_.items[item];
  for (int32_t k = 0; k < it.num_spans; ++k) {
    const Span& span = problem_.spans[it.first_span + k];
    for (int32_t s = span.begin; s < span.end; ++s) visit(s);
  }
}

int64_t BranchAndBound::Align(int64_t position, int32_t item) const {
  if (!has_alignment_) return position;
  const int64_t beyond = position % alignments_[item];
  return beyond == 0 ? position : position + alignments_[item] - beyond;
}

BranchAndBound::BranchAndBound(const PoolProblem& problem, const ExactRules& rules)
    : problem_(problem),
      rules_(rules),
      num_items_(static_cast<int32_t>(problem.items.size())),
      next_twin_(problem.items.size(), -1),
      weights_(problem.num_sections, 1.0) {
  for (const PoolProblem::Item& item : problem.items) {
    sizes_.push_back(item.size);
    alignments_.push_back(item.alignment);
    has_alignment_ = has_alignment_ || item.alignment > 1;
    is_plain_ = is_plain_ && item.alignment == 1 && item.fixed_offset < 0;
  }
  is_plain_ = is_plain_ && problem.overlaps.empty();
  own_bytes_ = sizes_;
  const bool circular = HasCircle(problem, kNoLimit);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    // What the output has beyond all inputs that it may lie over, whatever their places.
    const int64_t shared =
        std::min(sizes_[overlap.output] - overlap.distance, sizes_[overlap.input]);
    own_bytes_[overlap.output] = std::max<int64_t>(0, own_bytes_[overlap.output] - shared);
    // Where outputs and inputs go round in circles, neither comes first.
    if (circular) {
      own_bytes_[overlap.input] = std::max<int64_t>(0, own_bytes_[overlap.input] - shared);
    }
  }
  std::vector<int64_t> count(problem.num_sections, 0);
  first_place_.assign(1, 0);
  for (int32_t i = 0; i < num_items_; ++i) {
    ForSections(i, [&](int32_t s) { ++count[s]; });
    int64_t sections = 0;
    ForSections(i, [&](int32_t) { ++sections; });
    first_place_.push_back(first_place_.back() + sections);
  }
  first_member_.assign(1, 0);
  for (int64_t members : count) first_member_.push_back(first_member_.back() + members);
  members_.resize(first_member_.back());
  places_.resize(first_member_.back());
  place_of_member_.resize(first_member_.back());
  std::vector<int64_t> next = first_member_;
  for (int32_t i = 0; i < num_items_; ++i) {
    int64_t place = first_place_[i];
    ForSections(i, [&](int32_t s) {
      members_[next[s]] = i;
      places_[place] = static_cast<int32_t>(next[s] - first_member_[s]);
      place_of_member_[next[s]++] = place++;
    });
  }
  const int64_t most = count.empty() ? 0 : *std::max_element(count.begin(), count.end());
  section_heads_.resize(most);
  section_bytes_.resize(most);
  FindConflicts();
  if (rules.twins) FindTwins();
}

void BranchAndBound::FindConflicts() {
  Distances distances;
  for (const PoolProblem::Overlap& o : problem_.overlaps)
    distances[{o.output, o.input}] = o.distance;
  const auto separation = [&](int32_t lower, int32_t upper) {
    if (distances.empty()) return sizes_[lower];
    const auto it = distances.find({lower, upper});
    return it == distances.end() ? sizes_[lower] : it->second;
  };
  first_conflict_.assign(1, 0);
  std::vector<int32_t> last_seen(num_items_, -1);
  for (int32_t i = 0; i < num_items_; ++i) {
    last_seen[i] = i;
    ForSections(i, [&](int32_t s) {
      for (int64_t m = first_member_[s]; m < first_member_[s + 1]; ++m) {
        const int32_t other = members_[m];
        if (last_seen[other] == i) continue;
        last_seen[other] = i;
        const int64_t above = separation(i, other);
        const int64_t below = separation(other, i);
        // Either order is safe at any distance: no conflict.
        if (above == 0 && below == 0) continue;
        conflicts_.push_back({other, above, below});
      }
    });
    first_conflict_.push_back(static_cast<int64_t>(conflicts_.size()));
  }
}

/*! \brief Items that are alike may be exchanged, so one order of them is enough. */
void BranchAndBound::FindTwins() {
  std::vector<char> overlaps(num_items_, 0);
  for (const PoolProblem::Overlap& o : problem_.overlaps)
    overlaps[o.output] = overlaps[o.input] = 1;
  std::map<std::tuple<int64_t, int64_t, std::vector<std::pair<int32_t, int32_t>>>, int32_t> last;
  for (int32_t i = 0; i < num_items_; ++i) {
    const PoolProblem::Item& item = problem_.items[i];
    if (overlaps[i] || item.fixed_offset >= 0) continue;
    std::vector<std::pair<int32_t, int32_t>> spans;
    for (int32_t k = 0; k < item.num_spans; ++k) {
      const Span& span = problem_.spans[item.first_span + k];
      spans.emplace_back(span.begin, span.end);
    }
    const auto [it, inserted] =
        last.emplace(std::tuple(item.size, item.alignment, std::move(spans)), i);
    if (inserted) continue;
    next_twin_[it->second] = i;
    it->second = i;
  }
}

Verdict BranchAndBound::Run(int64_t capacity, const std::vector<double>& priorities,
                            int64_t max_nodes, Budget* budget) {
  priorities_ = &priorities;
  budget_ = budget;
  nodes_ = 0;
  max_nodes_ = max_nodes;
  undecided_ = false;
  std::vector<int32_t> items(num_items_);
  std::iota(items.begin(), items.end(), 0);
  const bool found = Start(capacity) && Search(std::move(items));
  total_nodes_ += nodes_;
  return found ? Verdict::kPlaced : undecided_ ? Verdict::kUndecided : Verdict::kInfeasible;
}

/*! \brief Nothing is placed; heads are what pins and twins say. */
bool BranchAndBound::Start(int64_t capacity) {
  Undo(0);
  capacity_ = capacity;
  heads_.assign(num_items_, 0);
  placed_.assign(num_items_, 0);
  holes_.clear();
  num_holes_.assign(num_items_, 0);
  ForgetTouched();
  is_touched_.assign(problem_.num_sections, 0);
  open_bytes_.assign(problem_.num_sections, 0);
  highest_head_.assign(problem_.num_sections, 0);
  crossing_.assign(problem_.num_sections + 1, 0);
  first_in_.assign(problem_.num_sections, 0);
  last_in_.assign(problem_.num_sections, 0);
  num_open_.clear();
  for (int32_t s = 0; s < problem_.num_sections; ++s) {
    num_open_.push_back(static_cast<int32_t>(first_member_[s + 1] - first_member_[s]));
  }
  for (int32_t i = 0; i < num_items_; ++i) {
    ForSections(i, [&](int32_t s) { open_bytes_[s] += own_bytes_[i]; });
    CountEnds(i, 1);
  }
  may_have_cut_ = true;
  limits_.clear();
  for (int32_t i = 0; i < num_items_; ++i) {
    const int64_t pin = problem_.items[i].fixed_offset;
    limits_.push_back(pin >= 0 ? std::min(pin, capacity_ - sizes_[i]) : capacity_ - sizes_[i]);
    if (limits_[i] < std::max<int64_t>(pin, 0)) return false;
    if (pin > 0 && !RaiseHead(i, pin)) return false;
  }
  for (int32_t i = 0; i < num_items_; ++i) {
    const int32_t twin = next_twin_[i];
    if (twin >= 0 && !RaiseHead(twin, Align(heads_[i] + sizes_[i], twin))) return false;
  }
  for (int32_t s = 0; s < problem_.num_sections; ++s) {
    if (!SectionFits(s)) return false;
  }
  ForgetTouched();
  return true;
}

bool BranchAndBound::Search(std::vector<int32_t> items) {
  while (true) {
    items.erase(std::remove_if(items.begin(), items.end(), [&](int32_t i) { return placed_[i]; }),
                items.end());
    if (items.empty()) return true;
    if (may_have_cut_ && rules_.decomposition) {
      const int32_t cut = FindCut(items);
      if (cut >= 0) return SearchParts(items, cut);
      may_have_cut_ = false;
    }
    if (++nodes_ > max_nodes_ || !budget_->Spend(static_cast<int64_t>(items.size()) / 2)) {
      undecided_ = true;
      return false;
    }
    int64_t circular = -1;
    const int32_t item = Choose(items, &circular);
    if (circular >= 0) return SearchOrders(std::move(items), circular);
    const bool is_slab = rules_.slabs && IsSlab(item, items);
    const size_t mark = changes_.size();
    if (Place(item) && Search(items)) return true;
    if (undecided_ || is_slab) return false;
    Undo(mark);
    if (!Refuse(item)) return false;
  }
}

/*! \brief The items on both sides of the cut have nothing to do with each other any more. */
bool BranchAndBound::SearchParts(const std::vector<int32_t>& items, int32_t cut) {
  std::vector<int32_t> left;
  std::vector<int32_t> right;
  for (int32_t i : items) {
    (problem_.spans[problem_.items[i].first_span].begin < cut ? left : right).push_back(i);
  }
  // The smaller first: if it fails, it does so sooner.
  if (left.size() > right.size()) std::swap(left, right);
  may_have_cut_ = true;
  if (!Search(std::move(left))) return false;
  may_have_cut_ = true;
  return Search(std::move(right));
}

/*! \brief A section between the items into which none of them reaches from the one before; -1 if
 *         there is none. */
int32_t BranchAndBound::FindCut(const std::vector<int32_t>& items) const {
  int32_t begin = problem_.num_sections;
  int32_t end = 0;
  for (int32_t i : items) {
    const PoolProblem::Item& item = problem_.items[i];
    begin = std::min(begin, problem_.spans[item.first_span].begin);
    end = std::max(end, problem_.spans[item.first_span + item.num_spans - 1].end);
  }
  for (int32_t s = begin + 1; s < end; ++s) {
    if (crossing_[s] == 0) return s;
  }
  return -1;
}

/*!
 * \brief The item of the least head; of these one that nothing can lie below, and of these the one
 *        of the highest priority.
 *
 * \param circular a conflict that keeps all of them from that, if there is one: an output that may
 *        yet be at the very offset of its input.
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
    for (int64_t c = first_conflict_[item]; c < first_conflict_[item + 1]; ++c) {
      const Conflict& conflict = conflicts_[c];
      if (conflict.below > 0 || conflict.above == kNever || placed_[conflict.item]) continue;
      if (heads_[conflict.item] == heads_[item]) return c;
    }
    return int64_t{-1};
  };
  int64_t last = -1;
  for (size_t steps = 0; steps <= items.size(); ++steps) {
    const int64_t next = output_at(best);
    if (next < 0) return best;
    best = conflicts_[next].item;
    last = next;
  }
  *circular = last;
  return best;
}

/*! \brief Search with the other item of the conflict at or below this one, then with it above. */
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
  orders_undone_.push_back(conflicts_[conflict]);
  orders_undone_.push_back(conflicts_[mirror]);
  if (below) {
    conflicts_[conflict].above = conflicts_[mirror].below = kNever;
  } else {
    conflicts_[conflict].below = conflicts_[mirror].above = kNever;
  }
}

/*! \brief The same conflict, of the other item to this one. */
int64_t BranchAndBound::Mirror(int64_t conflict) const {
  const auto owner = std::upper_bound(first_conflict_.begin(), first_conflict_.end(), conflict);
  const int32_t item = static_cast<int32_t>(owner - first_conflict_.begin()) - 1;
  int64_t mirror = first_conflict_[conflicts_[conflict].item];
  while (conflicts_[mirror].item != item) ++mirror;
  return mirror;
}

/*!
 * \brief Whether the item is live in all sections of the rest, while nothing has been placed in
 * any.
 *
 * It may then as well be the lowest: take it out of a placement, move down by its size all that was
 * above it, and put it below everything.
 */
bool BranchAndBound::IsSlab(int32_t item, const std::vector<int32_t>& items) const {
  if (!is_plain_ || problem_.items[item].num_spans != 1) return false;
  const Span& span = problem_.spans[problem_.items[item].first_span];
  for (int32_t i : items) {
    const PoolProblem::Item& other = problem_.items[i];
    if (problem_.spans[other.first_span].begin < span.begin) return false;
    if (problem_.spans[other.first_span + other.num_spans - 1].end > span.end) return false;
    if (heads_[i] != heads_[item] || num_holes_[i] > 0) return false;
  }
  return true;
}

bool BranchAndBound::Place(int32_t item) {
  const int64_t offset = heads_[item];
  changes_.push_back({Change::kPlaced, item, 0});
  placed_[item] = 1;
  int64_t place = first_place_[item];
  ForSections(item, [&](int32_t s) {
    // Behind the open ones; leaving the node takes it back in reverse order.
    const int64_t first = first_member_[s];
    const int64_t from = first + places_[place];
    const int64_t to = first + --num_open_[s];
    std::swap(members_[from], members_[to]);
    std::swap(place_of_member_[from], place_of_member_[to]);
    places_[place_of_member_[from]] = static_cast<int32_t>(from - first);
    places_[place_of_member_[to]] = static_cast<int32_t>(to - first);
    ++place;
    open_bytes_[s] -= own_bytes_[item];
    if (!is_touched_[s]) {
      is_touched_[s] = 1;
      touched_.push_back(s);
    }
  });
  CountEnds(item, -1);
  for (int64_t c = first_conflict_[item]; c < first_conflict_[item + 1]; ++c) {
    const Conflict& conflict = conflicts_[c];
    if (placed_[conflict.item]) continue;
    if (conflict.above == kNever) {
      // It is not above and can be no lower.
      if (conflict.below > 0 || heads_[conflict.item] > offset) {
        return Fail(problem_.spans[problem_.items[item].first_span].begin);
      }
      changes_.push_back({Change::kLimit, conflict.item, limits_[conflict.item]});
      limits_[conflict.item] = std::min(limits_[conflict.item], offset);
      continue;
    }
    const int64_t head = Align(offset + conflict.above, conflict.item);
    if (head > heads_[conflict.item] && !RaiseHead(conflict.item, head)) return false;
  }
  budget_->Spend((first_conflict_[item + 1] - first_conflict_[item]) / 2);
  return CheckSections() && CheckHoles(item);
}

/*! \brief The item is not at its head. */
bool BranchAndBound::Refuse(int32_t item) {
  if (problem_.items[item].fixed_offset >= 0) return false;
  int64_t head = kNoLimit;
  for (int64_t c = first_conflict_[item]; c < first_conflict_[item + 1]; ++c) {
    const Conflict& conflict = conflicts_[c];
    if (placed_[conflict.item]) continue;
    head = std::min(head, heads_[conflict.item] + conflict.below);
  }
  if (head > capacity_) return false;
  if (!rules_.supports) head = heads_[item] + 1;
  head = std::max(head, heads_[item] + 1);
  if (rules_.blocked_holes) {
    changes_.push_back({Change::kHole, item, 0});
    holes_.push_back({item, heads_[item], first_conflict_[item]});
    ++num_holes_[item];
  }
  if (!RaiseHead(item, Align(head, item))) return false;
  return CheckSections() && CheckHoles(item);
}

bool BranchAndBound::RaiseHead(int32_t item, int64_t head) {
  while (head > heads_[item] && !placed_[item]) {
    if (head > limits_[item]) {
      return Fail(problem_.spans[problem_.items[item].first_span].begin);
    }
    changes_.push_back({Change::kHead, item, heads_[item]});
    heads_[item] = head;
    ForSections(item, [&](int32_t s) {
      highest_head_[s] = std::max(highest_head_[s], head);
      if (is_touched_[s]) return;
      is_touched_[s] = 1;
      touched_.push_back(s);
    });
    const int32_t twin = next_twin_[item];
    if (twin < 0) break;
    head = Align(head + sizes_[item], twin);
    item = twin;
  }
  return true;
}

bool BranchAndBound::CheckSections() {
  int64_t looked_at = 0;
  for (int32_t s : touched_) {
    ++looked_at;
    if (highest_head_[s] + open_bytes_[s] <= capacity_ || IsDominated(s)) continue;
    looked_at += num_open_[s];
    if (!SectionFits(s)) {
      budget_->Spend(looked_at);
      return Fail(s);
    }
  }
  budget_->Spend(looked_at);
  ForgetTouched();
  return true;
}

/*! \brief Whether all open items of the section are in its neighbour too, which is looked at
 * instead: a change that touches this one touches that one. */
bool BranchAndBound::IsDominated(int32_t section) const {
  if (section + 1 < problem_.num_sections && last_in_[section] == 0) return true;
  return section > 0 && first_in_[section] == 0 && last_in_[section - 1] > 0;
}

/*! \brief Count the item among the open ones that begin and end in its sections, or no more. */
void BranchAndBound::CountEnds(int32_t item, int32_t by) {
  const PoolProblem::Item& it = problem_.items[item];
  for (int32_t k = 0; k < it.num_spans; ++k) {
    first_in_[problem_.spans[it.first_span + k].begin] += by;
    last_in_[problem_.spans[it.first_span + k].end - 1] += by;
  }
  const int32_t begin = problem_.spans[it.first_span].begin;
  const int32_t end = problem_.spans[it.first_span + it.num_spans - 1].end;
  for (int32_t s = begin + 1; s < end; ++s) {
    crossing_[s] += by;
    may_have_cut_ = may_have_cut_ || crossing_[s] == 0;
  }
}

/*! \brief Whether the open items of the section can follow each other, none before its head. */
bool BranchAndBound::SectionFits(int32_t section) {
  const int32_t* members = members_.data() + first_member_[section];
  const int32_t count = num_open_[section];
  int64_t lowest = kNoLimit;
  int64_t highest = 0;
  for (int32_t m = 0; m < count; ++m) {
    const int64_t head = heads_[members[m]];
    section_heads_[m] = head;
    lowest = std::min(lowest, head);
    highest = std::max(highest, head);
  }
  highest_head_[section] = highest;
  const int64_t bytes = open_bytes_[section];
  if (highest + bytes <= capacity_) return true;
  if (count == 0) return true;
  if (lowest + bytes > capacity_) return false;
  if (!rules_.heads) return true;
  for (int32_t m = 0; m < count; ++m) section_bytes_[m] = own_bytes_[members[m]];
  // Up to `end` what has its head there can follow without a gap; the least head beyond is a gap.
  int64_t slack = capacity_ - lowest - bytes;
  int64_t end = lowest;
  int64_t start = lowest;
  while (true) {
    int64_t below = 0;
    int64_t next = kNoLimit;
    for (int32_t m = 0; m < count; ++m) {
      const bool is_below = section_heads_[m] <= end;
      below += is_below ? section_bytes_[m] : 0;
      next = std::min(next, is_below ? kNoLimit : section_heads_[m]);
    }
    if (next == kNoLimit) return true;
    if (start + below > end) {
      end = start + below;
      if (end >= highest) return true;
      continue;
    }
    slack -= next - end;
    if (slack < 0) return false;
    start += next - end;
    end = next;
  }
}

/*!
 * \brief Whether each hole that an item was refused is taken by something else, or still can be.
 *
 * What is placed after the item itself lies above it, so then nothing can any more.
 */
bool BranchAndBound::CheckHoles(int32_t placed_now) {
  for (Hole& hole : holes_) {
    if (placed_[hole.item] && hole.item != placed_now) continue;
    if (!IsTaken(&hole)) return Fail(problem_.spans[problem_.items[hole.item].first_span].begin);
  }
  budget_->Spend(static_cast<int64_t>(holes_.size()) / 2);
  return true;
}

bool BranchAndBound::IsTaken(Hole* hole) {
  const auto takes = [&](const Conflict& conflict) {
    if (heads_[conflict.item] >= hole->offset + conflict.above) return false;
    return !placed_[conflict.item] || heads_[conflict.item] + conflict.below > hole->offset;
  };
  // What was found stays right when nodes are left: heads only become lower then.
  if (takes(conflicts_[hole->watched])) return true;
  const int64_t end = first_conflict_[hole->item + 1];
  for (int64_t c = first_conflict_[hole->item]; c < end; ++c) {
    if (!takes(conflicts_[c])) continue;
    hole->watched = c;
    return true;
  }
  budget_->Spend((end - first_conflict_[hole->item]) / 2);
  return false;
}

bool BranchAndBound::Fail(int32_t section) {
  weights_[section] += 1.0;
  ForgetTouched();
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
      conflicts_[Mirror(change.old)] = orders_undone_.back();
      orders_undone_.pop_back();
      conflicts_[change.old] = orders_undone_.back();
      orders_undone_.pop_back();
    } else {
      placed_[item] = 0;
      ForSections(item, [&](int32_t s) {
        ++num_open_[s];
        open_bytes_[s] += own_bytes_[item];
        highest_head_[s] = std::max(highest_head_[s], heads_[item]);
      });
      CountEnds(item, 1);
    }
  }
}

void BranchAndBound::ForgetTouched() {
  for (int32_t s : touched_) is_touched_[s] = 0;
  touched_.clear();
}

}  // namespace usmp
