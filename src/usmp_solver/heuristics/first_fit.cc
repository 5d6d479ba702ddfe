#include "usmp_solver/heuristics/first_fit.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace usmp {

namespace {

/*! \brief Most visits to placed buffers after the first buffer without a place. */
constexpr int64_t kSearchWork = 1'000'000;

/*! \brief Depth-first search over the candidate pools of the buffers, in their order. */
class FirstFitSearch {
 public:
  FirstFitSearch(const Problem& problem, const ConflictGraph& conflicts, std::vector<size_t> order)
      : problem_(problem),
        conflicts_(conflicts),
        order_(PinnedFirst(problem, std::move(order))),
        placer_(problem, conflicts),
        next_pool_(problem.buffers.size(), 0) {}

  Solution Run() {
    if (Search(/*jump=*/true) || (HasAnyChoice() && Search(/*jump=*/false))) {
      return placer_.Result(std::nullopt);
    }
    Solution failure = placer_.Result(failure_->unplaced);
    failure.placements = std::move(failure_->placements);
    failure.unplaced_offsets = std::move(failure_->unplaced_offsets);
    return failure;
  }

 private:
  /*!
   * \brief Place all buffers; backtrack to other pools if one has no place.
   *
   * With `jump`, only buffers that stand in the way of that buffer, directly or indirectly, change
   * their pools. That is mostly enough, and avoids a search among unrelated buffers.
   */
  bool Search(bool jump) {
    for (size_t b : order_) placer_.Remove(b);
    std::fill(next_pool_.begin(), next_pool_.end(), 0);
    std::optional<int64_t> work_limit;
    size_t depth = 0;
    while (depth < order_.size()) {
      if (Descend(order_[depth])) {
        ++depth;
        continue;
      }
      if (!failure_) Fail(order_[depth]);
      if (!work_limit) work_limit = Work() + kSearchWork;
      std::vector<bool> in_the_way(order_.size(), !jump);
      if (jump) MarkInTheWay(order_[depth], &in_the_way);
      size_t b;
      do {
        if (depth == 0 || Work() > *work_limit) return false;
        b = order_[--depth];
        if (jump && in_the_way[b]) MarkInTheWay(b, &in_the_way);
        placer_.Remove(b);
      } while (!HasChoice(b, in_the_way[b]));
    }
    return true;
  }

  /*! \brief Place the buffer in its next possible candidate; else restart its candidates. */
  bool Descend(size_t b) {
    const std::vector<size_t>& pools = problem_.buffers[b].pools;
    while (next_pool_[b] < pools.size()) {
      if (placer_.TryPlace(b, pools[next_pool_[b]++])) return true;
    }
    next_pool_[b] = 0;
    return false;
  }

  /*! \brief Return whether a removed buffer has another candidate to try; else restart. */
  bool HasChoice(size_t b, bool in_the_way) {
    if (in_the_way && next_pool_[b] < problem_.buffers[b].pools.size()) return true;
    next_pool_[b] = 0;
    return false;
  }

  bool HasAnyChoice() const {
    return std::any_of(problem_.buffers.begin(), problem_.buffers.end(),
                       [](const Problem::Buffer& buffer) { return buffer.pools.size() > 1; });
  }

  int64_t Work() const { return placer_.work() + marking_work_; }

  /*! \brief Mark the buffers that conflict with `buffer` in its candidate pools, and in turn those
   *         that conflict with them. */
  void MarkInTheWay(size_t buffer, std::vector<bool>* marked) {
    std::vector<size_t> pending = {buffer};
    while (!pending.empty()) {
      const size_t blocked = pending.back();
      const std::vector<size_t>& pools = problem_.buffers[blocked].pools;
      pending.pop_back();
      marking_work_ += static_cast<int64_t>(conflicts_.Degree(blocked));
      conflicts_.ForEach(blocked, [&](const ConflictGraph::Neighbor& neighbor) {
        const std::optional<Placement>& place = placer_.placements()[neighbor.buffer];
        if (!place || (*marked)[neighbor.buffer]) return;
        if (std::find(pools.begin(), pools.end(), place->pool) == pools.end()) return;
        (*marked)[neighbor.buffer] = true;
        pending.push_back(neighbor.buffer);
      });
    }
  }

