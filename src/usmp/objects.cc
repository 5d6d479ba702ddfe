#include "objects.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace usmp {

namespace {

/*! \brief Throw if a value is too small; `owner` names its object. */
void RequireAtLeast(int64_t minimum, int64_t value, const char* field, const std::string& owner) {
  if (value < minimum) {
    TVM_FFI_THROW(ValueError) << field << " of " << owner << " must be at least " << minimum
                              << ", but is " << value;
  }
}

/*! \brief Throw if a value is too large. */
void RequireAtMost(int64_t maximum, int64_t value, const char* field, const std::string& owner) {
  if (value > maximum) {
    TVM_FFI_THROW(ValueError) << field << " of " << owner << " must be at most " << maximum
                              << ", but is " << value;
  }
}

/*! \brief Throw if an alignment is set and is no power of two. */
void RequirePowerOfTwo(int64_t alignment, const std::string& owner) {
  if ((alignment & (alignment - 1)) != 0) {
    TVM_FFI_THROW(ValueError) << "alignment of " << owner << " must be a power of two, but is "
                              << alignment;
  }
}

/*! \brief Throw if a memory ends above the largest 64-bit address. */
void RequireAddresses(const PoolProperties& pool, const std::string& owner) {
  int64_t remaining = std::numeric_limits<int64_t>::max();
  for (int64_t bytes : {pool.address, pool.pool_offset, pool.size_hint_bytes, pool.alignment}) {
    if (bytes > remaining) {
      TVM_FFI_THROW(ValueError) << "address, pool_offset, size_hint_bytes and alignment of "
                                << owner << " add up to more than the largest 64-bit address";
    }
    remaining -= std::max<int64_t>(bytes, 0);
  }
}

/*! \brief Throw if an internal pool has an address or an offset, but no section for the linker. */
void RequirePlacedByLinker(const PoolProperties& pool) {
  const bool has_place = pool.address >= 0 || pool.pool_offset > 0;
  if (pool.is_internal && has_place && pool.section_name.empty()) {
    TVM_FFI_THROW(ValueError) << "an internal memory pool with "
                              << (pool.address >= 0 ? "an address" : "a pool_offset")
                              << " needs a section_name, which the linker script puts there; or "
                                 "leave out is_internal, and pass the pool";
  }
}

void RequireUse(const ffi::String& io, const std::string& owner) {
  if (io != "any" && io != "only" && io != "no") {
    TVM_FFI_THROW(ValueError) << "io of " << owner << " must be any, only or no, but is \"" << io
                              << "\"";
  }
}

void RequireName(const ffi::String& name, const char* field) {
  if (name.empty()) {
    TVM_FFI_THROW(ValueError) << field << " must not be empty";
  }
}

std::string Called(const char* kind, const ffi::String& name) {
  return std::string(kind) + " \"" + std::string(name) + "\"";
}

template <typename Pool>
void RequireDistinctNames(const ffi::Array<Pool>& pools) {
  std::set<std::string> seen;
  for (const Pool& pool : pools) {
    if (!seen.insert(pool->pool_name).second) {
      TVM_FFI_THROW(ValueError) << "Two memory pools are called \"" << pool->pool_name << "\"";
    }
  }
}

}  // namespace

