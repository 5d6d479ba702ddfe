#include "usmp_solver/improvement/ordered_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace usmp {

OrderedPlan::OrderedPlan(const Problem& problem, const ConflictGraph& conflicts, Placements fixed)
    : problem_(problem),
      conflicts_(conflicts),
      placer_(problem, conflicts, std::move(fixed)),
      fixed_peaks_(Peaks(problem, placer_.placements())) {
  placer_.RankBy(&ranks_);
}

Solution OrderedPlan::Result() const {
  Solution result = placer_.Result(std::nullopt);
  result.work = work_;
  return result;
}

void OrderedPlan::SetOrder(std::vector<size_t> order) {
  order_ = std::move(order);
  ranks_.assign(problem_.buffers.size(), 0);
  for (size_t k = 0; k < order_.size(); ++k) ranks_[order_[k]] = k + 1;
  plan_ranks_ = ranks_;
  touched_.clear();
  marked_.assign(problem_.buffers.size(), false);
  beyond_.assign(problem_.buffers.size(), false);
}

OrderedPlan::Outcome OrderedPlan::Start(std::vector<size_t> order) {
  SetOrder(std::move(order));
  for (size_t b : order_) {
    placer_.Remove(b);
    marked_[b] = true;
  }
  return *Update(std::numeric_limits<int64_t>::max());
}

OrderedPlan::Outcome OrderedPlan::Start(std::vector<size_t> order, const Placements& plan) {
  SetOrder(std::move(order));
  for (size_t b : order_) placer_.Restore(b, plan[b]);
  return {WorkspaceTotal(problem_, Peaks(problem_, plan)), true};
}

void OrderedPlan::Swap(size_t lhs, size_t rhs) {
  if (lhs == rhs) return;
  std::swap(order_[lhs], order_[rhs]);
  for (size_t k : {lhs, rhs}) {
    ranks_[order_[k]] = k + 1;
    Touch(order_[k]);
  }
}

void OrderedPlan::Move(size_t from, size_t to) {
  const auto at = [&](size_t position) { return order_.begin() + position; };
  Touch(order_[from]);
  if (from > to) {
    std::rotate(at(to), at(from), at(from + 1));
  } else {
    std::rotate(at(from), at(from + 1), at(to + 1));
  }
  for (size_t k = std::min(from, to); k <= std::max(from, to); ++k) ranks_[order_[k]] = k + 1;
}

std::optional<OrderedPlan::Outcome> OrderedPlan::Update(int64_t most) {
  changes_.clear();
  const auto is_back = [&](size_t b) { return !MarkTouched(b); };
  touched_.erase(std::remove_if(touched_.begin(), touched_.end(), is_back), touched_.end());
  std::vector<int64_t> peaks = fixed_peaks_;
  Outcome outcome = {WorkspaceTotal(problem_, peaks), true};
  for (size_t b : order_) {
    if (marked_[b]) PlaceAnew(b);
    if (beyond_[b]) outcome.fits = false;
    const std::optional<Placement>& place = placements()[b];
    const int64_t size = problem_.buffers[b].size;
    if (!place || size == 0 || place->offset + size <= peaks[place->pool]) continue;
    peaks[place->pool] = place->offset + size;
    outcome.total = WorkspaceTotal(problem_, peaks);
    if (outcome.total <= most) continue;
    std::fill(marked_.begin(), marked_.end(), false);
    Undo();
    return std::nullopt;
  }
  return outcome;
}

void OrderedPlan::Keep() {
  plan_ranks_ = ranks_;
  touched_.clear();
}

void OrderedPlan::Undo() {
  for (const Change& change : changes_) {
    placer_.Restore(change.buffer, change.before);
    beyond_[change.buffer] = change.was_beyond;
  }
  changes_.clear();
}

void OrderedPlan::Touch(size_t b) {
  if (std::find(touched_.begin(), touched_.end(), b) == touched_.end()) touched_.push_back(b);
}

/*! \brief Mark the buffer if its order to a neighbor has changed, and neighbors that need no longer
 *         avoid it. Return whether its order changed. Neighbors that must avoid it now are marked
 *         when it is placed. */
bool OrderedPlan::MarkTouched(size_t b) {
  bool changed = false;
  work_ += static_cast<int64_t>(conflicts_.Degree(b));
  conflicts_.ForEach(b, [&](const ConflictGraph::Neighbor& neighbor) {
    const size_t c = neighbor.buffer;
    const bool is_earlier = ranks_[c] < ranks_[b];
    if (is_earlier == (plan_ranks_[c] < plan_ranks_[b])) return;
    changed = true;
    if (is_earlier && !marked_[c]) marked_[c] = Opens(placements()[b], neighbor);
  });
  if (changed) marked_[b] = true;
  return changed;
}

/*! \brief Place a buffer, and mark the affected ones. A buffer that fits nowhere exceeds a limit,
 *         so that the peaks measure the excess. */
void OrderedPlan::PlaceAnew(size_t b) {
  marked_[b] = false;
  const Change change = {b, placements()[b], static_cast<bool>(beyond_[b])};
  placer_.Remove(b);
  work_ += 1 + static_cast<int64_t>(conflicts_.Degree(b));
  beyond_[b] = !placer_.TryPlace(b);
  if (beyond_[b]) placer_.PlaceBeyondLimit(b);
  const std::optional<Placement>& now = placements()[b];
  const bool same =
      now.has_value() == change.before.has_value() &&
      (!now || (now->pool == change.before->pool && now->offset == change.before->offset));
  if (same && beyond_[b] == change.was_beyond) return;
  changes_.push_back(change);
  work_ += static_cast<int64_t>(conflicts_.Degree(b));
  conflicts_.ForEach(b, [&](const ConflictGraph::Neighbor& neighbor) {
    const size_t c = neighbor.buffer;
    if (ranks_[c] <= ranks_[b] || marked_[c]) return;
    marked_[c] = Opens(change.before, neighbor) || Blocks(now, neighbor);
  });
}

/*! \brief Return whether the neighbor may improve its place once a buffer leaves `left`. */
bool OrderedPlan::Opens(const std::optional<Placement>& left,
                        const ConflictGraph::Neighbor& neighbor) const {
  const std::optional<Placement>& place = placements()[neighbor.buffer];
  if (!left) return false;
  return !place || place->pool != left->pool || left->offset - neighbor.above < place->offset;
}

/*! \brief Return whether the neighbor must leave its place if a buffer comes to `taken`. */
bool OrderedPlan::Blocks(const std::optional<Placement>& taken,
                         const ConflictGraph::Neighbor& neighbor) const {
  const std::optional<Placement>& place = placements()[neighbor.buffer];
  if (!taken || !place || place->pool != taken->pool) return false;
  return taken->offset - neighbor.above < place->offset &&
         place->offset < taken->offset + neighbor.below;
}

int64_t WorkspaceTotal(const Problem& problem, const std::vector<int64_t>& peaks) {
  int64_t total = 0;
  for (size_t p = 0; p < peaks.size(); ++p) {
    if (problem.pools[p].is_constant) continue;
    total = CheckedAdd(total, peaks[p]).value_or(std::numeric_limits<int64_t>::max());
  }
  return total;
}

}  // namespace usmp
