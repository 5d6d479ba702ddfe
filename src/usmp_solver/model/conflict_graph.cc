#include "usmp_solver/model/conflict_graph.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

void SortAndUnite(std::vector<Problem::LiveRange>* ranges) {
  std::sort(ranges->begin(), ranges->end(),
            [](const Problem::LiveRange& lhs, const Problem::LiveRange& rhs) {
              return lhs.start < rhs.start;
            });
  std::vector<Problem::LiveRange> united;
  for (const Problem::LiveRange& range : *ranges) {
    if (range.start >= range.stop) continue;
    if (united.empty() || united.back().stop < range.start) {
      united.push_back(range);
    } else {
      united.back().stop = std::max(united.back().stop, range.stop);
    }
  }
  *ranges = std::move(united);
}

void SortAndUnique(std::vector<size_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace

ConflictGraph::ConflictGraph(const Problem& problem, size_t most_stored)
    : overlaps_(problem.overlaps) {
  std::sort(overlaps_.begin(), overlaps_.end(),
            [](const Problem::Overlap& lhs, const Problem::Overlap& rhs) {
              return std::tie(lhs.output, lhs.input, lhs.distance) <
                     std::tie(rhs.output, rhs.input, rhs.distance);
            });
  for (const Problem::Buffer& buffer : problem.buffers) sizes_.push_back(buffer.size);
  ReadLiveRanges(problem);
  CountLiveTogether();
  std::vector<std::vector<size_t>> further = FurtherConflicts(problem);
  for (size_t b = 0; b < further.size(); ++b) degrees_[b] += further[b].size();
  Store(std::move(further), most_stored);
}

void ConflictGraph::ReadLiveRanges(const Problem& problem) {
  first_live_.push_back(0);
  for (size_t b = 0; b < sizes_.size(); ++b) {
    std::vector<Problem::LiveRange> ranges = problem.buffers[b].live_ranges;
    SortAndUnite(&ranges);
    for (const Problem::LiveRange& range : ranges) live_.push_back({range.start, range.stop, b});
    single_ranges_ = single_ranges_ && live_.size() <= first_live_.back() + 1;
    first_live_.push_back(live_.size());
  }
  by_start_ = live_;
  std::stable_sort(by_start_.begin(), by_start_.end(),
                   [](const Live& lhs, const Live& rhs) { return lhs.start < rhs.start; });
  tree_leaves_ = 1;
  while (tree_leaves_ < live_.size()) tree_leaves_ *= 2;
  latest_stop_.assign(2 * tree_leaves_, std::numeric_limits<int64_t>::min());
  for (size_t i = 0; i < by_start_.size(); ++i) {
    latest_stop_[tree_leaves_ + i] = by_start_[i].stop;
  }
  for (size_t node = tree_leaves_ - 1; node > 0; --node) {
    latest_stop_[node] = std::max(latest_stop_[2 * node], latest_stop_[2 * node + 1]);
  }
}

void ConflictGraph::CountLiveTogether() {
  degrees_.assign(sizes_.size(), 0);
  if (!single_ranges_) {
    for (size_t b = 0; b < degrees_.size(); ++b) {
      ForEachLiveTogether(b, [&](size_t) { ++degrees_[b]; });
    }
    return;
  }
  // A range intersects the ranges that start before its stop, except those that stop no later than
  // its start.
  std::vector<int64_t> starts;
  std::vector<int64_t> stops;
  for (const Live& range : by_start_) {
    starts.push_back(range.start);
    stops.push_back(range.stop);
  }
  std::sort(stops.begin(), stops.end());
  for (const Live& range : live_) {
    const auto begun = std::lower_bound(starts.begin(), starts.end(), range.stop) - starts.begin();
    const auto over = std::upper_bound(stops.begin(), stops.end(), range.start) - stops.begin();
    degrees_[range.buffer] = static_cast<size_t>(begun - over) - 1;
  }
}

std::optional<std::pair<int64_t, int64_t>> ConflictGraph::FirstMeeting(size_t lhs,
                                                                       size_t rhs) const {
  size_t i = first_live_[lhs];
  size_t j = first_live_[rhs];
  while (i < first_live_[lhs + 1] && j < first_live_[rhs + 1]) {
    const Live& a = live_[i];
    const Live& b = live_[j];
    if (std::max(a.start, b.start) < std::min(a.stop, b.stop)) return std::pair(a.start, b.start);
    a.stop < b.stop ? ++i : ++j;
  }
  return std::nullopt;
}

std::vector<std::vector<size_t>> ConflictGraph::FurtherConflicts(const Problem& problem) const {
  std::vector<std::vector<size_t>> further(sizes_.size());
  for (const Problem::Conflict& conflict : problem.conflicts) {
    if (conflict.first == conflict.second) continue;
    if (FirstMeeting(conflict.first, conflict.second)) continue;
    further[conflict.first].push_back(conflict.second);
    further[conflict.second].push_back(conflict.first);
  }
  for (std::vector<size_t>& others : further) SortAndUnique(&others);
  return further;
}

void ConflictGraph::Store(std::vector<std::vector<size_t>> further, size_t most_stored) {
  const size_t total = std::accumulate(degrees_.begin(), degrees_.end(), size_t{0});
  all_stored_ = total <= most_stored;
  if (all_stored_) stored_.reserve(total);
  first_stored_.push_back(0);
  for (size_t b = 0; b < further.size(); ++b) {
    std::vector<size_t>& others = further[b];
    if (all_stored_) {
      ForEachLiveTogether(b, [&](size_t other) { others.push_back(other); });
      std::sort(others.begin(), others.end());
    }
    for (size_t other : others) stored_.push_back(Pair(b, other));
    first_stored_.push_back(stored_.size());
  }
}

size_t ConflictGraph::NeighborAt(size_t buffer, size_t rank) const {
  if (all_stored_) return stored_[first_stored_[buffer] + rank].buffer;
  std::vector<size_t> neighbors;
  neighbors.reserve(Degree(buffer));
  ForEach(buffer, [&](const Neighbor& neighbor) { neighbors.push_back(neighbor.buffer); });
  std::nth_element(neighbors.begin(), neighbors.begin() + rank, neighbors.end());
  return neighbors[rank];
}

ConflictGraph::Neighbor ConflictGraph::Pair(size_t buffer, size_t other) const {
  return {other, FindDistance(overlaps_, buffer, other).value_or(sizes_[buffer]),
          FindDistance(overlaps_, other, buffer).value_or(sizes_[other])};
}

}  // namespace usmp
