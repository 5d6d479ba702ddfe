// The `repr` of each object: one line in Python's syntax.
//
// Properties with default values are omitted. Referenced objects are printed by name, because
// conflicts are mutual and would never end.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <sstream>
#include <string>

#include "objects.h"

namespace usmp {

namespace refl = tvm::ffi::reflection;

namespace {

/*! \brief Most names to list; further ones are counted, so that the line stays short. */
constexpr size_t kMaxListed = 8;

std::string Quoted(const ffi::String& text) { return ffi::EscapedStringPy(text); }

template <typename Container, typename Print>
void PrintList(std::ostream& os, const Container& items, const char* brackets, Print print) {
  os << brackets[0];
  size_t listed = 0;
  for (const auto& item : items) {
    if (listed > 0) os << ", ";
    if (listed == kMaxListed) {
      os << "... " << items.size() - kMaxListed << " more";
      break;
    }
    print(item);
    ++listed;
  }
  os << brackets[1];
}

void PrintProperties(std::ostream& os, const PoolProperties& properties,
                     const ffi::Function& fn_repr, const char* separator) {
  const PoolProperties defaults;
  auto print = [&](const char* name, int64_t value, int64_t default_value) {
    if (value == default_value) return;
    os << separator << name << "=" << value;
    separator = ", ";
  };
  print("size_hint_bytes", properties.size_hint_bytes, defaults.size_hint_bytes);
  print("clock_frequency_hz", properties.clock_frequency_hz, defaults.clock_frequency_hz);
  print("read_bandwidth_bytes_per_cycle", properties.read_bandwidth_bytes_per_cycle,
        defaults.read_bandwidth_bytes_per_cycle);
  print("write_bandwidth_bytes_per_cycle", properties.write_bandwidth_bytes_per_cycle,
        defaults.write_bandwidth_bytes_per_cycle);
  print("read_latency_cycles", properties.read_latency_cycles, defaults.read_latency_cycles);
  print("write_latency_cycles", properties.write_latency_cycles, defaults.write_latency_cycles);
  if (!properties.target_burst_bytes.empty()) {
    os << separator << "target_burst_bytes=";
    PrintList(os, properties.target_burst_bytes, "{}", [&](const auto& burst) {
      os << fn_repr(burst.template get<0>()).template cast<ffi::String>() << ": "
         << burst.template get<1>();
    });
    separator = ", ";
  }
  if (properties.is_internal) {
    os << separator << "is_internal=True";
    separator = ", ";
  }
  if (!properties.section_name.empty()) {
    os << separator << "section_name=" << Quoted(properties.section_name);
    separator = ", ";
  }
  print("alignment", properties.alignment, defaults.alignment);
  print("pool_offset", properties.pool_offset, defaults.pool_offset);
  print("address", properties.address, defaults.address);
  if (properties.io != defaults.io) os << separator << "io=" << Quoted(properties.io);
}

void PrintPool(std::ostream& os, const PoolInfoObj& pool, const ffi::Function& fn_repr) {
  os << "pool_name=" << Quoted(pool.pool_name)
     << ", targets=" << fn_repr(pool.targets).cast<ffi::String>();
  if (!pool.read_only_targets.empty()) {
    os << ", read_only_targets=" << fn_repr(pool.read_only_targets).cast<ffi::String>();
  }
  PrintProperties(os, pool, fn_repr, ", ");
}

ffi::String ReprProperties(const PoolInfoProperties& properties, const ffi::Function& fn_repr) {
  std::ostringstream os;
  os << "PoolInfoProperties(";
  PrintProperties(os, *properties.get(), fn_repr, "");
  os << ")";
  return os.str();
}

ffi::String ReprWorkspacePool(const WorkspacePoolInfo& pool, const ffi::Function& fn_repr) {
  std::ostringstream os;
  os << "WorkspacePoolInfo(";
  PrintPool(os, *pool.get(), fn_repr);
  os << ")";
  return os.str();
}

ffi::String ReprConstantPool(const ConstantPoolInfo& pool, const ffi::Function& fn_repr) {
  std::ostringstream os;
  os << "ConstantPoolInfo(";
  PrintPool(os, *pool.get(), fn_repr);
  os << ", constant_info_array=";
  PrintList(os, pool->constant_info_array, "[]",
            [&](const ConstantInfo& constant) { os << Quoted(constant->name_hint); });
  os << ")";
  return os.str();
}

ffi::String ReprConstant(const ConstantInfo& constant, const ffi::Function& fn_repr) {
  std::ostringstream os;
  os << "ConstantInfo(name_hint=" << Quoted(constant->name_hint)
     << ", byte_offset=" << constant->byte_offset
     << ", data=" << fn_repr(constant->data).cast<ffi::String>() << ")";
  return os.str();
}

template <typename Pools>
ffi::String ReprPools(const char* type_name, const Pools& pools) {
  std::ostringstream os;
  os << type_name << "(pools=";
  PrintList(os, pools->pools, "[]", [&](const PoolInfo& pool) { os << Quoted(pool->pool_name); });
  os << ")";
  return os.str();
}

ffi::String ReprWorkspacePools(const ffi::ObjectRef& pools, const ffi::Function&) {
  return ReprPools("WorkspaceMemoryPools", pools.as<WorkspaceMemoryPoolsObj>());
}

ffi::String ReprConstantPools(const ffi::ObjectRef& pools, const ffi::Function&) {
  return ReprPools("ConstantMemoryPools", pools.as<ConstantMemoryPoolsObj>());
}

ffi::String ReprLiveRange(const LiveRange& range, const ffi::Function&) {
  std::ostringstream os;
  os << "LiveRange(start=" << range->start << ", stop=" << range->stop << ")";
  return os.str();
}

const char* KindName(int64_t kind) {
  switch (static_cast<BufferInfoKind>(kind)) {
    case BufferInfoKind::kInput:
      return "INPUT";
    case BufferInfoKind::kOutput:
      return "OUTPUT";
    case BufferInfoKind::kState:
      return "STATE";
    case BufferInfoKind::kIntermediate:
      break;
  }
  return "INTERMEDIATE";
}

ffi::String ReprBuffer(const BufferInfo& buffer, const ffi::Function&) {
  std::ostringstream os;
  os << "BufferInfo(name_hint=" << Quoted(buffer->name_hint)
     << ", size_bytes=" << buffer->size_bytes << ", pool_candidates=";
  PrintList(os, buffer->pool_candidates, "[]",
            [&](const PoolInfo& pool) { os << Quoted(pool->pool_name); });
  os << ", alignment=" << buffer->alignment << ", live_ranges=";
  PrintList(os, buffer->live_ranges, "[]", [&](const LiveRange& range) {
    os << "(" << range->start << ", " << range->stop << ")";
  });
  os << ", kind=" << KindName(buffer->kind);
  if (buffer->fixed_offset.has_value()) os << ", fixed_offset=" << *buffer->fixed_offset;
  os << ", conflicts=";
  PrintList(os, GetConflicts(buffer), "[]",
            [&](const BufferInfo& conflict) { os << Quoted(conflict->name_hint); });
  if (!buffer->overlaps.empty()) {
    os << ", overlaps=";
    PrintList(os, GetOverlaps(buffer), "{}", [&](const auto& overlap) {
      os << Quoted(overlap.first->name_hint) << ": " << overlap.second;
    });
  }
  os << ")";
  return os.str();
}

ffi::String ReprPoolAllocation(const PoolAllocation& allocation, const ffi::Function&) {
  std::ostringstream os;
  os << "PoolAllocation(pool_info=" << Quoted(allocation->pool_info->pool_name)
     << ", byte_offset=" << allocation->byte_offset << ")";
  return os.str();
}

ffi::String ReprAllocatedPool(const ffi::ObjectRef& self, const ffi::Function& fn_repr) {
  const auto* allocated = self.as<AllocatedPoolInfoObj>();
  std::ostringstream os;
  os << "AllocatedPoolInfo(pool_info=" << fn_repr(allocated->pool_info).cast<ffi::String>()
     << ", allocated_size=" << allocated->allocated_size
     << ", pool_var_idx=" << allocated->pool_var_idx;
  if (allocated->alignment != 1) os << ", alignment=" << allocated->alignment;
  os << ")";
  return os.str();
}

ffi::String ReprAnalysis(const ffi::ObjectRef& self, const ffi::Function&) {
  const auto* analysis = self.as<BufferInfoAnalysisObj>();
  std::ostringstream os;
  os << "BufferInfoAnalysis(buffer_info_stmts=";
  PrintList(os, analysis->buffer_info_stmts, "[]",
            [&](const auto& entry) { os << Quoted(entry.first->name_hint); });
  os << ", memory_pressure=" << analysis->memory_pressure;
  if (!analysis->pool_memory_pressure.empty()) {
    os << ", pool_memory_pressure=";
    PrintList(os, analysis->pool_memory_pressure, "{}", [&](const auto& pressure) {
      os << Quoted(pressure.first) << ": " << pressure.second;
    });
  }
  os << ")";
  return os.str();
}

template <typename Obj, typename Repr>
void Define(Repr repr) {
  refl::TypeAttrDef<Obj>().def(refl::type_attr::kRepr, repr);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  Define<PoolInfoPropertiesObj>(ReprProperties);
  Define<WorkspacePoolInfoObj>(ReprWorkspacePool);
  Define<ConstantPoolInfoObj>(ReprConstantPool);
  Define<ConstantInfoObj>(ReprConstant);
  Define<WorkspaceMemoryPoolsObj>(ReprWorkspacePools);
  Define<ConstantMemoryPoolsObj>(ReprConstantPools);
  Define<LiveRangeObj>(ReprLiveRange);
  Define<BufferInfoObj>(ReprBuffer);
  Define<PoolAllocationObj>(ReprPoolAllocation);
  Define<AllocatedPoolInfoObj>(ReprAllocatedPool);
  Define<BufferInfoAnalysisObj>(ReprAnalysis);
}

}  // namespace usmp