  void Fail(size_t b) {
    failure_ = placer_.Result(b);
    for (size_t pool : problem_.buffers[b].pools) {
      failure_->unplaced_offsets.push_back(placer_.LowestOffset(b, pool));
    }
  }

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  std::vector<size_t> order_;
  Placer placer_;
  /*! \brief Index of the next candidate to try, by buffer. */
  std::vector<size_t> next_pool_;
  std::optional<Solution> failure_;
  int64_t marking_work_ = 0;
};

}  // namespace

Placer::Placer(const Problem& problem, const ConflictGraph& conflicts)
    : Placer(problem, conflicts, std::vector<std::optional<Placement>>(problem.buffers.size())) {}

Placer::Placer(const Problem& problem, const ConflictGraph& conflicts,
               std::vector<std::optional<Placement>> placements)
    : problem_(problem),
      conflicts_(conflicts),
      placements_(std::move(placements)),
      refused_(problem.pools.size(), std::numeric_limits<int64_t>::max()),
      highest_ends_(Peaks(problem, placements_)) {}

std::optional<int64_t> Placer::LowestOffset(size_t b, size_t pool) {
  const Problem::Buffer& buffer = problem_.buffers[b];
  taken_.clear();
  conflicts_.ForEach(b, [&](const ConflictGraph::Neighbor& neighbor) {
    const std::optional<Placement>& other = placements_[neighbor.buffer];
    // A buffer of zero bytes blocks no other, even in the middle of a gap.
    if (!other || other->pool != pool) return;
    if (ranks_ != nullptr && (*ranks_)[neighbor.buffer] >= (*ranks_)[b]) return;
    if (neighbor.above == 0 && problem_.buffers[neighbor.buffer].size == 0) return;
    taken_.push_back({other->offset - neighbor.below, other->offset + neighbor.above});
  });
  work_ += 1 + static_cast<int64_t>(conflicts_.Degree(b));
  std::sort(taken_.begin(), taken_.end(),
            [](const Taken& lhs, const Taken& rhs) { return lhs.low < rhs.low; });
  std::optional<int64_t> offset = buffer.fixed_offset.value_or(0);
  for (const Taken& taken : taken_) {
    if (buffer.size == 0 || *offset <= taken.low) break;
    if (*offset >= taken.high) continue;
    offset = buffer.fixed_offset ? std::nullopt : AlignUp(taken.high, buffer.alignment);
    if (!offset) return std::nullopt;
  }
  return CheckedAdd(*offset, buffer.size) ? offset : std::nullopt;
}

bool Placer::TryPlace(size_t buffer, size_t pool, int64_t offset) {
  const int64_t end = offset + problem_.buffers[buffer].size;
  if (end > problem_.pools[pool].limit) {
    refused_[pool] = std::min(refused_[pool], end);
    return false;
  }
  highest_ends_[pool] = std::max(highest_ends_[pool], end);
  placements_[buffer] = Placement{pool, offset};
  return true;
}

bool Placer::TryPlace(size_t buffer, size_t pool) {
  const std::optional<int64_t> offset = LowestOffset(buffer, pool);
  return offset && TryPlace(buffer, pool, *offset);
}

bool Placer::TryPlace(size_t buffer) {
  for (size_t pool : problem_.buffers[buffer].pools) {
    if (TryPlace(buffer, pool)) return true;
  }
  return false;
}

bool Placer::PlaceBeyondLimit(size_t buffer) {
  const size_t pool = problem_.buffers[buffer].pools.back();
  const std::optional<int64_t> offset = LowestOffset(buffer, pool);
  if (offset) placements_[buffer] = Placement{pool, *offset};
  return offset.has_value();
}

Solution FirstFit(const Problem& problem, const ConflictGraph& conflicts,
                  const std::vector<size_t>& order) {
  return FirstFitSearch(problem, conflicts, order).Run();
}

std::vector<size_t> PinnedFirst(const Problem& problem, std::vector<size_t> order) {
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t b) { return problem.buffers[b].fixed_offset.has_value(); });
  return order;
}

std::vector<int64_t> Peaks(const Problem& problem,
                           const std::vector<std::optional<Placement>>& placements) {
  std::vector<int64_t> peaks(problem.pools.size(), 0);
  for (size_t b = 0; b < placements.size(); ++b) {
    if (!placements[b] || problem.buffers[b].size == 0) continue;
    int64_t& peak = peaks[placements[b]->pool];
    peak = std::max(peak, placements[b]->offset + problem.buffers[b].size);
  }
  return peaks;
}

}  // namespace usmp
