#include "check.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace usmp {

namespace {

using Interval = std::pair<int64_t, int64_t>;

/*! \brief A placed buffer: its bytes, and the times at which they matter in ascending order. */
struct Placed {
  BufferInfo buffer;
  std::string pool;
  Interval bytes;
  std::vector<Interval> live;
  /*! \brief Inputs that die where this output is written, with the distance that is safe. */
  std::unordered_map<const BufferInfoObj*, int64_t> overlaps;
};

/*! \brief Whether the two have a point in common; an empty interval has none. */
bool Meet(const Interval& a, const Interval& b) {
  return std::max(a.first, b.first) < std::min(a.second, b.second);
}

std::ostream& operator<<(std::ostream& os, const Interval& interval) {
  return os << "[" << interval.first << ", " << interval.second << ")";
}

/*! \brief The candidate that the allocation stands for, or nullptr. */
const PoolInfoObj* FindCandidate(const BufferInfo& buffer, const PoolInfo& chosen) {
  for (const PoolInfo& candidate : buffer->pool_candidates) {
    if (candidate->pool_name == chosen->pool_name) return candidate.get();
  }
  return nullptr;
}

/*! \brief Judge one allocation by itself; the result is what the pairs are judged by. */
Placed CheckAlone(const BufferInfo& buffer, const PoolAllocation& allocation) {
  const std::string pool = allocation->pool_info->pool_name;
  const int64_t offset = allocation->byte_offset;
  auto refuse = [&](const std::string& reason) {
    TVM_FFI_THROW(ValueError) << "USMP plan check: buffer \"" << buffer->name_hint << "\" ("
                              << buffer->size_bytes << " bytes, alignment " << buffer->alignment
                              << ") at offset " << offset << " of pool \"" << pool << "\" "
                              << reason;
  };
  const PoolInfoObj* candidate = FindCandidate(buffer, allocation->pool_info);
  if (candidate == nullptr) refuse("is in a pool that is not one of its candidates");
  if (offset < 0) refuse("starts before the pool");
  if (offset % buffer->alignment != 0) refuse("is not aligned");
  if (buffer->fixed_offset.has_value() && *buffer->fixed_offset != offset) {
    refuse("is pinned to offset " + std::to_string(*buffer->fixed_offset));
  }
  if (buffer->size_bytes > std::numeric_limits<int64_t>::max() - offset) {
    refuse("ends beyond the largest 64-bit offset");
  }
  const int64_t end = offset + buffer->size_bytes;
  const int64_t size_hint = candidate->size_hint_bytes;
  if (size_hint >= 0 && end > size_hint) {
    refuse("ends at byte " + std::to_string(end) + ", but the size hint of the pool is " +
           std::to_string(size_hint) + " bytes");
  }
  std::vector<Interval> live;
  for (const LiveRange& range : buffer->live_ranges) live.emplace_back(range->start, range->stop);
  std::sort(live.begin(), live.end());
  std::unordered_map<const BufferInfoObj*, int64_t> overlaps;
  for (const auto& [input, distance] : GetOverlaps(buffer)) overlaps[input.get()] = distance;
  return Placed{buffer, pool, {offset, end}, std::move(live), std::move(overlaps)};
}

/*! \brief Whether `output` starts far enough below `input`, which it may partly overwrite. */
bool OverlapsSafely(const Placed& output, const Placed& input) {
  auto found = output.overlaps.find(input.buffer.get());
  return found != output.overlaps.end() && found->second <= input.bytes.first - output.bytes.first;
}

/*! \brief Whether two buffers of one pool that are live together take bytes of each other. */
bool Clash(const Placed& a, const Placed& b) {
  return Meet(a.bytes, b.bytes) && !OverlapsSafely(a, b) && !OverlapsSafely(b, a);
}

[[noreturn]] void RefusePair(const Placed& a, const Placed& b, const std::string& reason) {
  const Interval shared{std::max(a.bytes.first, b.bytes.first),
                        std::min(a.bytes.second, b.bytes.second)};
  TVM_FFI_THROW(ValueError) << "USMP plan check: buffers \"" << a.buffer->name_hint
                            << "\" at bytes " << a.bytes << " and \"" << b.buffer->name_hint
                            << "\" at bytes " << b.bytes << " share bytes " << shared
                            << " of pool \"" << a.pool << "\", but " << reason;
}

void CheckConflicts(const std::vector<Placed>& placed) {
  std::unordered_map<const BufferInfoObj*, const Placed*> find;
  for (const Placed& entry : placed) find.emplace(entry.buffer.get(), &entry);
  for (const Placed& a : placed) {
    for (const BufferInfo& conflict : GetConflicts(a.buffer)) {
      auto it = find.find(conflict.get());
      if (it == find.end()) continue;
      const Placed& b = *it->second;
      if (!a.buffer.same_as(b.buffer) && a.pool == b.pool && Clash(a, b)) {
        RefusePair(a, b, "they conflict");
      }
    }
  }
}

/*! \brief The first time at which both are live, or nullptr: one merge of two sorted lists. */
const Interval* LiveTogether(const Placed& a, const Placed& b) {
  auto x = a.live.begin();
  auto y = b.live.begin();
  while (x != a.live.end() && y != b.live.end()) {
    if (Meet(*x, *y)) return x->first > y->first ? &*x : &*y;
    if (x->second < y->second) {
      ++x;
    } else {
      ++y;
    }
  }
  return nullptr;
}

/*! \brief Judge the live ranges of one pool: only buffers whose bytes meet are compared. */
void CheckLiveRanges(std::vector<const Placed*> pool) {
  std::stable_sort(pool.begin(), pool.end(), [](const Placed* a, const Placed* b) {
    return a->bytes.first < b->bytes.first;
  });
  std::vector<const Placed*> open;
  for (const Placed* b : pool) {
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const Placed* a) { return a->bytes.second <= b->bytes.first; }),
               open.end());
    for (const Placed* a : open) {
      const Interval* both = LiveTogether(*a, *b);
      if (both != nullptr && Clash(*a, *b)) {
        RefusePair(*a, *b, "both are live at position " + std::to_string(both->first));
      }
    }
    open.push_back(b);
  }
}

