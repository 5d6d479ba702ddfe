// A plan and its BufferInfos as the columns that the checker reads.
//
// The checker (`check_columns.cc`) does not trust the algorithm, which may be user-registered, nor
// that conflicts are symmetric or cover all intersecting live ranges. So these columns differ from
// the solver's and share no code with `problem_columns.cc`. They list every conflict, whether one
// or both buffers name it, every live range, and a limit for each candidate of each buffer instead
// of each pool. So no single mistake passes.
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "columns.h"
#include "objects.h"

namespace usmp {

namespace {

/*! \brief The columns under construction. */
struct Judged {
  ffi::Map<ffi::String, ffi::Tensor> ToMap() const {
    return {{"sizes", ToColumn(sizes)},
            {"alignments", ToColumn(alignments)},
            {"fixed_offsets", ToColumn(fixed_offsets)},
            {"candidate_first", ToColumn(candidate_first)},
            {"candidates", ToColumn(candidates)},
            {"candidate_limits", ToColumn(candidate_limits)},
            {"live_first", ToColumn(live_first)},
            {"live_starts", ToColumn(live_starts)},
            {"live_stops", ToColumn(live_stops)},
            {"conflict_firsts", ToColumn(conflict_firsts)},
            {"conflict_seconds", ToColumn(conflict_seconds)},
            {"overlap_outputs", ToColumn(overlap_outputs)},
            {"overlap_inputs", ToColumn(overlap_inputs)},
            {"overlap_distances", ToColumn(overlap_distances)},
            {"pools", ToColumn(pools)},
            {"offsets", ToColumn(offsets)}};
  }

