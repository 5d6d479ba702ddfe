// Registers the memory of planners for Python and for compiled modules; see managed_memory.h.
#include <tvm/ffi/reflection/registry.h>

#include "managed_memory.h"

namespace usmp {

namespace refl = tvm::ffi::reflection;

namespace {

/*! \brief Return a function that runs `function` with this memory. */
ffi::Function Bind(const ffi::ObjectPtr<ManagedMemoryObj>& memory, const ffi::Function& function) {
  return ffi::Function::FromPacked([memory, function](ffi::PackedArgs arguments, ffi::Any* result) {
    *result = memory->Run(function, arguments);
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<ManagedMemoryObj>()
      .def(refl::init<int64_t, ffi::Array<ffi::String>, Integers, ffi::Array<DLDataType>,
                      ffi::Array<bool>, ffi::Array<bool>, Integers, int64_t, bool, ffi::Function>())
      .def("bind", Bind)
      .def("set_plan", &ManagedMemoryObj::SetPlan)
      .def("release", &ManagedMemoryObj::Release)
      .def("release_outputs", &ManagedMemoryObj::ReleaseOutputs)
      .def("largest", &ManagedMemoryObj::Largest)
      .def("escaped", &ManagedMemoryObj::Escaped)
      .def("counters", &ManagedMemoryObj::Counters)
      .def("is_in_buffer", &ManagedMemoryObj::IsInBuffer)
      .def("is_in_output_buffer", &ManagedMemoryObj::IsInOutputBuffer);
  refl::GlobalDef()
      // Compiled modules call these functions by name.
      .def("usmp.runtime.expect_sizes",
           [](int64_t token, const ffi::Shape& sizes) {
             ManagedMemoryObj::Current()->ExpectSizes(token, sizes);
           })
      .def("usmp.runtime.alloc_tensor", [](int64_t token, int64_t number, const ffi::Shape& shape) {
        return ManagedMemoryObj::Current()->Allocate(token, number, shape);
      });
}

}  // namespace usmp