bool AreSame(const ffi::Array<BufferInfo>& a, const ffi::Array<BufferInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const BufferInfo& x, const BufferInfo& y) { return x.same_as(y); });
}

bool AreSame(const ffi::Map<BufferInfo, int64_t>& a, const ffi::Map<BufferInfo, int64_t>& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& overlap) {
           const auto it = b.find(overlap.first);
           return it != b.end() && (*it).second == overlap.second;
         });
}

}  // namespace

void CheckPlan(const ffi::Array<BufferInfo>& buffers,
               const ffi::Map<BufferInfo, PoolAllocation>& plan) {
  std::vector<Placed> placed;
  for (const BufferInfo& buffer : buffers) {
    auto allocation = plan.find(buffer);
    if (allocation == plan.end()) {
      TVM_FFI_THROW(ValueError) << "USMP plan check: buffer \"" << buffer->name_hint
                                << "\" has no allocation";
    }
    placed.push_back(CheckAlone(buffer, (*allocation).second));
  }
  CheckConflicts(placed);
  std::map<std::string, std::vector<const Placed*>> pools;
  for (const Placed& entry : placed) {
    const bool has_bytes = entry.bytes.first < entry.bytes.second;
    if (has_bytes && !entry.live.empty()) pools[entry.pool].push_back(&entry);
  }
  for (const auto& [name, members] : pools) CheckLiveRanges(members);
}

Relations RelationsOf(const ffi::Array<BufferInfo>& buffers) {
  Relations relations;
  relations.reserve(buffers.size());
  for (const BufferInfo& buffer : buffers) {
    relations.push_back(Relation(GetConflicts(buffer), GetOverlaps(buffer)));
  }
  return relations;
}

void CheckRelations(const ffi::Array<BufferInfo>& buffers, const Relations& relations,
                    const ffi::String& algorithm) {
  for (size_t b = 0; b < buffers.size(); ++b) {
    const char* changed = nullptr;
    if (!AreSame(relations[b].get<1>(), GetOverlaps(buffers[b]))) changed = "safe overlaps";
    if (!AreSame(relations[b].get<0>(), GetConflicts(buffers[b]))) changed = "conflicts";
    if (changed != nullptr) {
      TVM_FFI_THROW(ValueError) << "USMP plan check: algorithm \"" << algorithm << "\" changed the "
                                << changed << " of buffer \"" << buffers[b]->name_hint
                                << "\"; an algorithm may only read its buffers";
    }
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("usmp.check_plan", CheckPlan)
      .def("usmp.relations_of", RelationsOf)
      .def("usmp.check_relations", CheckRelations);
}

}  // namespace usmp