PoolInfoPropertiesObj::PoolInfoPropertiesObj(int64_t size_hint_bytes, int64_t clock_frequency_hz,
                                             int64_t read_bandwidth_bytes_per_cycle,
                                             int64_t write_bandwidth_bytes_per_cycle,
                                             int64_t read_latency_cycles,
                                             int64_t write_latency_cycles,
                                             TargetBursts target_burst_bytes, bool is_internal,
                                             ffi::String section_name, int64_t alignment,
                                             int64_t pool_offset, int64_t address, ffi::String io)
    : PoolProperties{size_hint_bytes,
                     clock_frequency_hz,
                     read_bandwidth_bytes_per_cycle,
                     write_bandwidth_bytes_per_cycle,
                     read_latency_cycles,
                     write_latency_cycles,
                     std::move(target_burst_bytes),
                     is_internal,
                     std::move(section_name),
                     alignment,
                     pool_offset,
                     address,
                     std::move(io)} {
  const std::string owner = "a memory pool";
  RequireAtLeast(kUnrestricted, size_hint_bytes, "size_hint_bytes", owner);
  RequireAtLeast(kUnrestricted, clock_frequency_hz, "clock_frequency_hz", owner);
  RequireAtLeast(kUnrestricted, read_bandwidth_bytes_per_cycle, "read_bandwidth_bytes_per_cycle",
                 owner);
  RequireAtLeast(kUnrestricted, write_bandwidth_bytes_per_cycle, "write_bandwidth_bytes_per_cycle",
                 owner);
  RequireAtLeast(0, read_latency_cycles, "read_latency_cycles", owner);
  RequireAtLeast(0, write_latency_cycles, "write_latency_cycles", owner);
  for (const auto& burst : this->target_burst_bytes) {
    RequireAtLeast(1, burst.get<1>(), "target_burst_bytes", owner);
  }
  RequireAtLeast(kAlignmentOfExecutor, alignment, "alignment", owner);
  RequirePowerOfTwo(alignment, owner);
  RequireAtMost(kLargestAlignment, alignment, "alignment", owner);
  RequireAtLeast(0, pool_offset, "pool_offset", owner);
  RequireAtMost(kLargestPoolOffset, pool_offset, "pool_offset", owner);
  RequireAtLeast(kUnknownAddress, address, "address", owner);
  RequireAddresses(*this, owner);
  RequirePlacedByLinker(*this);
  RequireUse(this->io, owner);
}

PoolInfoObj::PoolInfoObj(ffi::String pool_name, ffi::Array<ffi::Any> targets,
                         ffi::Array<ffi::Any> read_only_targets,
                         const PoolInfoProperties& properties)
    : PoolProperties(*properties.get()),
      pool_name(std::move(pool_name)),
      targets(std::move(targets)),
      read_only_targets(std::move(read_only_targets)) {
  RequireName(this->pool_name, "pool_name of a memory pool");
}

ConstantInfoObj::ConstantInfoObj(ffi::String name_hint, int64_t byte_offset, ffi::Tensor data)
    : name_hint(std::move(name_hint)), byte_offset(byte_offset), data(std::move(data)) {
  RequireAtLeast(0, byte_offset, "byte_offset", Called("constant", this->name_hint));
}

ConstantPoolInfoObj::ConstantPoolInfoObj(ffi::String pool_name, ffi::Array<ffi::Any> targets,
                                         ffi::Array<ffi::Any> read_only_targets,
                                         ffi::Array<ConstantInfo> constant_info_array,
                                         const PoolInfoProperties& properties)
    : PoolInfoObj(std::move(pool_name), std::move(targets), std::move(read_only_targets),
                  properties),
      constant_info_array(std::move(constant_info_array)) {}

WorkspaceMemoryPoolsObj::WorkspaceMemoryPoolsObj(ffi::Array<WorkspacePoolInfo> pools)
    : pools(std::move(pools)) {
  RequireDistinctNames(this->pools);
}

ConstantMemoryPoolsObj::ConstantMemoryPoolsObj(ffi::Array<ConstantPoolInfo> pools)
    : pools(std::move(pools)) {
  RequireDistinctNames(this->pools);
}

LiveRangeObj::LiveRangeObj(int64_t start, int64_t stop) : start(start), stop(stop) {
  if (start >= stop) {
    TVM_FFI_THROW(ValueError) << "A live range must start before it stops, but [" << start << ", "
                              << stop << ") does not";
  }
}

