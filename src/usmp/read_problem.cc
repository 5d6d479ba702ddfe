#include "read_problem.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace usmp {

namespace {

/*! \brief Pools by name, in the order in which candidates first name them. */
class PoolTable {
 public:
  size_t IndexOf(const PoolInfo& pool) {
    auto [it, inserted] = index_.emplace(pool->pool_name, pools_.size());
    if (inserted) {
      pools_.push_back(pool);
    } else {
      RequireSame(pools_[it->second], pool);
    }
    return it->second;
  }

  const std::vector<PoolInfo>& pools() const { return pools_; }

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

  std::vector<PoolInfo> pools_;
  std::unordered_map<std::string, size_t> index_;
};

PoolTable ReadPools(const ffi::Array<BufferInfo>& buffers) {
  PoolTable table;
  for (const BufferInfo& info : buffers) {
    for (const PoolInfo& pool : info->pool_candidates) table.IndexOf(pool);
  }
  return table;
}

/*! \brief By pool, its rank from the most preferred; the pools' own order if they contradict. */
std::vector<size_t> PreferenceRanks(size_t num_pools, const std::vector<Problem::Buffer>& buffers) {
  std::set<std::pair<size_t, size_t>> preferred;
  for (const Problem::Buffer& buffer : buffers) {
    for (size_t k = 1; k < buffer.pools.size(); ++k) {
      if (buffer.pools[k - 1] == buffer.pools[k]) continue;
      preferred.emplace(buffer.pools[k - 1], buffer.pools[k]);
    }
  }
  std::vector<size_t> better(num_pools, 0);
  for (const auto& [before, after] : preferred) ++better[after];
  std::set<size_t> ready;
  std::vector<size_t> ranks(num_pools);
  for (size_t p = 0; p < num_pools; ++p) {
    ranks[p] = p;
    if (better[p] == 0) ready.insert(p);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    order.push_back(*ready.begin());
    ready.erase(ready.begin());
    const auto first = preferred.lower_bound({order.back(), 0});
    for (auto it = first; it != preferred.end() && it->first == order.back(); ++it) {
      if (--better[it->second] == 0) ready.insert(it->second);
    }
  }
  if (order.size() < num_pools) return ranks;
  for (size_t rank = 0; rank < num_pools; ++rank) ranks[order[rank]] = rank;
  return ranks;
}

/*! \brief Write the pools into the problem, most preferred first. */
void AddPools(const std::vector<PoolInfo>& infos, Problem* problem) {
  const std::vector<size_t> ranks = PreferenceRanks(infos.size(), problem->buffers);
  problem->pools.resize(infos.size());
  for (size_t p = 0; p < infos.size(); ++p) {
    const PoolInfo& info = infos[p];
    const int64_t limit = info->size_hint_bytes == kUnrestricted ? kNoLimit : info->size_hint_bytes;
    problem->pools[ranks[p]] = {info->pool_name, limit, info.as<ConstantPoolInfoObj>() != nullptr};
  }
  for (Problem::Buffer& buffer : problem->buffers) {
    for (size_t& pool : buffer.pools) pool = ranks[pool];
  }
}

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

Problem::Buffer ReadBuffer(const BufferInfo& info, PoolTable* pools) {
  if (info->pool_candidates.empty()) {
    TVM_FFI_THROW(ValueError) << "Cannot process buffer \"" << info->name_hint
                              << "\" with no pool candidates";
  }
  Problem::Buffer buffer{info->name_hint, info->size_bytes, info->alignment, {}, {}, {}};
  if (info->fixed_offset.has_value()) buffer.fixed_offset = *info->fixed_offset;
  for (const PoolInfo& pool : info->pool_candidates) buffer.pools.push_back(pools->IndexOf(pool));
  for (const LiveRange& range : info->live_ranges) {
    buffer.live_ranges.push_back({range->start, range->stop});
  }
  return buffer;
}

/*! \brief Whether a look at the live ranges tells that the two conflict. */
bool LiveTogether(const Problem::Buffer& lhs, const Problem::Buffer& rhs) {
  return std::any_of(
      lhs.live_ranges.begin(), lhs.live_ranges.end(), [&](const Problem::LiveRange& a) {
        return std::any_of(rhs.live_ranges.begin(), rhs.live_ranges.end(),
                           [&](const Problem::LiveRange& b) {
                             return std::max(a.start, b.start) < std::min(a.stop, b.stop);
                           });
      });
}

/*! \brief Pairs of which one lists the other, but for those that live ranges tell anyway. */
void ReadConflicts(const ffi::Array<BufferInfo>& buffers, const Index& index, Problem* problem) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (const BufferInfo& conflict : GetConflicts(buffers[i])) {
      auto it = index.find(conflict.get());
      if (it == index.end() || it->second == i) continue;
      if (LiveTogether(problem->buffers[i], problem->buffers[it->second])) continue;
      problem->conflicts.push_back({i, it->second});
    }
  }
}

void ReadOverlaps(const ffi::Array<BufferInfo>& buffers, const Index& index, Problem* problem) {
  for (size_t output = 0; output < buffers.size(); ++output) {
    for (const auto& [buffer, distance] : GetOverlaps(buffers[output])) {
      auto it = index.find(buffer.get());
      if (it != index.end()) problem->overlaps.push_back({output, it->second, distance});
    }
  }
}

}  // namespace

Problem ReadProblem(const ffi::Array<BufferInfo>& buffers) {
  Problem problem;
  PoolTable table;
  problem.buffers.reserve(buffers.size());
  for (const BufferInfo& info : buffers) problem.buffers.push_back(ReadBuffer(info, &table));
  AddPools(table.pools(), &problem);
  const Index index = IndexOf(buffers);
  ReadConflicts(buffers, index, &problem);
  ReadOverlaps(buffers, index, &problem);
  return problem;
}

ffi::Map<BufferInfo, PoolAllocation> MakePlan(const ffi::Array<BufferInfo>& buffers,
                                              const Problem& problem,
                                              const std::vector<Placement>& placements) {
  const PoolTable table = ReadPools(buffers);
  std::unordered_map<std::string, PoolInfo> pools;
  for (const PoolInfo& pool : table.pools()) pools.emplace(pool->pool_name, pool);
  ffi::Map<BufferInfo, PoolAllocation> plan;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Placement& placement = placements[i];
    const PoolInfo& pool = pools.at(problem.pools[placement.pool].name);
    plan.Set(buffers[i], PoolAllocation(pool, placement.offset));
  }
  return plan;
}

}  // namespace usmp
