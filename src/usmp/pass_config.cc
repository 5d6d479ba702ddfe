// Makes `PassContext(config={"tir.usmp.enable": True})` known to TVM.
//
// TVM registers the keys of its passes in C++ only, and the apache-tvm wheel ships no header for
// it, so the one function that libtvm_compiler exports is declared here. Values are converted and
// refused exactly as by TVM's own options of the same type.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

namespace tvm {
namespace transform {

class PassContext {
 public:
  static void RegisterConfigOption(const char* key, ffi::String value_type_str,
                                   std::function<ffi::Any(ffi::Any)> legalization);
};

}  // namespace transform
}  // namespace tvm

namespace usmp {

namespace ffi = tvm::ffi;

namespace {

using Names = ffi::Array<ffi::String>;

/*! \brief The names in a string, between commas; "" has none. */
Names SplitNames(const std::string& text) {
  Names names;
  for (size_t start = 0, stop; start < text.size(); start = stop + 1) {
    stop = std::min(text.find(',', start), text.size());
    names.push_back(ffi::String(text.substr(start, stop - start)));
  }
  return names;
}

template <typename Value>
std::optional<Value> Converted(const ffi::Any& value) {
  return value.try_cast<Value>();
}

/*! \brief Names are an array, or, as command lines have them, a string with commas. */
template <>
std::optional<Names> Converted<Names>(const ffi::Any& value) {
  if (std::optional<ffi::String> text = value.try_cast<ffi::String>()) return SplitNames(*text);
  return value.try_cast<Names>();
}

/*! \brief An option that takes a number, or a string such as "10%"; Python checks the value. */
void RegisterPercentage(const char* key) {
  auto legalize = [key](ffi::Any value) -> ffi::Any {
    const bool is_number = value.type_index() == ffi::TypeIndex::kTVMFFIInt ||
                           value.type_index() == ffi::TypeIndex::kTVMFFIFloat;
    if (is_number || value.try_cast<ffi::String>()) return value;
    TVM_FFI_THROW(AttributeError) << "Expect config " << key
                                  << " to have type percentage, but instead get "
                                  << value.GetTypeKey();
    TVM_FFI_UNREACHABLE();
  };
  tvm::transform::PassContext::RegisterConfigOption(key, "percentage", legalize);
}

template <typename Value>
void RegisterOption(const char* key) {
  const std::string type_name = ffi::TypeTraits<Value>::TypeStr();
  auto legalize = [key, type_name](ffi::Any value) -> ffi::Any {
    if (std::optional<Value> converted = Converted<Value>(value)) return *std::move(converted);
    TVM_FFI_THROW(AttributeError) << "Expect config " << key << " to have type " << type_name
                                  << ", but instead get "
                                  << ffi::details::AnyUnsafe::GetMismatchTypeInfo<Value>(value);
    TVM_FFI_UNREACHABLE();
  };
  tvm::transform::PassContext::RegisterConfigOption(key, type_name, legalize);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterOption<bool>("tir.usmp.enable");
  RegisterOption<ffi::String>("tir.usmp.algorithm");
  RegisterOption<bool>("tir.usmp.use_workspace_io");
  RegisterOption<bool>("tir.usmp.preserve_inputs");
  RegisterOption<bool>("tir.usmp.overlap");
  RegisterOption<bool>("tir.usmp.order_operators");
  RegisterOption<bool>("tir.usmp.streaming");
  RegisterOption<Names>("tir.usmp.stream_inputs");
  RegisterOption<Names>("tir.usmp.stream_outputs");
  RegisterOption<bool>("tir.usmp.poison_dead_bytes");
  RegisterOption<bool>("tir.usmp.verify_kernels");
  RegisterOption<bool>("tir.usmp.profile");
  RegisterOption<bool>("tir.usmp.prune_constant_channels");
  RegisterOption<ffi::String>("tir.usmp.custom_algorithm");
  RegisterOption<ffi::String>("tir.usmp.placement");
  RegisterPercentage("tir.usmp.max_extra_macs");
  RegisterOption<ffi::String>("tir.usmp.optimize");
  RegisterOption<ffi::String>("tir.usmp.code");
  RegisterOption<ffi::String>("tir.usmp.dynamic");
  RegisterOption<ffi::String>("tir.usmp.time_budget");
  RegisterOption<ffi::String>("tir.usmp.dynamic_allocator");
}

}  // namespace usmp
