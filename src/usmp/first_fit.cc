#include "first_fit.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace usmp {

namespace {

/*! \brief Placed buffers that may be looked at after the first buffer without a place. */
constexpr int64_t kSearchWork = 1'000'000;

/*! \brief Depth first over the candidate pools of each buffer, in the order of the buffers. */
class PoolSearch {
 public:
  PoolSearch(const Problem& problem, std::vector<size_t> order)
      : problem_(problem),
        order_(PinnedFirst(problem, std::move(order))),
        placer_(problem),
        next_pool_(problem.buffers.size(), 0) {}

  Solution Run() {
    size_t depth = 0;
    while (depth < order_.size()) {
      if (Descend(order_[depth])) {
        ++depth;
      } else {
        if (!failure_) Fail(order_[depth]);
        do {
          if (depth == 0 || placer_.work() > work_limit_) return Failure();
          placer_.Remove(order_[--depth]);
        } while (!HasChoice(order_[depth]));
      }
    }
    return placer_.Result(std::nullopt);
  }

 private:
  /*! \brief Place the buffer in the next candidate that takes it; start over where none does. */
  bool Descend(size_t b) {
    const std::vector<size_t>& pools = problem_.buffers[b].pools;
    while (next_pool_[b] < pools.size()) {
      if (placer_.TryPlace(b, pools[next_pool_[b]++])) return true;
    }
    next_pool_[b] = 0;
    return false;
  }

  /*! \brief Whether a removed buffer has candidates left; if not, it starts over next time. */
  bool HasChoice(size_t b) {
    if (next_pool_[b] < problem_.buffers[b].pools.size()) return true;
    next_pool_[b] = 0;
    return false;
  }

  void Fail(size_t b) {
    failure_ = placer_.Result(b);
    work_limit_ = placer_.work() + kSearchWork;
  }

  Solution Failure() {
    Solution failure = placer_.Result(failure_->unplaced);
    failure.placements = std::move(failure_->placements);
    return failure;
  }

  const Problem& problem_;
  std::vector<size_t> order_;
  Placer placer_;
  /*! \brief By buffer, the candidate that is tried next. */
  std::vector<size_t> next_pool_;
  std::optional<Solution> failure_;
  int64_t work_limit_ = 0;
};

}  // namespace

Placer::Placer(const Problem& problem)
    : Placer(problem, std::vector<std::optional<Placement>>(problem.buffers.size())) {}

Placer::Placer(const Problem& problem, std::vector<std::optional<Placement>> placements)
    : problem_(problem),
      placements_(std::move(placements)),
      refused_(problem.pools.size(), std::numeric_limits<int64_t>::max()),
      highest_ends_(Peaks(problem, placements_)) {}

std::optional<int64_t> Placer::LowestOffset(size_t b, size_t pool) {
  const Problem::Buffer& buffer = problem_.buffers[b];
  taken_.clear();
  for (const Problem::Conflict& conflict : buffer.conflicts) {
    const std::optional<Placement>& other = placements_[conflict.buffer];
    // A buffer of no bytes is in nobody's way, even in the middle of a gap.
    if (!other || other->pool != pool || problem_.buffers[conflict.buffer].size == 0) continue;
    taken_.push_back({other->offset - conflict.below, other->offset + conflict.above});
  }
  work_ += 1 + static_cast<int64_t>(buffer.conflicts.size());
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

Solution FirstFit(const Problem& problem, const std::vector<size_t>& order) {
  return PoolSearch(problem, order).Run();
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
