// Memory of a MemoryPlanner: bytes that are counted when they are allocated and when they are
// freed, by whichever thread lets go of them last.
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

/*! \brief Bytes of which every address of a tensor is a multiple; TVM's kernels rely on it. */
constexpr int64_t kTensorAlignment = 64;

/*! \brief What is written over bytes that hold nothing; as a float it is not a number. */
constexpr int kPoison = 0xFF;

/*! \brief How often memory was allocated, and how many bytes there are and were at most. */
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

/*! \brief All memory of one planner; `intermediates` is the part that a capacity bounds. */
struct MemoryCounters {
  StorageCounters all;
  StorageCounters intermediates;
};

/*! \brief One allocation. It outlives its planner if a tensor does. */
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

/*! \brief The data of a tensor: a place in a storage, which it keeps alive. */
struct DataInStorage {
  StoragePtr storage;
  int64_t offset;

  void AllocData(DLTensor* tensor) { tensor->data = storage->data() + offset; }
  void FreeData(DLTensor*) {}
};

/*! \brief A tensor object at a place of a storage. */
inline ffi::Tensor TensorAt(const StoragePtr& storage, int64_t offset, ffi::ShapeView shape,
                            DLDataType dtype) {
  return ffi::Tensor::FromNDAlloc(DataInStorage{storage, offset}, shape, dtype,
                                  DLDevice{kDLCPU, 0});
}

/*!
 * \brief Whether nothing but the planner refers to the tensor, so that its bytes and its shape may
 *        be written. What another thread has read of it is read then.
 */
inline bool IsIdle(const ffi::Tensor& tensor) {
  if (!tensor.unique()) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

/*! \brief Give an idle tensor another shape of as many dimensions. */
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
