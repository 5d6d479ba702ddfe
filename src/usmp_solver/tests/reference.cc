#include "usmp_solver/tests/reference.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace usmp {

namespace {

// Wide enough for any sum of two 64-bit numbers.
using Wide = __int128;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

/*! \brief Minimum distance of the starts, by ordered pair; -1 if they may share bytes. */
using SeparationTable = std::vector<std::vector<int64_t>>;

bool AreLiveTogether(const Problem::Buffer& a, const Problem::Buffer& b) {
  for (const Problem::LiveRange& x : a.live_ranges) {
    for (const Problem::LiveRange& y : b.live_ranges) {
      if (std::max(x.start, y.start) < std::min(x.stop, y.stop)) return true;
    }
  }
  return false;
}

SeparationTable SeparationsOf(const Problem& problem) {
  const size_t n = problem.buffers.size();
  std::vector<std::vector<bool>> conflict(n, std::vector<bool>(n, false));
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      conflict[a][b] = a != b && AreLiveTogether(problem.buffers[a], problem.buffers[b]);
    }
  }
  for (const Problem::Conflict& pair : problem.conflicts) {
    if (pair.first == pair.second) continue;
    conflict[pair.first][pair.second] = conflict[pair.second][pair.first] = true;
  }
  SeparationTable result(n, std::vector<int64_t>(n, -1));
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      const bool have_bytes = problem.buffers[a].size > 0 && problem.buffers[b].size > 0;
      if (conflict[a][b] && have_bytes) result[a][b] = problem.buffers[a].size;
    }
  }
  for (const Problem::Overlap& overlap : problem.overlaps) {
    int64_t& separation = result[overlap.output][overlap.input];
    separation = std::min(separation, overlap.distance);
  }
  return result;
}

/*! \brief Search for the lowest peak of some buffers in one pool. */
class PoolSearch {
 public:
  PoolSearch(const Problem& problem, const SeparationTable& separations,
             std::vector<size_t> members, int64_t limit, int64_t* steps)
      : problem_(problem),
        separations_(separations),
        members_(std::move(members)),
        limit_(limit),
        steps_(steps) {}

  /*! \brief Return the lowest peak; nullopt if nothing fits. Invalid if `*steps` fell to 0. */
  std::optional<int64_t> Run() {
    std::vector<Wide> offsets;
    for (size_t b : members_) offsets.push_back(problem_.buffers[b].fixed_offset.value_or(0));
    Search(offsets);
    return best_;
  }

 private:
  struct Order {
    size_t lower;
    size_t upper;
  };

  /*! \brief Raise the offsets to the least ones that obey the orders; return false if none do, or
   *         if no steps remain. */
  bool Raise(std::vector<Wide>* offsets) {
    for (bool changed = true; changed;) {
      changed = false;
      if (--*steps_ <= 0) return false;
      for (const Order& order : orders_) {
        const Problem::Buffer& upper = problem_.buffers[members_[order.upper]];
        const Wide least =
            (*offsets)[order.lower] + separations_[members_[order.lower]][members_[order.upper]];
        if ((*offsets)[order.upper] >= least) continue;
        if (upper.fixed_offset.has_value()) return false;
        const Wide aligned = (least + upper.alignment - 1) / upper.alignment * upper.alignment;
        if (aligned + upper.size > limit_) return false;
        (*offsets)[order.upper] = aligned;
        changed = true;
      }
    }
    return true;
  }

  void Search(std::vector<Wide> offsets) {
    if (!Raise(&offsets)) return;
    Wide peak = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      peak = std::max(peak, offsets[i] + problem_.buffers[members_[i]].size);
    }
    if (peak > limit_ || (best_.has_value() && peak >= *best_)) return;
    for (size_t i = 0; i < members_.size(); ++i) {
      for (size_t j = i + 1; j < members_.size(); ++j) {
        const int64_t up = separations_[members_[i]][members_[j]];
        const int64_t down = separations_[members_[j]][members_[i]];
        if (up < 0 || offsets[i] + up <= offsets[j] || offsets[j] + down <= offsets[i]) continue;
        orders_.push_back({i, j});
        Search(offsets);
        orders_.back() = {j, i};
        Search(offsets);
        orders_.pop_back();
        return;
      }
    }
    best_ = static_cast<int64_t>(peak);
  }

  const Problem& problem_;
  const SeparationTable& separations_;
  const std::vector<size_t> members_;
  const int64_t limit_;
  int64_t* steps_;
  std::vector<Order> orders_;
  std::optional<int64_t> best_;
};

/*! \brief Search over all choices of pools. */
class ChoiceSearch {
 public:
  ChoiceSearch(const Problem& problem, int64_t steps)
      : problem_(problem),
        separations_(SeparationsOf(problem)),
        members_(problem.pools.size()),
        steps_(steps) {}

  std::optional<Optimum> Run() {
    Search(0);
    if (steps_ <= 0) return std::nullopt;
    return best_;
  }

 private:
  void Search(size_t buffer) {
    if (buffer == problem_.buffers.size()) {
      Judge();
      return;
    }
    for (size_t pool : problem_.buffers[buffer].pools) {
      const Problem::Buffer& placed = problem_.buffers[buffer];
      const Wide end = Wide{placed.fixed_offset.value_or(0)} + placed.size;
      if (end > problem_.pools[pool].limit) continue;
      if (placed.size > 0) members_[pool].push_back(buffer);
      Search(buffer + 1);
      if (placed.size > 0) members_[pool].pop_back();
      if (steps_ <= 0) return;
    }
  }

