// The memory of a MemoryPlanner while its module runs (RFC 0019).
//
// Every tensor that the module allocates has a number. The plan gives it a place in the managed
// buffer or, if the function returns it, in an output buffer. A tensor object is built once for
// each place, and is returned with another shape each time.
//
// The plan uses live ranges, but correctness does not rely on them. A tensor gets its bytes only if
// no one but the planner refers to any tensor object that shares them. TVM's own allocator reclaims
// memory by this rule. A tensor that is larger than its place, or finds it in use, gets separate
// memory for this run.
#ifndef USMP_MANAGED_MEMORY_H_
#define USMP_MANAGED_MEMORY_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "counted_storage.h"

namespace usmp {

using Integers = ffi::Array<int64_t>;

/*! \brief A managed tensor, its place, and its observed sizes. */
struct ManagedTensor {
  std::string name;
  int64_t ndim = 0;
  DLDataType dtype{};
  bool is_output = false;
  bool is_in_branch = false;
  /*! \brief Most bytes so far; -1 if it was never allocated. */
  int64_t largest = -1;
  /*! \brief First byte of its place, and size of the place in bytes; -1 if it has no place. */
  int64_t offset = 0;
  int64_t limit = -1;
  /*! \brief Tensors whose places share bytes with this place. */
  std::vector<size_t> sharing;
  /*! \brief The tensor object of an intermediate at its place. */
  ffi::Tensor object;
  /*! \brief The last run that used the object. */
  int64_t run = 0;
  /*! \brief Whether a caller kept it beyond a run; then it loses its place. */
  bool has_escaped = false;
};

/*! \brief Memory of all outputs of one run, with the tensor objects of outputs by number. */
struct OutputBuffer {
  StoragePtr storage;
  std::vector<ffi::Tensor> objects;
};

class ManagedMemoryObj : public ffi::Object {
 public:
  /*!
   * \brief Build the memory of one function.
   *
   * \param token of the function that allocates these tensors.
   * \param names, ndims, dtypes, are_outputs, are_in_branches properties of each tensor, by number.
   * \param expected numbers of the tensors whose sizes `ExpectSizes` gets.
   * \param capacity most bytes of intermediates; -1 for no limit.
   * \param poison whether to overwrite unused bytes.
   * \param replan called with the expected sizes, or with nothing after a run; it calls `SetPlan`.
   */
  ManagedMemoryObj(int64_t token, ffi::Array<ffi::String> names, Integers ndims,
                   ffi::Array<DLDataType> dtypes, ffi::Array<bool> are_outputs,
                   ffi::Array<bool> are_in_branches, Integers expected, int64_t capacity,
                   bool poison, ffi::Function replan);

  /*!
   * \brief Give tensors new places, before any of them is allocated in a run.
   *
   * \param largest the largest size of each tensor so far, in bytes.
   * \param offsets, limits, sharing of each tensor's place, by number; limit -1 means no place.
   * \param buffer_bytes, output_bytes ends of all places.
   */
  void SetPlan(const Integers& largest, const Integers& offsets, const Integers& limits,
               const ffi::Array<Integers>& sharing, int64_t buffer_bytes, int64_t output_bytes);

  /*! \brief Call `function` with the arguments and this memory. */
  ffi::Any Run(const ffi::Function& function, ffi::PackedArgs arguments);

  /*! \brief Receive the bytes of each expected tensor in this run. If they exceed the plan,
   *         replace the plan. */
  void ExpectSizes(int64_t token, ffi::ShapeView sizes);

  /*! \brief Return memory for a tensor of this run. */
  ffi::Tensor Allocate(int64_t token, int64_t number, ffi::ShapeView shape);

  /*! \brief Forget the buffers. Referenced ones are freed with their last reference. */
  void Release();
  void ReleaseOutputs();

  Integers Largest() const;
  Integers Escaped() const;
  ffi::Map<ffi::String, int64_t> Counters() const;
  bool IsInBuffer(const ffi::Tensor& tensor) const;
  bool IsInOutputBuffer(const ffi::Tensor& tensor) const;

  /*! \brief Return the memory that runs on this thread. Throw RuntimeError if there is none. */
  static ManagedMemoryObj* Current();

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.ManagedMemory", ManagedMemoryObj, ffi::Object);

 private:
  class Running;

  void CheckToken(int64_t token) const;
  void CheckCapacity(int64_t bytes, const std::string& what) const;
  bool IsExpected(const ManagedTensor& tensor) const;
  int64_t BytesOf(const ManagedTensor& tensor, ffi::ShapeView shape) const;
  bool IsPlaceFree(const ManagedTensor& tensor) const;
  ffi::Tensor AllocateOutput(size_t number, int64_t bytes, ffi::ShapeView shape);
  ffi::Tensor AllocateAlone(const ManagedTensor& tensor, int64_t bytes, ffi::ShapeView shape);
  OutputBuffer& OutputsOfThisRun();
  void AddOutputs();
  void ForgetOutputs();
  std::vector<StoragePtr> AllOutputs() const;
  bool IsPlanOfOutputs(const Integers& offsets, const Integers& limits, int64_t output_bytes) const;
  void PoisonUnused() const;
  void AfterRun();

  int64_t token_;
  int64_t capacity_;
  bool poison_;
  ffi::Function replan_;
  std::vector<ManagedTensor> tensors_;
  std::vector<size_t> expected_;
  std::shared_ptr<MemoryCounters> counters_ = std::make_shared<MemoryCounters>();
  StoragePtr buffer_;
  int64_t output_bytes_ = 0;
  std::vector<OutputBuffer> outputs_;
  /*! \brief Output buffers that were forgotten while they were referenced. */
  std::vector<std::weak_ptr<CountedStorage>> held_outputs_;
  /*! \brief Index of this run's output buffer; -1 before it needs one. */
  int64_t outputs_of_run_ = -1;

  std::atomic<bool> is_running_{false};
  std::atomic<std::thread::id> running_thread_{};
  int64_t runs_ = 0;
  int64_t alone_ = 0;
  int64_t in_use_ = 0;
  bool has_grown_ = false;
};

}  // namespace usmp

#endif  // USMP_MANAGED_MEMORY_H_
