#include "greedy.h"

#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "solve.h"

namespace usmp {

namespace {

std::vector<size_t> InputOrder(const Problem& problem) {
  std::vector<size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

/*! \brief Input order, stably sorted so that the largest key comes first. */
template <typename Key>
std::vector<size_t> DescendingOrder(const Problem& problem, Key key) {
  std::vector<size_t> order = InputOrder(problem);
  std::stable_sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) {
    return key(problem.buffers[lhs]) > key(problem.buffers[rhs]);
  });
  return order;
}

}  // namespace

std::vector<size_t> OrderBySize(const Problem& problem) {
  return DescendingOrder(problem, [](const Problem::Buffer& buffer) {
    return std::make_tuple(buffer.size, buffer.conflicts.size(), std::cref(buffer.name));
  });
}

std::vector<size_t> OrderByConflicts(const Problem& problem) {
  return DescendingOrder(problem, [](const Problem::Buffer& buffer) {
    return std::make_tuple(buffer.conflicts.size(), buffer.size, std::cref(buffer.name));
  });
}

Solution NoSharing(const Problem& problem) {
  Placer placer(problem);
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

namespace {

using Plan = ffi::Map<BufferInfo, PoolAllocation>;

// The memory pressure belongs to TVM's signature; a greedy algorithm has no use for it.

Plan GreedyBySize(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return Solve(buffers, [](const Problem& p) { return FirstFit(p, OrderBySize(p)); });
}

Plan GreedyByConflicts(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return Solve(buffers, [](const Problem& p) { return FirstFit(p, OrderByConflicts(p)); });
}

Plan NoSharingPlan(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return Solve(buffers, NoSharing);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("tir.usmp.algo.greedy_by_size", GreedyBySize)
      .def("tir.usmp.algo.greedy_by_conflicts", GreedyByConflicts)
      .def("tir.usmp.algo.no_sharing", NoSharingPlan);
}

}  // namespace usmp