  void Judge() {
    std::vector<int64_t> peaks(members_.size());
    for (size_t pool = members_.size(); pool-- > 0;) {
      auto [entry, is_new] = known_.emplace(std::pair(pool, members_[pool]), std::nullopt);
      if (is_new) {
        const int64_t limit = problem_.pools[pool].limit;
        entry->second = PoolSearch(problem_, separations_, members_[pool], limit, &steps_).Run();
        if (steps_ <= 0) return;
      }
      if (!entry->second.has_value()) return;
      peaks[pool] = *entry->second;
    }
    if (!best_.feasible || IsBetter(peaks, best_.peaks)) best_ = {true, peaks};
  }

  const Problem& problem_;
  const SeparationTable separations_;
  std::vector<std::vector<size_t>> members_;
  int64_t steps_;
  std::map<std::pair<size_t, std::vector<size_t>>, std::optional<int64_t>> known_;
  Optimum best_{false, {}};
};

std::optional<std::string> FindDefect(const Problem& problem, const Problem::Buffer& buffer) {
  if (buffer.size < 0) return "a negative size";
  if (buffer.alignment < 1) return "an alignment below 1";
  if (buffer.pools.empty()) return "no candidate";
  const std::set<size_t> distinct(buffer.pools.begin(), buffer.pools.end());
  if (*distinct.rbegin() >= problem.pools.size()) return "a candidate that is no pool";
  if (distinct.size() < buffer.pools.size()) return "a candidate twice";
  if (buffer.fixed_offset.has_value()) {
    if (*buffer.fixed_offset < 0) return "a negative pin";
    if (*buffer.fixed_offset % buffer.alignment != 0) return "a pin that is not aligned";
    if (*buffer.fixed_offset > kLargest - buffer.size) return "a pin too high for 64 bits";
  }
  for (const Problem::LiveRange& range : buffer.live_ranges) {
    if (range.start >= range.stop) return "a live range that ends before it begins";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindDefect(const Problem& problem) {
  const size_t n = problem.buffers.size();
  for (const Problem::Pool& pool : problem.pools) {
    if (pool.limit < 0) return "a negative limit";
  }
  for (const Problem::Buffer& buffer : problem.buffers) {
    if (auto defect = FindDefect(problem, buffer)) return defect;
  }
  for (const Problem::Conflict& conflict : problem.conflicts) {
    if (conflict.first >= n || conflict.second >= n) return "a conflict of no buffer";
    if (conflict.first == conflict.second) return "a conflict of a buffer with itself";
  }
  std::set<std::pair<size_t, size_t>> overlaps;
  for (const Problem::Overlap& overlap : problem.overlaps) {
    if (overlap.output >= n || overlap.input >= n) return "an overlap of no buffer";
    if (overlap.distance < 0) return "a negative distance";
    if (overlap.distance > problem.buffers[overlap.output].size) return "a distance above the size";
    if (overlap.output == overlap.input) return "an overlap of a buffer with itself";
    if (!overlaps.insert({overlap.output, overlap.input}).second) return "an overlap twice";
  }
  return std::nullopt;
}

std::optional<std::string> FindFault(const Problem& problem,
                                     const std::vector<Placement>& placements) {
  const size_t n = problem.buffers.size();
  if (placements.size() != n) return "not as many places as buffers";
  for (size_t i = 0; i < n; ++i) {
    const Problem::Buffer& buffer = problem.buffers[i];
    const auto& [pool, offset] = placements[i];
    const std::string name = "buffer " + std::to_string(i);
    if (std::find(buffer.pools.begin(), buffer.pools.end(), pool) == buffer.pools.end()) {
      return name + " is in a pool that is no candidate";
    }
    if (offset < 0 || offset % buffer.alignment != 0) return name + " is not aligned";
    if (buffer.fixed_offset.value_or(offset) != offset) return name + " is not at its pin";
    if (Wide{offset} + buffer.size > problem.pools[pool].limit) return name + " is out of the pool";
  }
  const SeparationTable separations = SeparationsOf(problem);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (separations[i][j] < 0 || placements[i].pool != placements[j].pool) continue;
      const Wide gap = Wide{placements[j].offset} - placements[i].offset;
      if (gap < separations[i][j] && -gap < separations[j][i]) {
        return "buffers " + std::to_string(i) + " and " + std::to_string(j) + " share bytes";
      }
    }
  }
  return std::nullopt;
}

std::vector<int64_t> PeaksOf(const Problem& problem, const std::vector<Placement>& placements) {
  std::vector<int64_t> peaks(problem.pools.size(), 0);
  for (size_t i = 0; i < placements.size(); ++i) {
    if (problem.buffers[i].size == 0) continue;
    int64_t& peak = peaks[placements[i].pool];
    peak = std::max(peak, placements[i].offset + problem.buffers[i].size);
  }
  return peaks;
}

bool IsBetter(const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs) {
  return std::lexicographical_compare(lhs.rbegin(), lhs.rend(), rhs.rbegin(), rhs.rend());
}

std::optional<Optimum> FindOptimum(const Problem& problem, int64_t steps) {
  return ChoiceSearch(problem, steps).Run();
}

Problem Restrict(const Problem& problem, const std::vector<size_t>& buffers) {
  Problem result;
  result.pools = problem.pools;
  std::map<size_t, size_t> index;
  for (size_t b : buffers) {
    index.emplace(b, result.buffers.size());
    result.buffers.push_back(problem.buffers[b]);
  }
  for (const Problem::Conflict& pair : problem.conflicts) {
    if (!index.count(pair.first) || !index.count(pair.second)) continue;
    result.conflicts.push_back({index[pair.first], index[pair.second]});
  }
  for (const Problem::Overlap& pair : problem.overlaps) {
    if (!index.count(pair.output) || !index.count(pair.input)) continue;
    result.overlaps.push_back({index[pair.output], index[pair.input], pair.distance});
  }
  return result;
}

}  // namespace usmp
