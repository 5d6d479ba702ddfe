// BufferInfos as the columns of a problem, the input of the solver.
//
// Pools are identified by their names, because the emitted code knows them by name. Conflicts and
// overlaps with buffers outside the array are dropped, because they constrain nothing.
#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "columns.h"
#include "objects.h"

namespace usmp {

namespace {

/*! \brief Pools by name, in the order of their first appearance among the candidates. */
class PoolTable {
 public:
  int64_t IndexOf(const PoolInfo& pool) {
    const auto [it, is_new] = index_.emplace(pool->pool_name, pools_.size());
    if (is_new) {
      pools_.push_back(pool);
    } else {
      RequireSame(pools_[it->second], pool);
    }
    return static_cast<int64_t>(it->second);
  }

  const ffi::Array<PoolInfo>& pools() const { return pools_; }

 private:
  /*! \brief Throw unless the two pools describe the same memory; the objects may differ, as after
   *         loading a module. */
  static void RequireSame(const PoolInfo& known, const PoolInfo& pool) {
    if (known->type_index() != pool->type_index() ||
        known->size_hint_bytes != pool->size_hint_bytes || known->alignment != pool->alignment ||
        known->pool_offset != pool->pool_offset || known->address != pool->address) {
      TVM_FFI_THROW(ValueError) << "Two different memory pools are called \"" << pool->pool_name
                                << "\"";
    }
  }

  ffi::Array<PoolInfo> pools_;
  std::unordered_map<std::string, size_t> index_;
};

using Numbers = std::unordered_map<const BufferInfoObj*, int64_t>;

Numbers NumbersOf(const ffi::Array<BufferInfo>& buffers) {
  Numbers numbers;
  for (const BufferInfo& buffer : buffers) {
    if (!numbers.emplace(buffer.get(), numbers.size()).second) {
      TVM_FFI_THROW(ValueError) << "Buffer \"" << buffer->name_hint << "\" is listed twice";
    }
  }
  return numbers;
}

/*! \brief Return whether live ranges of the two buffers intersect. */
bool LiveTogether(const BufferInfo& lhs, const BufferInfo& rhs) {
  const auto meets = [](const LiveRange& a, const LiveRange& b) {
    return std::max(a->start, b->start) < std::min(a->stop, b->stop);
  };
  for (const LiveRange& a : lhs->live_ranges) {
    for (const LiveRange& b : rhs->live_ranges) {
      if (meets(a, b)) return true;
    }
  }
  return false;
}

/*! \brief The columns under construction. */
struct Columns {
  void AddBuffer(const BufferInfo& buffer) {
    if (buffer->pool_candidates.empty()) {
      TVM_FFI_THROW(ValueError) << "Cannot process buffer \"" << buffer->name_hint
                                << "\" with no pool candidates";
    }
    names.push_back(buffer->name_hint);
    sizes.push_back(buffer->size_bytes);
    alignments.push_back(buffer->alignment);
    fixed_offsets.push_back(buffer->fixed_offset.value_or(-1));
    const auto first = static_cast<std::ptrdiff_t>(candidates.size());
    for (const PoolInfo& pool : buffer->pool_candidates) {
      const int64_t index = pools.IndexOf(pool);
      // A repeated candidate has no effect.
      if (std::find(candidates.begin() + first, candidates.end(), index) == candidates.end()) {
        candidates.push_back(index);
      }
    }
    candidate_first.push_back(static_cast<int64_t>(candidates.size()));
    for (const LiveRange& range : buffer->live_ranges) {
      live_starts.push_back(range->start);
      live_stops.push_back(range->stop);
    }
    live_first.push_back(static_cast<int64_t>(live_starts.size()));
  }

  /*! \brief Add the conflicts that the buffer lists, except those that follow from live ranges. */
  void AddConflicts(const BufferInfo& buffer, const Numbers& numbers) {
    for (const BufferInfo& other : GetConflicts(buffer)) {
      const auto found = numbers.find(other.get());
      if (found == numbers.end() || other.same_as(buffer) || LiveTogether(buffer, other)) continue;
      conflict_firsts.push_back(numbers.at(buffer.get()));
      conflict_seconds.push_back(found->second);
    }
  }

  void AddOverlaps(const BufferInfo& output, const Numbers& numbers) {
    for (const auto& [input, distance] : GetOverlaps(output)) {
      const auto found = numbers.find(input.get());
      if (found == numbers.end() || input.same_as(output)) continue;
      overlap_outputs.push_back(numbers.at(output.get()));
      overlap_inputs.push_back(found->second);
      overlap_distances.push_back(distance);
    }
  }

  ffi::Array<ffi::String> names;
  PoolTable pools;
  std::vector<int64_t> sizes, alignments, fixed_offsets, candidate_first{0}, candidates;
  std::vector<int64_t> live_first{0}, live_starts, live_stops;
  std::vector<int64_t> conflict_firsts, conflict_seconds;
  std::vector<int64_t> overlap_outputs, overlap_inputs, overlap_distances;
};

/*!
 * \brief Return the columns of `usmp_solver.Problem` by name, and `names` and `pools`.
 *
 * Pools are numbered by first appearance, not by preference.
 *
 * Throws ValueError if a buffer has no candidate or is listed twice, or if two pools of one name
 * differ in kind, size hint or place: the emitted code would use one memory for both.
 */
ffi::Map<ffi::String, ffi::Any> ProblemColumns(const ffi::Array<BufferInfo>& buffers) {
  Columns columns;
  const Numbers numbers = NumbersOf(buffers);
  for (const BufferInfo& buffer : buffers) columns.AddBuffer(buffer);
  for (const BufferInfo& buffer : buffers) {
    columns.AddConflicts(buffer, numbers);
    columns.AddOverlaps(buffer, numbers);
  }
  ffi::Map<ffi::String, ffi::Any> map;
  map.Set("names", columns.names);
  map.Set("pools", columns.pools.pools());
  map.Set("sizes", ToColumn(std::move(columns.sizes)));
  map.Set("alignments", ToColumn(std::move(columns.alignments)));
  map.Set("fixed_offsets", ToColumn(std::move(columns.fixed_offsets)));
  map.Set("candidate_first", ToColumn(std::move(columns.candidate_first)));
  map.Set("candidates", ToColumn(std::move(columns.candidates)));
  map.Set("live_first", ToColumn(std::move(columns.live_first)));
  map.Set("live_starts", ToColumn(std::move(columns.live_starts)));
  map.Set("live_stops", ToColumn(std::move(columns.live_stops)));
  map.Set("conflict_firsts", ToColumn(std::move(columns.conflict_firsts)));
  map.Set("conflict_seconds", ToColumn(std::move(columns.conflict_seconds)));
  map.Set("overlap_outputs", ToColumn(std::move(columns.overlap_outputs)));
  map.Set("overlap_inputs", ToColumn(std::move(columns.overlap_inputs)));
  map.Set("overlap_distances", ToColumn(std::move(columns.overlap_distances)));
  return map;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("usmp.problem_columns", ProblemColumns);
}

}  // namespace

}  // namespace usmp
