// Memory of a MemoryPlanner, counted when it is allocated and when the last thread frees it.
#ifndef USMP_COUNTED_STORAGE_H_
#define USMP_COUNTED_STORAGE_H_

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace usmp {

namespace ffi = tvm::ffi;

/*! \brief Alignment of tensor addresses in bytes, on which TVM's kernels rely. */
constexpr int64_t kTensorAlignment = 64;

/*! \brief Byte written over unused memory: as a float it is NaN. */
constexpr int kPoison = 0xFF;

/*! \brief Number of allocations, and present and highest number of bytes. */
struct StorageCounters {
  void Add(int64_t size) {
    allocations.fetch_add(1);
    const int64_t now = bytes.fetch_add(size) + size;
    int64_t peak = peak_bytes.load();
    while (peak < now && !peak_bytes.compare_exchange_weak(peak, now)) {
    }
  }

  void Remove(int64_t size) { bytes.fetch_sub(size); }

  std::atomic<int64_t> allocations{0};
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> peak_bytes{0};
};

/*! \brief Counters of one planner's memory; a capacity limits only `intermediates`. */
struct MemoryCounters {
  StorageCounters all;
  StorageCounters intermediates;
};

/*! \brief An allocation. It outlives its planner if a tensor does. */
class CountedStorage {
 public:
  CountedStorage(int64_t size, bool is_intermediate, std::shared_ptr<MemoryCounters> counters)
      : size_(size), is_intermediate_(is_intermediate), counters_(std::move(counters)) {
    const size_t bytes = static_cast<size_t>(std::max<int64_t>(size, 1));
    data_ = static_cast<char*>(::operator new(bytes, kAlignment, std::nothrow));
    if (data_ == nullptr) {
      TVM_FFI_THROW(MemoryError) << "MemoryPlanner: the system has no " << size
                                 << " bytes for tensors of this call";
    }
    counters_->all.Add(size_);
    if (is_intermediate_) counters_->intermediates.Add(size_);
  }

  ~CountedStorage() {
    ::operator delete(data_, kAlignment);
    counters_->all.Remove(size_);
    if (is_intermediate_) counters_->intermediates.Remove(size_);
  }

  CountedStorage(const CountedStorage&) = delete;
  CountedStorage& operator=(const CountedStorage&) = delete;

  char* data() const { return data_; }
  int64_t size() const { return size_; }

  bool Contains(const void* address) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    const uintptr_t begin = reinterpret_cast<uintptr_t>(data_);
    return begin <= at && at < begin + static_cast<uintptr_t>(size_);
  }

 private:
  static constexpr std::align_val_t kAlignment{kTensorAlignment};

  int64_t size_;
  bool is_intermediate_;
  std::shared_ptr<MemoryCounters> counters_;
  char* data_;
};

using StoragePtr = std::shared_ptr<CountedStorage>;

/*! \brief The data of a tensor: an offset in a storage, which it keeps alive. */
struct DataInStorage {
  StoragePtr storage;
  int64_t offset;

  void AllocData(DLTensor* tensor) { tensor->data = storage->data() + offset; }
  void FreeData(DLTensor*) {}
};

/*! \brief Return a tensor object at an offset of a storage. */
inline ffi::Tensor TensorAt(const StoragePtr& storage, int64_t offset, ffi::ShapeView shape,
                            DLDataType dtype) {
  return ffi::Tensor::FromNDAlloc(DataInStorage{storage, offset}, shape, dtype,
                                  DLDevice{kDLCPU, 0});
}

/*!
 * \brief Return whether only the planner refers to the tensor, so that its bytes and shape may be
 *        written.
 *
 * The acquire fence orders earlier reads of other threads before these writes.
 */
inline bool IsIdle(const ffi::Tensor& tensor) {
  if (!tensor.unique()) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

/*! \brief Give an idle tensor another shape with the same number of dimensions. */
inline void SetShape(const ffi::Tensor& tensor, ffi::ShapeView shape) {
  DLTensor* object = const_cast<DLTensor*>(tensor.GetDLTensorPtr());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    object->shape[axis] = shape[axis];
    object->strides[axis] = stride;
    stride *= shape[axis];
  }
}

inline void Poison(char* begin, int64_t size) {
  if (size > 0) std::memset(begin, kPoison, static_cast<size_t>(size));
}

}  // namespace usmp

#endif  // USMP_COUNTED_STORAGE_H_
