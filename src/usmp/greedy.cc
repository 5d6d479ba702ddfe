#include "greedy.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <sstream>
#include <tuple>

namespace usmp {

namespace {

/*! \brief Bytes [begin, end) of a pool. */
struct Span {
  int64_t begin;
  int64_t end;
};

/*! \brief The buffer at the first aligned position from `position` on, if that is an int64. */
std::optional<Span> SpanFrom(int64_t position, const Problem::Buffer& buffer) {
  const std::optional<int64_t> begin = AlignUp(position, buffer.alignment);
  const std::optional<int64_t> end = begin ? CheckedAdd(*begin, buffer.size) : std::nullopt;
  if (!end) return std::nullopt;
  return Span{*begin, *end};
}

/*! \brief The lowest place for the buffer beside the spans that it may not touch. */
std::optional<Span> LowestGap(std::vector<Span> busy, const Problem::Buffer& buffer) {
  std::sort(busy.begin(), busy.end(),
            [](const Span& lhs, const Span& rhs) { return lhs.begin < rhs.begin; });
  std::optional<Span> place = SpanFrom(0, buffer);
  int64_t busy_until = 0;
  for (const Span& span : busy) {
    if (!place || place->end <= span.begin) break;
    busy_until = std::max(busy_until, span.end);
    place = SpanFrom(busy_until, buffer);
  }
  return place;
}

/*! \brief The plan so far. */
struct Progress {
  std::vector<std::optional<Placement>> placements;
  /*! \brief For each pool the highest end of a placed buffer. */
  std::vector<int64_t> taken;
};

/*! \brief Where a buffer would go in a pool, regardless of the pool's limit. */
using PlaceIn = std::function<std::optional<Span>(const Progress&, size_t buffer, size_t pool)>;

[[noreturn]] void ThrowExceeded(const Problem& problem, size_t b, const Progress& progress,
                                const PlaceIn& place_in) {
  const Problem::Buffer& buffer = problem.buffers[b];
  std::ostringstream pools;
  for (size_t p : buffer.pools) {
    const PoolInfo& info = problem.pools[p].info;
    pools << "\n  pool \"" << info->pool_name << "\": size_hint_bytes=" << info->size_hint_bytes
          << ", " << progress.taken[p] << " bytes already taken, ";
    if (const std::optional<Span> place = place_in(progress, b, p)) {
      pools << "the buffer would end at byte " << place->end;
    } else {
      pools << "the buffer would end beyond the largest 64-bit offset";
    }
  }
  TVM_FFI_THROW(ValueError)
      << "TVM USMP Error: the space available in the provided pools exceeded when trying to "
         "allocate the buffer : "
      << buffer.name << " (" << buffer.size << " bytes, alignment " << buffer.alignment << ")"
      << pools.str()
      << "\nPlease increase the size_hints for memory pools. Another pool among the candidates of "
         "the buffer, or another tir.usmp.algorithm, may also help.";
}

std::vector<Placement> PlaceAll(const Problem& problem, const std::vector<size_t>& order,
                                const PlaceIn& place_in) {
  Progress progress{std::vector<std::optional<Placement>>(problem.buffers.size()),
                    std::vector<int64_t>(problem.pools.size(), 0)};
  for (size_t b : order) {
    std::optional<Placement>& placement = progress.placements[b];
    for (size_t p : problem.buffers[b].pools) {
      const std::optional<Span> place = place_in(progress, b, p);
      if (!place || place->end > problem.pools[p].limit) continue;
      placement = Placement{p, place->begin};
      if (place->begin < place->end) progress.taken[p] = std::max(progress.taken[p], place->end);
      break;
    }
    if (!placement) ThrowExceeded(problem, b, progress, place_in);
  }
  std::vector<Placement> placements;
  placements.reserve(problem.buffers.size());
  for (const auto& placement : progress.placements) placements.push_back(placement.value());
  return placements;
}

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

std::vector<Placement> FirstFit(const Problem& problem, const std::vector<size_t>& order) {
  return PlaceAll(problem, order, [&](const Progress& progress, size_t b, size_t p) {
    std::vector<Span> busy;
    for (size_t c : problem.buffers[b].conflicts) {
      const std::optional<Placement>& placed = progress.placements[c];
      // A buffer of no bytes is in nobody's way, even in the middle of a gap.
      if (!placed || placed->pool != p || problem.buffers[c].size == 0) continue;
      busy.push_back({placed->offset, placed->offset + problem.buffers[c].size});
    }
    return LowestGap(std::move(busy), problem.buffers[b]);
  });
}

std::vector<Placement> NoSharing(const Problem& problem) {
  return PlaceAll(problem, InputOrder(problem), [&](const Progress& progress, size_t b, size_t p) {
    return SpanFrom(progress.taken[p], problem.buffers[b]);
  });
}

namespace {

using Plan = ffi::Map<BufferInfo, PoolAllocation>;

// The memory pressure belongs to TVM's signature; a greedy algorithm has no use for it.

Plan GreedyBySize(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  const Problem problem = MakeProblem(buffers);
  return MakePlan(buffers, problem, FirstFit(problem, OrderBySize(problem)));
}

Plan GreedyByConflicts(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  const Problem problem = MakeProblem(buffers);
  return MakePlan(buffers, problem, FirstFit(problem, OrderByConflicts(problem)));
}

Plan NoSharingPlan(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  const Problem problem = MakeProblem(buffers);
  return MakePlan(buffers, problem, NoSharing(problem));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("tir.usmp.algo.greedy_by_size", GreedyBySize)
      .def("tir.usmp.algo.greedy_by_conflicts", GreedyByConflicts)
      .def("tir.usmp.algo.no_sharing", NoSharingPlan);
}

}  // namespace usmp
