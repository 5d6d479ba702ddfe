// Registers PassContext options such as `tir.usmp.enable` with TVM; Python has their list.
//
// TVM registers the options of its passes in C++ only, and the apache-tvm wheel has no header for
// it. So the function, which libtvm_compiler exports, is declared here. Values are converted and
// refused exactly like those of TVM's own options of the same type.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <functional>
#include <mutex>
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

/*! \brief Split a string at its commas; "" has no names. */
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

/*! \brief Accept an array or, from command lines, a string with commas. */
template <>
std::optional<Names> Converted<Names>(const ffi::Any& value) {
  if (std::optional<ffi::String> text = value.try_cast<ffi::String>()) return SplitNames(*text);
  return value.try_cast<Names>();
}

/*! \brief Register an option that takes a number or a string such as "10%". Python checks the
 *         value. */
void RegisterPercentage(const std::string& key) {
  auto legalize = [key](ffi::Any value) -> ffi::Any {
    const bool is_number = value.type_index() == ffi::TypeIndex::kTVMFFIInt ||
                           value.type_index() == ffi::TypeIndex::kTVMFFIFloat;
    if (is_number || value.try_cast<ffi::String>()) return value;
    TVM_FFI_THROW(AttributeError) << "Expect config " << key
                                  << " to have type percentage, but instead get "
                                  << value.GetTypeKey();
    TVM_FFI_UNREACHABLE();
  };
  tvm::transform::PassContext::RegisterConfigOption(key.c_str(), "percentage", legalize);
}

template <typename Value>
void RegisterOption(const std::string& key) {
  const std::string type_name = ffi::TypeTraits<Value>::TypeStr();
  auto legalize = [key, type_name](ffi::Any value) -> ffi::Any {
    if (std::optional<Value> converted = Converted<Value>(value)) return *std::move(converted);
    TVM_FFI_THROW(AttributeError) << "Expect config " << key << " to have type " << type_name
                                  << ", but instead get "
                                  << ffi::details::AnyUnsafe::GetMismatchTypeInfo<Value>(value);
    TVM_FFI_UNREACHABLE();
  };
  tvm::transform::PassContext::RegisterConfigOption(key.c_str(), type_name, legalize);
}

/*! \brief Register an option of any type. Its reader checks the value. */
void RegisterAny(const std::string& key) {
  auto legalize = [](ffi::Any value) -> ffi::Any { return value; };
  tvm::transform::PassContext::RegisterConfigOption(key.c_str(), "Any", legalize);
}

void RegisterOfType(const std::string& key, const std::string& type_name) {
  if (type_name == "bool") return RegisterOption<bool>(key);
  if (type_name == "str") return RegisterOption<ffi::String>(key);
  if (type_name == "Array<str>") return RegisterOption<Names>(key);
  if (type_name == "percentage") return RegisterPercentage(key);
  if (type_name == "Any") return RegisterAny(key);
  TVM_FFI_THROW(ValueError) << "pass option " << key << " has the unknown type " << type_name;
}

/*! \brief Register pass options with their types, except those that TVM already knows. */
void RegisterPassOptions(const ffi::Map<ffi::String, ffi::String>& types) {
  // Two threads may import the package and TVM at once, and TVM accepts no option twice.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const ffi::Function list = ffi::Function::GetGlobalRequired("transform.ListConfigs");
  const auto known = list().cast<ffi::Map<ffi::String, ffi::Any>>();
  for (const auto& [key, type_name] : types) {
    if (known.count(key) == 0) RegisterOfType(key, type_name);
  }
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("usmp.register_pass_options", RegisterPassOptions);
}

}  // namespace usmp
