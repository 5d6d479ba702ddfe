// Registers pools for Python; a separate file, because its templates take seconds to compile.
#include <tvm/ffi/reflection/registry.h>

#include "objects.h"

namespace usmp {

namespace refl = tvm::ffi::reflection;

namespace {

template <typename Owner>
void DefineProperties(refl::ObjectDef<Owner>* def) {
  def->def_ro("size_hint_bytes", &Owner::size_hint_bytes)
      .def_ro("clock_frequency_hz", &Owner::clock_frequency_hz)
      .def_ro("read_bandwidth_bytes_per_cycle", &Owner::read_bandwidth_bytes_per_cycle)
      .def_ro("write_bandwidth_bytes_per_cycle", &Owner::write_bandwidth_bytes_per_cycle)
      .def_ro("read_latency_cycles", &Owner::read_latency_cycles)
      .def_ro("write_latency_cycles", &Owner::write_latency_cycles)
      .def_ro("_target_bursts", &Owner::target_burst_bytes)
      .def_ro("is_internal", &Owner::is_internal)
      .def_ro("section_name", &Owner::section_name)
      .def_ro("alignment", &Owner::alignment)
      .def_ro("pool_offset", &Owner::pool_offset)
      .def_ro("address", &Owner::address)
      .def_ro("io", &Owner::io);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PoolInfoPropertiesObj> properties;
  properties.def(refl::init<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, TargetBursts,
                            bool, ffi::String, int64_t, int64_t, int64_t, ffi::String>());
  DefineProperties(&properties);

  refl::ObjectDef<PoolInfoObj> pool(refl::init(false));
  pool.def_ro("pool_name", &PoolInfoObj::pool_name)
      .def_ro("targets", &PoolInfoObj::targets)
      .def_ro("read_only_targets", &PoolInfoObj::read_only_targets);
  DefineProperties(&pool);

  refl::ObjectDef<WorkspacePoolInfoObj>().def(
      refl::init<ffi::String, ffi::Array<ffi::Any>, ffi::Array<ffi::Any>, PoolInfoProperties>());
  refl::ObjectDef<ConstantInfoObj>()
      .def(refl::init<ffi::String, int64_t, ffi::Tensor>())
      .def_ro("name_hint", &ConstantInfoObj::name_hint)
      .def_ro("byte_offset", &ConstantInfoObj::byte_offset)
      .def_ro("data", &ConstantInfoObj::data);
  refl::ObjectDef<ConstantPoolInfoObj>()
      .def(refl::init<ffi::String, ffi::Array<ffi::Any>, ffi::Array<ffi::Any>,
                      ffi::Array<ConstantInfo>, PoolInfoProperties>())
      .def_ro("constant_info_array", &ConstantPoolInfoObj::constant_info_array);
  refl::ObjectDef<WorkspaceMemoryPoolsObj>()
      .def(refl::init<ffi::Array<WorkspacePoolInfo>>())
      .def_ro("pools", &WorkspaceMemoryPoolsObj::pools);
  refl::ObjectDef<ConstantMemoryPoolsObj>()
      .def(refl::init<ffi::Array<ConstantPoolInfo>>())
      .def_ro("pools", &ConstantMemoryPoolsObj::pools);
}

}  // namespace usmp
