#include "usmp_solver/heuristics/greedy.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace usmp {

namespace {

std::vector<size_t> InputOrder(const Problem& problem) {
  std::vector<size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

/*! \brief Return the input order, stably sorted by descending key. */
template <typename Key>
std::vector<size_t> DescendingOrder(const Problem& problem, Key key) {
  std::vector<size_t> order = InputOrder(problem);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t lhs, size_t rhs) { return key(lhs) > key(rhs); });
  return order;
}

}  // namespace

std::vector<size_t> OrderBySize(const Problem& problem, const ConflictGraph& conflicts) {
  return DescendingOrder(problem, [&](size_t b) {
    const Problem::Buffer& buffer = problem.buffers[b];
    return std::make_tuple(buffer.size, conflicts.Degree(b), std::cref(buffer.name));
  });
}

std::vector<size_t> OrderByConflicts(const Problem& problem, const ConflictGraph& conflicts) {
  return DescendingOrder(problem, [&](size_t b) {
    const Problem::Buffer& buffer = problem.buffers[b];
    return std::make_tuple(conflicts.Degree(b), buffer.size, std::cref(buffer.name));
  });
}

Solution GreedyBySize(const Problem& problem, const ConflictGraph& conflicts) {
  return FirstFit(problem, conflicts, OrderBySize(problem, conflicts));
}

Solution GreedyByConflicts(const Problem& problem, const ConflictGraph& conflicts) {
  return FirstFit(problem, conflicts, OrderByConflicts(problem, conflicts));
}

Solution NoSharing(const Problem& problem, const ConflictGraph& conflicts) {
  Placer placer(problem, conflicts);
  std::vector<int64_t> peaks(problem.pools.size(), 0);
  auto offset_in = [&](size_t b, size_t p) -> std::optional<int64_t> {
    const Problem::Buffer& buffer = problem.buffers[b];
    if (buffer.fixed_offset) return placer.LowestOffset(b, p);
    const std::optional<int64_t> offset = AlignUp(peaks[p], buffer.alignment);
    return offset && CheckedAdd(*offset, buffer.size) ? offset : std::nullopt;
  };
  for (size_t b : PinnedFirst(problem, InputOrder(problem))) {
    std::vector<std::optional<int64_t>> offsets;
    const std::vector<size_t>& pools = problem.buffers[b].pools;
    const bool placed = std::any_of(pools.begin(), pools.end(), [&](size_t p) {
      offsets.push_back(offset_in(b, p));
      return offsets.back() && placer.TryPlace(b, p, *offsets.back());
    });
    if (!placed) {
      Solution failure = placer.Result(b);
      failure.unplaced_offsets = std::move(offsets);
      return failure;
    }
    const Placement& place = *placer.placements()[b];
    const int64_t size = problem.buffers[b].size;
    if (size > 0) peaks[place.pool] = std::max(peaks[place.pool], place.offset + size);
  }
  return placer.Result(std::nullopt);
}

}  // namespace usmp
