// The independent checker of plans.
//
// A plan is valid if all of this holds:
// - Every buffer is in one of its candidate pools.
// - Its offset is a non-negative multiple of its alignment, and equals its pin if it has one.
// - It ends within the limit of this candidate.
// - Two buffers share a byte only if neither lists the other as a conflict and their live ranges
//   are disjoint, or if one is an output that starts at least the distance of its safe overlap
//   below the other.
//
// A buffer of zero bytes shares none. A buffer without live ranges only has listed conflicts.
//
// The checker reads the columns directly and shares no code with the solvers, so that no single
// mistake passes. It takes time about n log n, plus one step for each pair of intersecting live
// ranges whose buffers share bytes.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "columns.h"

namespace usmp {

namespace {

/*! \brief A violated rule, with its buffers and its time; none if `reason` is empty. */
struct Fault {
  std::string reason;
  int64_t first = -1;
  int64_t second = -1;
  int64_t time = -1;
};

/*! \brief The columns of the plan and of its rules. */
struct Judged {
  explicit Judged(const ColumnMap& columns)
      : sizes(columns, "sizes"),
        offsets(columns, "offsets"),
        pools(columns, "pools"),
        live_first(columns, "live_first"),
        starts(columns, "live_starts"),
        stops(columns, "live_stops") {
    const Column outputs(columns, "overlap_outputs"), inputs(columns, "overlap_inputs");
    const Column overlap_distances(columns, "overlap_distances");
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::pair<int64_t, int64_t> key{outputs[i], inputs[i]};
      const auto [found, is_new] = distances.emplace(key, overlap_distances[i]);
      if (!is_new) found->second = std::max(found->second, overlap_distances[i]);
    }
  }

  int64_t End(int64_t buffer) const { return offsets[buffer] + sizes[buffer]; }

  /*! \brief Return whether `output` starts far enough below `input` to overwrite a part of it. */
  bool OverlapsSafely(int64_t output, int64_t input) const {
    const auto found = distances.find({output, input});
    return found != distances.end() && found->second <= offsets[input] - offsets[output];
  }

  /*! \brief Return whether two conflicting buffers of one pool share bytes unsafely. */
  bool Clash(int64_t a, int64_t b) const {
    const int64_t low = std::max(offsets[a], offsets[b]);
    return low < std::min(End(a), End(b)) && !OverlapsSafely(a, b) && !OverlapsSafely(b, a);
  }

  Column sizes, offsets, pools, live_first, starts, stops;
  std::map<std::pair<int64_t, int64_t>, int64_t> distances;
};

/*! \brief Check every buffer separately. */
Fault CheckAlone(const ColumnMap& columns, const Judged& plan) {
  const Column alignments(columns, "alignments"), fixed_offsets(columns, "fixed_offsets");
  const Column candidate_first(columns, "candidate_first"), candidates(columns, "candidates");
  const Column limits(columns, "candidate_limits");
  if (plan.offsets.size() != plan.sizes.size() || plan.pools.size() != plan.sizes.size()) {
    return {"unplaced"};
  }
  for (size_t b = 0; b < plan.sizes.size(); ++b) {
    const int64_t buffer = static_cast<int64_t>(b);
    const int64_t offset = plan.offsets[b];
    int64_t c = candidate_first[b];
    while (c < candidate_first[b + 1] && candidates[c] != plan.pools[b]) ++c;
    if (c == candidate_first[b + 1]) return {"pool", buffer};
    if (offset < 0) return {"negative", buffer};
    if (offset % alignments[b] != 0) return {"alignment", buffer};
    if (fixed_offsets[b] >= 0 && fixed_offsets[b] != offset) return {"pin", buffer};
    const int64_t end = limits[c] < 0 ? std::numeric_limits<int64_t>::max() : limits[c];
    if (offset > end || plan.sizes[b] > end - offset) return {"limit", buffer};
  }
  return {};
}

Fault CheckConflicts(const ColumnMap& columns, const Judged& plan) {
  const Column firsts(columns, "conflict_firsts"), seconds(columns, "conflict_seconds");
  for (size_t i = 0; i < firsts.size(); ++i) {
    const int64_t a = firsts[i], b = seconds[i];
    if (a != b && plan.pools[a] == plan.pools[b] && plan.Clash(a, b)) return {"conflict", a, b};
  }
  return {};
}

/*! \brief A tree over the live ranges in order of their first byte. Stores the highest end of the
 *         open ranges below each node. */
class OpenRanges {
 public:
  explicit OpenRanges(size_t count) {
    while (leaves_ < count) leaves_ *= 2;
    highest_end_.assign(2 * leaves_, -1);
  }