  std::vector<int64_t> sizes, alignments, fixed_offsets;
  std::vector<int64_t> candidate_first{0}, candidates, candidate_limits;
  std::vector<int64_t> live_first{0}, live_starts, live_stops;
  std::vector<int64_t> conflict_firsts, conflict_seconds;
  std::vector<int64_t> overlap_outputs, overlap_inputs, overlap_distances;
  std::vector<int64_t> pools, offsets;
};

int64_t Count(const std::vector<int64_t>& values) { return static_cast<int64_t>(values.size()); }

/*! \brief Assigns a number to each name. */
class Numbering {
 public:
  int64_t Of(const std::string& name) {
    return numbers_.emplace(name, static_cast<int64_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
};

/*! \brief Least alignment, in bytes, of every pool in the emitted code. */
constexpr int64_t kLeastPoolAlignment = 16;

using PoolAlignments = std::unordered_map<std::string, int64_t>;

/*! \brief Return the least common multiple, or the largest int64 if it overflows. */
int64_t CommonMultiple(int64_t lhs, int64_t rhs) {
  const int64_t factor = rhs / std::gcd(lhs, rhs);
  return lhs > std::numeric_limits<int64_t>::max() / factor ? std::numeric_limits<int64_t>::max()
                                                            : lhs * factor;
}

/*! \brief Return the alignment of each pool's address: it suits the pool, and every buffer that has
 *         the pool as a candidate, wherever the plan puts it. */
PoolAlignments PoolAlignmentsOf(const ffi::Array<BufferInfo>& buffers) {
  PoolAlignments alignments;
  for (const BufferInfo& buffer : buffers) {
    for (const PoolInfo& pool : buffer->pool_candidates) {
      int64_t& known = alignments.emplace(pool->pool_name, kLeastPoolAlignment).first->second;
      known = CommonMultiple(known, std::max<int64_t>(pool->alignment, 1));
      known = CommonMultiple(known, buffer->alignment);
    }
  }
  return alignments;
}

/*! \brief Return the bytes of a pool that a plan may use, or -1 for no limit. Padding between the
 *         reserved bytes (`pool_offset`) and the first aligned address is subtracted. */
int64_t LimitOf(const PoolInfo& pool, int64_t alignment) {
  if (pool->size_hint_bytes < 0) return pool->size_hint_bytes;
  const auto multiple = static_cast<uint64_t>(alignment);
  const auto address = static_cast<uint64_t>(std::max<int64_t>(pool->address, 0));
  const uint64_t begin = address % multiple + static_cast<uint64_t>(pool->pool_offset) % multiple;
  const auto unused = static_cast<int64_t>((multiple - begin % multiple) % multiple);
  return std::max<int64_t>(pool->size_hint_bytes - unused, 0);
}

/*! \brief Throw unless the buffer starts and ends at multiples of its pool's alignment. */
void RequireWholeLines(const BufferInfo& buffer, const PoolAllocation& allocation) {
  for (const PoolInfo& pool : buffer->pool_candidates) {
    if (pool->pool_name != allocation->pool_info->pool_name || pool->alignment <= 1) continue;
    const int64_t offset = allocation->byte_offset;
    if (offset % pool->alignment == 0 && buffer->size_bytes % pool->alignment == 0) continue;
    TVM_FFI_THROW(ValueError) << "USMP plan check: buffer \"" << buffer->name_hint << "\" ("
                              << buffer->size_bytes << " bytes) at offset " << offset
                              << " of pool \"" << pool->pool_name
                              << "\" does not start and end at multiples of the pool's alignment, "
                              << pool->alignment;
  }
}

void AddBuffer(const BufferInfo& buffer, const PoolAlignments& alignments, Numbering* pools,
               Judged* judged) {
  judged->sizes.push_back(buffer->size_bytes);
  judged->alignments.push_back(buffer->alignment);
  judged->fixed_offsets.push_back(buffer->fixed_offset.has_value() ? *buffer->fixed_offset : -1);
  for (const PoolInfo& pool : buffer->pool_candidates) {
    judged->candidates.push_back(pools->Of(pool->pool_name));
    judged->candidate_limits.push_back(LimitOf(pool, alignments.at(pool->pool_name)));
  }
  judged->candidate_first.push_back(Count(judged->candidates));
  for (const LiveRange& range : buffer->live_ranges) {
    judged->live_starts.push_back(range->start);
    judged->live_stops.push_back(range->stop);
  }
  judged->live_first.push_back(Count(judged->live_starts));
}

void AddRelations(const ffi::Array<BufferInfo>& buffers, Judged* judged) {
  std::unordered_map<const BufferInfoObj*, int64_t> rows;
  for (size_t row = 0; row < buffers.size(); ++row) {
    rows.emplace(buffers[row].get(), static_cast<int64_t>(row));
  }
  for (size_t row = 0; row < buffers.size(); ++row) {
    for (const BufferInfo& conflict : GetConflicts(buffers[row])) {
      const auto other = rows.find(conflict.get());
      if (other == rows.end()) continue;
      judged->conflict_firsts.push_back(static_cast<int64_t>(row));
      judged->conflict_seconds.push_back(other->second);
    }
    for (const auto& [input, distance] : GetOverlaps(buffers[row])) {
      const auto other = rows.find(input.get());
      if (other == rows.end()) continue;
      judged->overlap_outputs.push_back(static_cast<int64_t>(row));
      judged->overlap_inputs.push_back(other->second);
      judged->overlap_distances.push_back(distance);
    }
  }
}

/*! \brief Return the columns. Throw ValueError if a buffer has no allocation, or breaks the
 *         alignment of its pool. Allocations of other buffers are ignored. */
ffi::Map<ffi::String, ffi::Tensor> JudgedColumns(const ffi::Array<BufferInfo>& buffers,
                                                 const ffi::Map<BufferInfo, PoolAllocation>& plan) {
  Judged judged;
  Numbering pools;
  const PoolAlignments alignments = PoolAlignmentsOf(buffers);
  for (const BufferInfo& buffer : buffers) {
    const auto allocation = plan.find(buffer);
    if (allocation == plan.end()) {
      TVM_FFI_THROW(ValueError) << "USMP plan check: buffer \"" << buffer->name_hint
                                << "\" has no allocation";
    }
    RequireWholeLines(buffer, (*allocation).second);
    AddBuffer(buffer, alignments, &pools, &judged);
    judged.pools.push_back(pools.Of((*allocation).second->pool_info->pool_name));
    judged.offsets.push_back((*allocation).second->byte_offset);
  }
  AddRelations(buffers, &judged);
  return judged.ToMap();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("usmp.judged_columns", JudgedColumns);
}

}  // namespace

}  // namespace usmp