BufferInfoObj::BufferInfoObj(ffi::String name_hint, int64_t size_bytes,
                             ffi::Array<PoolInfo> pool_candidates, int64_t alignment,
                             ffi::Array<LiveRange> live_ranges, int64_t kind,
                             ffi::Optional<int64_t> fixed_offset)
    : name_hint(std::move(name_hint)),
      size_bytes(size_bytes),
      pool_candidates(std::move(pool_candidates)),
      alignment(alignment),
      live_ranges(std::move(live_ranges)),
      kind(kind),
      fixed_offset(fixed_offset) {
  const std::string owner = Called("buffer", this->name_hint);
  RequireAtLeast(0, size_bytes, "size_bytes", owner);
  RequireAtLeast(1, alignment, "alignment", owner);
  if (kind < static_cast<int64_t>(BufferInfoKind::kIntermediate) ||
      kind > static_cast<int64_t>(BufferInfoKind::kState)) {
    TVM_FFI_THROW(ValueError) << "kind of " << owner << " must be 0, 1, 2 or 3, but is " << kind;
  }
  if (fixed_offset.has_value()) {
    RequireAtLeast(0, *fixed_offset, "fixed_offset", owner);
    if (*fixed_offset % alignment != 0) {
      TVM_FFI_THROW(ValueError) << "fixed_offset of " << owner
                                << " must be a multiple of its alignment, " << alignment
                                << ", but is " << *fixed_offset;
    }
  }
}

void SetConflicts(const BufferInfo& buffer, const ffi::Array<BufferInfo>& conflicts) {
  buffer->conflicts.clear();
  buffer->conflicts.reserve(conflicts.size());
  for (const BufferInfo& conflict : conflicts) {
    buffer->conflicts.emplace_back(ffi::GetObjectPtr<BufferInfoObj>(conflict.get()));
  }
}

void SetOverlaps(const BufferInfo& buffer, const ffi::Map<BufferInfo, int64_t>& overlaps) {
  for (const auto& [input, distance] : overlaps) {
    if (distance < 0 || distance > buffer->size_bytes) {
      TVM_FFI_THROW(ValueError) << "the distance of " << Called("buffer", buffer->name_hint)
                                << " to \"" << input->name_hint << "\" must be 0 to "
                                << buffer->size_bytes << " bytes, but is " << distance;
    }
  }
  buffer->overlaps.clear();
  for (const auto& [input, distance] : overlaps) {
    buffer->overlaps.emplace_back(ffi::GetObjectPtr<BufferInfoObj>(input.get()), distance);
  }
}

AllocatedPoolInfoObj::AllocatedPoolInfoObj(PoolInfo pool_info, int64_t allocated_size,
                                           int64_t pool_var_idx, int64_t alignment)
    : pool_info(std::move(pool_info)),
      allocated_size(allocated_size),
      pool_var_idx(pool_var_idx),
      alignment(alignment) {
  const std::string owner = Called("memory pool", this->pool_info->pool_name);
  RequireAtLeast(0, allocated_size, "allocated_size", owner);
  RequireAtLeast(0, pool_var_idx, "pool_var_idx", owner);
  RequireAtLeast(1, alignment, "alignment", owner);
}

BufferInfoAnalysisObj::BufferInfoAnalysisObj(ffi::Map<BufferInfo, ffi::Any> buffer_info_stmts,
                                             int64_t memory_pressure,
                                             ffi::Map<ffi::String, int64_t> pool_memory_pressure)
    : buffer_info_stmts(std::move(buffer_info_stmts)),
      memory_pressure(memory_pressure),
      pool_memory_pressure(std::move(pool_memory_pressure)) {
  RequireAtLeast(0, memory_pressure, "memory_pressure", "a buffer analysis");
  for (const auto& [pool_name, pressure] : this->pool_memory_pressure) {
    RequireAtLeast(0, pressure, "pool_memory_pressure", "a buffer analysis");
  }
}

}  // namespace usmp
