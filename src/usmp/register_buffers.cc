// Registers buffers and their placements for Python; see register_pools.cc.
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include "objects.h"

namespace usmp {

namespace refl = tvm::ffi::reflection;

namespace {

ffi::Any BufferToJson(const BufferInfo& buffer) { return buffer->name_hint; }

BufferInfo BufferFromJson(const ffi::Any& name_hint) {
  TVM_FFI_THROW(TypeError) << "buffer \"" << name_hint.cast<ffi::String>()
                           << "\" cannot be loaded: what conflicts with it was not saved";
  TVM_FFI_UNREACHABLE();
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<LiveRangeObj>()
      .def(refl::init<int64_t, int64_t>())
      .def_ro("start", &LiveRangeObj::start)
      .def_ro("stop", &LiveRangeObj::stop);
  refl::ObjectDef<BufferInfoObj>()
      .def(refl::init<ffi::String, int64_t, ffi::Array<PoolInfo>, int64_t, ffi::Array<LiveRange>,
                      int64_t, ffi::Optional<int64_t>>())
      .def_ro("name_hint", &BufferInfoObj::name_hint)
      .def_ro("size_bytes", &BufferInfoObj::size_bytes)
      .def_ro("pool_candidates", &BufferInfoObj::pool_candidates)
      .def_ro("alignment", &BufferInfoObj::alignment)
      .def_ro("live_ranges", &BufferInfoObj::live_ranges)
      .def_ro("kind", &BufferInfoObj::kind)
      .def_ro("fixed_offset", &BufferInfoObj::fixed_offset)
      .def("_conflicts", GetConflicts)
      .def("_set_conflicts", SetConflicts)
      .def("_overlaps", GetOverlaps)
      .def("_set_overlaps", SetOverlaps)
      .def_type_attr(refl::type_attr::kDataToJson, BufferToJson)
      .def_type_attr(refl::type_attr::kDataFromJson, BufferFromJson);
  refl::ObjectDef<PoolAllocationObj>()
      .def(refl::init<PoolInfo, int64_t>())
      .def_ro("pool_info", &PoolAllocationObj::pool_info)
      .def_ro("byte_offset", &PoolAllocationObj::byte_offset);
  refl::ObjectDef<AllocatedPoolInfoObj>()
      .def(refl::init<PoolInfo, int64_t, int64_t, int64_t>())
      .def_ro("pool_info", &AllocatedPoolInfoObj::pool_info)
      .def_ro("allocated_size", &AllocatedPoolInfoObj::allocated_size)
      .def_ro("pool_var_idx", &AllocatedPoolInfoObj::pool_var_idx)
      .def_ro("alignment", &AllocatedPoolInfoObj::alignment);
  refl::ObjectDef<BufferInfoAnalysisObj>()
      .def(refl::init<ffi::Map<BufferInfo, ffi::Any>, int64_t, ffi::Map<ffi::String, int64_t>>())
      .def_ro("buffer_info_stmts", &BufferInfoAnalysisObj::buffer_info_stmts)
      .def_ro("memory_pressure", &BufferInfoAnalysisObj::memory_pressure)
      .def_ro("pool_memory_pressure", &BufferInfoAnalysisObj::pool_memory_pressure);
}

}  // namespace usmp