  void Set(size_t rank, int64_t end) {
    size_t node = leaves_ + rank;
    highest_end_[node] = end;
    for (node /= 2; node > 0; node /= 2) {
      highest_end_[node] = std::max(highest_end_[2 * node], highest_end_[2 * node + 1]);
    }
  }

  /*! \brief Call `visit` for the open ranges below `rank` that end after `low`, until it returns
   *         true. */
  template <typename Visit>
  bool Find(size_t rank, int64_t low, const Visit& visit) const {
    return Find(1, 0, leaves_, rank, low, visit);
  }

 private:
  template <typename Visit>
  bool Find(size_t node, size_t begin, size_t end, size_t rank, int64_t low,
            const Visit& visit) const {
    if (begin >= rank || highest_end_[node] <= low) return false;
    if (end - begin == 1) return visit(begin);
    const size_t middle = begin + (end - begin) / 2;
    return Find(2 * node, begin, middle, rank, low, visit) ||
           Find(2 * node + 1, middle, end, rank, low, visit);
  }

  size_t leaves_ = 1;
  std::vector<int64_t> highest_end_;
};

struct Range {
  int64_t buffer;
  int64_t start;
  int64_t stop;
  /*! \brief Bytes of the buffer, copied here so that sorting and searching access contiguous
   *         memory. */
  int64_t low;
  int64_t high;
};

/*! \brief Check the live ranges of one pool in order of time. */
Fault CheckPool(const Judged& plan, std::vector<Range> ranges) {
  // Sort by first byte: a range that shares bytes with another begins before that one ends.
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& x, const Range& y) { return x.low < y.low; });
  std::vector<int64_t> lows;
  lows.reserve(ranges.size());
  for (const Range& range : ranges) lows.push_back(range.low);
  struct Event {
    int64_t time;
    bool opens;
    size_t rank;
  };
  std::vector<Event> events;
  events.reserve(2 * ranges.size());
  for (size_t rank = 0; rank < ranges.size(); ++rank) {
    events.push_back({ranges[rank].start, true, rank});
    events.push_back({ranges[rank].stop, false, rank});
  }
  std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
    return std::pair(x.time, x.opens) < std::pair(y.time, y.opens);
  });
  OpenRanges open(ranges.size());
  for (const Event& event : events) {
    if (!event.opens) {
      open.Set(event.rank, -1);
      continue;
    }
    const int64_t buffer = ranges[event.rank].buffer;
    const int64_t low = ranges[event.rank].low, high = ranges[event.rank].high;
    const auto above = std::lower_bound(lows.begin() + event.rank, lows.end(), high);
    int64_t other = -1;
    const auto clashes = [&](size_t rank) {
      other = ranges[rank].buffer;
      return other != buffer && plan.Clash(buffer, other);
    };
    if (open.Find(above - lows.begin(), low, clashes)) {
      return {"live", buffer, other, event.time};
    }
    open.Set(event.rank, high);
  }
  return {};
}

Fault CheckLiveRanges(const Judged& plan) {
  std::map<int64_t, std::vector<Range>> pools;
  for (size_t b = 0; b < plan.sizes.size(); ++b) {
    if (plan.sizes[b] == 0) continue;
    std::vector<Range>& ranges = pools[plan.pools[b]];
    for (int64_t r = plan.live_first[b]; r < plan.live_first[b + 1]; ++r) {
      const int64_t buffer = static_cast<int64_t>(b);
      ranges.push_back({buffer, plan.starts[r], plan.stops[r], plan.offsets[b], plan.End(buffer)});
    }
  }
  for (auto& [pool, ranges] : pools) {
    const Fault fault = CheckPool(plan, std::move(ranges));
    if (!fault.reason.empty()) return fault;
  }
  return {};
}

/*! \brief Return the reason, the buffers and the time; the reason of a valid plan is empty. */
ffi::Array<ffi::Any> CheckColumns(const ColumnMap& columns) {
  const Judged plan(columns);
  Fault fault = CheckAlone(columns, plan);
  if (fault.reason.empty()) fault = CheckConflicts(columns, plan);
  if (fault.reason.empty()) fault = CheckLiveRanges(plan);
  return {ffi::String(fault.reason), fault.first, fault.second, fault.time};
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("usmp_solver.check", CheckColumns);
}

}  // namespace

}  // namespace usmp
