// A placement problem as columns of int64, which other languages can pass without an object for
// each buffer.
//
// The lists of all buffers, such as their candidate pools, are concatenated in one column. The list
// of buffer `b` has the entries from `first[b]` to `first[b + 1] - 1`.
#ifndef USMP_COLUMNS_H_
#define USMP_COLUMNS_H_

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace usmp {

namespace ffi = tvm::ffi;

using ColumnMap = ffi::Map<ffi::String, ffi::Tensor>;

/*! \brief A column, valid as long as its map. */
class Column {
 public:
  /*! \brief Throw ValueError unless the column is a contiguous vector of int64. */
  Column(const ColumnMap& columns, const char* name) {
    const ffi::Tensor& tensor = columns.at(name);
    const DLDataType type = tensor.dtype();
    if (tensor.ndim() != 1 || type.code != kDLInt || type.bits != 64 || type.lanes != 1 ||
        !tensor.IsContiguous() || tensor.device().device_type != kDLCPU) {
      TVM_FFI_THROW(ValueError) << "column \"" << name << "\" must be a vector of int64";
    }
    values_ = static_cast<const int64_t*>(tensor.data_ptr());
    size_ = static_cast<size_t>(tensor.size(0));
  }

  int64_t operator[](size_t row) const { return values_[row]; }
  size_t size() const { return size_; }

 private:
  const int64_t* values_;
  size_t size_;
};

/*! \brief The memory of a vector that is exported as a tensor. */
struct VectorData {
  std::vector<int64_t> values;
  void AllocData(DLTensor* tensor) { tensor->data = values.data(); }
  void FreeData(DLTensor*) {}
};

inline ffi::Tensor ToColumn(std::vector<int64_t> values) {
  const ffi::Shape shape{static_cast<int64_t>(values.size())};
  return ffi::Tensor::FromNDAlloc(VectorData{std::move(values)}, shape, DLDataType{kDLInt, 64, 1},
                                  DLDevice{kDLCPU, 0});
}

inline std::optional<int64_t> ToStd(const ffi::Optional<int64_t>& number) {
  return number.has_value() ? std::optional<int64_t>(*number) : std::nullopt;
}

}  // namespace usmp

#endif  // USMP_COLUMNS_H_
