#include "problem.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace usmp {

namespace {

/*! \brief Numbers pools by name, since the name is what the emitted code will know them by. */
class PoolTable {
 public:
  explicit PoolTable(std::vector<Problem::Pool>* pools) : pools_(pools) {}

  size_t IndexOf(const PoolInfo& pool) {
    auto [it, inserted] = index_.emplace(pool->pool_name, pools_->size());
    if (inserted) {
      const int64_t limit = pool->size_hint_bytes == kUnrestricted
                                ? std::numeric_limits<int64_t>::max()
                                : pool->size_hint_bytes;
      pools_->push_back({pool, limit});
    } else {
      RequireSame((*pools_)[it->second].info, pool);
    }
    return it->second;
  }

 private:
  /*! \brief A pool may come back as another object, say from a saved module, but not as another
   *         memory. */
  static void RequireSame(const PoolInfo& known, const PoolInfo& pool) {
    if (known->type_index() != pool->type_index() ||
        known->size_hint_bytes != pool->size_hint_bytes) {
      TVM_FFI_THROW(ValueError) << "Two different memory pools are called \"" << pool->pool_name
                                << "\"";
    }
  }

  std::vector<Problem::Pool>* pools_;
  std::unordered_map<std::string, size_t> index_;
};

using Index = std::unordered_map<const BufferInfoObj*, size_t>;

Index IndexOf(const ffi::Array<BufferInfo>& buffers) {
  Index index;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!index.emplace(buffers[i].get(), i).second) {
      TVM_FFI_THROW(ValueError) << "Buffer \"" << buffers[i]->name_hint << "\" is listed twice";
    }
  }
  return index;
}

/*! \brief For each buffer the others that it conflicts with: sorted, and whoever listed whom. */
std::vector<std::vector<size_t>> CloseConflicts(const ffi::Array<BufferInfo>& buffers,
                                                const Index& index) {
  std::vector<std::vector<size_t>> closed(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (const BufferInfo& conflict : GetConflicts(buffers[i])) {
      auto it = index.find(conflict.get());
      if (it == index.end() || it->second == i) continue;
      closed[i].push_back(it->second);
      closed[it->second].push_back(i);
    }
  }
  for (std::vector<size_t>& others : closed) {
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
  }
  return closed;
}

Problem::Conflict* FindConflict(Problem* problem, size_t buffer, size_t other) {
  std::vector<Problem::Conflict>& conflicts = problem->buffers[buffer].conflicts;
  auto it = std::lower_bound(
      conflicts.begin(), conflicts.end(), other,
      [](const Problem::Conflict& conflict, size_t index) { return conflict.buffer < index; });
  return it != conflicts.end() && it->buffer == other ? &*it : nullptr;
}

/*! \brief An output may start closer below an input that dies than its own size. */
void ApplyOverlaps(const ffi::Array<BufferInfo>& buffers, const Index& index, Problem* problem) {
  for (size_t output = 0; output < buffers.size(); ++output) {
    for (const auto& [buffer, distance] : GetOverlaps(buffers[output])) {
      auto it = index.find(buffer.get());
      if (it == index.end()) continue;
      if (Problem::Conflict* conflict = FindConflict(problem, output, it->second)) {
        conflict->below = distance;
        FindConflict(problem, it->second, output)->above = distance;
      }
    }
  }
}

}  // namespace

Problem MakeProblem(const ffi::Array<BufferInfo>& buffers) {
  Problem problem;
  PoolTable table(&problem.pools);
  problem.buffers.reserve(buffers.size());
  for (const BufferInfo& info : buffers) {
    if (info->pool_candidates.empty()) {
      TVM_FFI_THROW(ValueError) << "Cannot process buffer \"" << info->name_hint
                                << "\" with no pool candidates";
    }
    Problem::Buffer buffer{info->name_hint, info->size_bytes, info->alignment, {}, {}, {}};
    if (info->fixed_offset.has_value()) buffer.fixed_offset = *info->fixed_offset;
    for (const PoolInfo& pool : info->pool_candidates) {
      buffer.pools.push_back(table.IndexOf(pool));
    }
    problem.buffers.push_back(std::move(buffer));
  }
  const Index index = IndexOf(buffers);
  const std::vector<std::vector<size_t>> conflicts = CloseConflicts(buffers, index);
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (size_t other : conflicts[i]) {
      problem.buffers[i].conflicts.push_back(
          {other, problem.buffers[i].size, problem.buffers[other].size});
    }
  }
  ApplyOverlaps(buffers, index, &problem);
  return problem;
}

ffi::Map<BufferInfo, PoolAllocation> MakePlan(const ffi::Array<BufferInfo>& buffers,
                                              const Problem& problem,
                                              const std::vector<Placement>& placements) {
  ffi::Map<BufferInfo, PoolAllocation> plan;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Placement& placement = placements[i];
    plan.Set(buffers[i], PoolAllocation(problem.pools[placement.pool].info, placement.offset));
  }
  return plan;
}

std::optional<int64_t> CheckedAdd(int64_t lhs, int64_t rhs) {
  int64_t sum;
  if (__builtin_add_overflow(lhs, rhs, &sum)) return std::nullopt;
  return sum;
}

std::optional<int64_t> AlignUp(int64_t position, int64_t alignment) {
  const int64_t beyond = position % alignment;
  return beyond == 0 ? position : CheckedAdd(position, alignment - beyond);
}

}  // namespace usmp
