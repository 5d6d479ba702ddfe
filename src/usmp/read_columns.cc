#include "read_columns.h"

namespace usmp {

Problem ReadColumns(const ColumnMap& columns, const Names& names) {
  const Column sizes(columns, "sizes"), alignments(columns, "alignments");
  const Column fixed_offsets(columns, "fixed_offsets");
  const Column candidate_first(columns, "candidate_first"), candidates(columns, "candidates");
  const Column live_first(columns, "live_first");
  const Column starts(columns, "live_starts"), stops(columns, "live_stops");
  const Column limits(columns, "pool_limits"), is_constant(columns, "pool_is_constant");
  Problem problem;
  for (size_t p = 0; p < limits.size(); ++p) {
    problem.pools.push_back({"", limits[p] < 0 ? kNoLimit : limits[p], is_constant[p] != 0});
  }
  problem.buffers.resize(sizes.size());
  for (size_t b = 0; b < sizes.size(); ++b) {
    Problem::Buffer& buffer = problem.buffers[b];
    if (!names.empty()) buffer.name = names[b];
    buffer.size = sizes[b];
    buffer.alignment = alignments[b];
    if (fixed_offsets[b] >= 0) buffer.fixed_offset = fixed_offsets[b];
    buffer.pools.reserve(candidate_first[b + 1] - candidate_first[b]);
    for (int64_t c = candidate_first[b]; c < candidate_first[b + 1]; ++c) {
      buffer.pools.push_back(static_cast<size_t>(candidates[c]));
    }
    buffer.live_ranges.reserve(live_first[b + 1] - live_first[b]);
    for (int64_t r = live_first[b]; r < live_first[b + 1]; ++r) {
      buffer.live_ranges.push_back({starts[r], stops[r]});
    }
  }
  const Column firsts(columns, "conflict_firsts"), seconds(columns, "conflict_seconds");
  for (size_t i = 0; i < firsts.size(); ++i) {
    problem.conflicts.push_back({static_cast<size_t>(firsts[i]), static_cast<size_t>(seconds[i])});
  }
  const Column outputs(columns, "overlap_outputs"), inputs(columns, "overlap_inputs");
  const Column distances(columns, "overlap_distances");
  for (size_t i = 0; i < outputs.size(); ++i) {
    problem.overlaps.push_back(
        {static_cast<size_t>(outputs[i]), static_cast<size_t>(inputs[i]), distances[i]});
  }
  return problem;
}

}  // namespace usmp
