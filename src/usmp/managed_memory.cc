#include "managed_memory.h"

#include <tvm/ffi/error.h>

#include <limits>
#include <utility>

namespace usmp {

namespace {

thread_local ManagedMemoryObj* current = nullptr;

int64_t Count(size_t size) { return static_cast<int64_t>(size); }

ffi::Shape NoElements(int64_t ndim) {
  return ffi::Shape(std::vector<int64_t>(static_cast<size_t>(ndim), 0));
}

bool AreIdle(const OutputBuffer& buffer) {
  return std::all_of(buffer.objects.begin(), buffer.objects.end(),
                     [](const ffi::Tensor& object) { return !object.defined() || IsIdle(object); });
}

}  // namespace

/*! \brief Makes a memory the current one of this thread while in scope; excludes other
 *         runs of it. */
class ManagedMemoryObj::Running {
 public:
  explicit Running(ManagedMemoryObj* memory) : memory_(memory), outer_(current) {
    if (memory->is_running_.exchange(true)) {
      if (memory->running_thread_.load() == std::this_thread::get_id()) {
        TVM_FFI_THROW(RuntimeError) << "MemoryPlanner: the function that this planner runs calls "
                                       "the planner again; use another planner for the inner call";
      }
      TVM_FFI_THROW(RuntimeError)
          << "MemoryPlanner: another thread runs this planner now; make one "
             "planner a thread";
    }
    memory->running_thread_.store(std::this_thread::get_id());
    current = memory;
  }

  ~Running() {
    current = outer_;
    memory_->outputs_of_run_ = -1;
    memory_->is_running_.store(false);
  }

  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ManagedMemoryObj* memory_;
  ManagedMemoryObj* outer_;
};

ManagedMemoryObj::ManagedMemoryObj(int64_t token, ffi::Array<ffi::String> names, Integers ndims,
                                   ffi::Array<DLDataType> dtypes, ffi::Array<bool> are_outputs,
                                   ffi::Array<bool> are_in_branches, Integers expected,
                                   int64_t capacity, bool poison, ffi::Function replan)
    : token_(token), capacity_(capacity), poison_(poison), replan_(std::move(replan)) {
  for (size_t number = 0; number < names.size(); ++number) {
    ManagedTensor tensor;
    tensor.name = names[number];
    tensor.ndim = ndims[number];
    tensor.dtype = dtypes[number];
    tensor.is_output = are_outputs[number];
    tensor.is_in_branch = are_in_branches[number];
    tensors_.push_back(std::move(tensor));
  }
  for (int64_t number : expected) expected_.push_back(static_cast<size_t>(number));
}

ManagedMemoryObj* ManagedMemoryObj::Current() {
  if (current == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "this module was compiled for usmp.runtime.MemoryPlanner and "
                                   "runs by one only: MemoryPlanner(module)(...)";
  }
  return current;
}

void ManagedMemoryObj::CheckToken(int64_t token) const {
  if (token != token_) {
    TVM_FFI_THROW(RuntimeError)
        << "MemoryPlanner: a function that was compiled for another planner "
           "is called; call it by that planner";
  }
}

void ManagedMemoryObj::SetPlan(const Integers& largest, const Integers& offsets,
                               const Integers& limits, const ffi::Array<Integers>& sharing,
                               int64_t buffer_bytes, int64_t output_bytes) {
  const bool are_outputs_the_same = IsPlanOfOutputs(offsets, limits, output_bytes);
  bool is_held = false;
  for (const ManagedTensor& tensor : tensors_) {
    is_held |= tensor.object.defined() && !IsIdle(tensor.object);
  }
  const bool is_new = is_held || buffer_ == nullptr || buffer_->size() < buffer_bytes;
  if (is_new) {
    // Free the old buffer first, so that two never coexist. Tensors in use keep it alive.
    for (ManagedTensor& tensor : tensors_) tensor.object = ffi::Tensor();
    buffer_.reset();
    CheckCapacity(buffer_bytes, "the managed buffer");
    buffer_ = std::make_shared<CountedStorage>(buffer_bytes, /*is_intermediate=*/true, counters_);
  }
  for (size_t number = 0; number < tensors_.size(); ++number) {
    ManagedTensor& tensor = tensors_[number];
    tensor.largest = largest[number];
    tensor.offset = offsets[number];
    tensor.limit = limits[number];
    tensor.sharing.clear();
    for (int64_t other : sharing[number]) tensor.sharing.push_back(static_cast<size_t>(other));
    tensor.object = ffi::Tensor();
    if (tensor.is_output || tensor.limit < 0) continue;
    const ffi::Shape shape = NoElements(tensor.ndim);
    tensor.object = TensorAt(buffer_, tensor.offset, shape, tensor.dtype);
  }
  if (are_outputs_the_same) return;
  ForgetOutputs();
  outputs_of_run_ = -1;
  output_bytes_ = output_bytes;
  const bool has_outputs = std::any_of(
      tensors_.begin(), tensors_.end(),
      [](const ManagedTensor& tensor) { return tensor.is_output && tensor.limit >= 0; });
  // Make two buffers, because the virtual machine refers to a result until the next run ends.
  while (has_outputs && outputs_.size() < 2) AddOutputs();
}

bool ManagedMemoryObj::IsPlanOfOutputs(const Integers& offsets, const Integers& limits,
                                       int64_t output_bytes) const {
  bool is_the_same = output_bytes == output_bytes_;
  for (size_t number = 0; number < tensors_.size(); ++number) {
    const ManagedTensor& tensor = tensors_[number];
    if (!tensor.is_output) continue;
    is_the_same &= tensor.offset == offsets[number] && tensor.limit == limits[number];
  }
  return is_the_same;
}

ffi::Any ManagedMemoryObj::Run(const ffi::Function& function, ffi::PackedArgs arguments) {
  const Running running(this);
  ++runs_;
  has_grown_ = false;
  ffi::Any result;
  function.CallPacked(arguments, &result);
  AfterRun();
  return result;
}

void ManagedMemoryObj::AfterRun() {
  bool has_escaped = false;
  for (ManagedTensor& tensor : tensors_) {
    // Assume that a caller that keeps a tensor beyond one run keeps it in later runs, too.
    if (tensor.object.defined() && tensor.run == runs_ && !IsIdle(tensor.object)) {
      tensor.has_escaped = has_escaped = true;
    }
  }
  if (poison_) PoisonUnused();
  if (has_grown_ || has_escaped) replan_(nullptr);
}

void ManagedMemoryObj::ExpectSizes(int64_t token, ffi::ShapeView sizes) {
  CheckToken(token);
  TVM_FFI_ICHECK_EQ(sizes.size(), expected_.size());
  bool fits = buffer_ != nullptr;
  for (size_t i = 0; i < expected_.size(); ++i) {
    const ManagedTensor& tensor = tensors_[expected_[i]];
    fits &= !IsExpected(tensor) || sizes[i] <= tensor.limit;
  }
  if (!fits) replan_(ffi::Shape(sizes.begin(), sizes.end()));
  for (size_t i = 0; i < expected_.size(); ++i) {
    ManagedTensor& tensor = tensors_[expected_[i]];
    if (IsExpected(tensor)) tensor.largest = std::max(tensor.largest, sizes[i]);
  }
}

bool ManagedMemoryObj::IsExpected(const ManagedTensor& tensor) const {
  // Expect a tensor in a branch only after the branch was taken once.
  return !tensor.has_escaped && !(tensor.is_in_branch && tensor.largest < 0);
}

int64_t ManagedMemoryObj::BytesOf(const ManagedTensor& tensor, ffi::ShapeView shape) const {
  if (Count(shape.size()) != tensor.ndim) {
    TVM_FFI_THROW(ValueError) << "MemoryPlanner: tensor \"" << tensor.name << "\" has "
                              << tensor.ndim << " dimensions, not " << shape.size();
  }
  int64_t bytes = tensor.dtype.bits / 8 * tensor.dtype.lanes;
  for (int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && bytes > std::numeric_limits<int64_t>::max() / extent)) {
      TVM_FFI_THROW(ValueError) << "MemoryPlanner: tensor \"" << tensor.name << "\" of shape "
                                << ffi::Shape(shape) << " has no size that can be";
    }
    bytes *= extent;
  }
  return bytes;
}

bool ManagedMemoryObj::IsPlaceFree(const ManagedTensor& tensor) const {
  if (!IsIdle(tensor.object)) return false;
  for (size_t other : tensor.sharing) {
    if (!IsIdle(tensors_[other].object)) return false;
  }
  return true;
}

ffi::Tensor ManagedMemoryObj::Allocate(int64_t token, int64_t number, ffi::ShapeView shape) {
  CheckToken(token);
  ManagedTensor& tensor = tensors_.at(static_cast<size_t>(number));
  const int64_t bytes = BytesOf(tensor, shape);
  if (tensor.is_output) return AllocateOutput(static_cast<size_t>(number), bytes, shape);
  if (bytes <= tensor.limit && tensor.object.defined() && IsPlaceFree(tensor)) {
    if (poison_) PoisonUnused();
    SetShape(tensor.object, shape);
    tensor.largest = std::max(tensor.largest, bytes);
    tensor.run = runs_;
    return tensor.object;
  }
  if (tensor.limit >= 0 && bytes <= tensor.limit) ++in_use_;
  ffi::Tensor alone = AllocateAlone(tensor, bytes, shape);
  if (bytes > tensor.limit && !tensor.has_escaped) has_grown_ = true;
  tensor.largest = std::max(tensor.largest, bytes);
  return alone;
}

void ManagedMemoryObj::CheckCapacity(int64_t bytes, const std::string& what) const {
  const int64_t held = counters_->intermediates.bytes.load();
  if (capacity_ < 0 || bytes == 0 || bytes <= capacity_ - held) return;
  TVM_FFI_THROW(CapacityError) << "MemoryPlanner: " << what << " needs " << bytes
                               << " bytes beside the " << held
                               << " bytes that intermediates take now, and the capacity is "
                               << capacity_ << " bytes; raise it, or give smaller inputs";
}

ffi::Tensor ManagedMemoryObj::AllocateAlone(const ManagedTensor& tensor, int64_t bytes,
                                            ffi::ShapeView shape) {
  if (!tensor.is_output) CheckCapacity(bytes, "tensor \"" + tensor.name + "\"");
  ++alone_;
  const auto storage = std::make_shared<CountedStorage>(bytes, !tensor.is_output, counters_);
  if (poison_) Poison(storage->data(), storage->size());
  return TensorAt(storage, 0, shape, tensor.dtype);
}

ffi::Tensor ManagedMemoryObj::AllocateOutput(size_t number, int64_t bytes, ffi::ShapeView shape) {
  ManagedTensor& tensor = tensors_[number];
  tensor.largest = std::max(tensor.largest, bytes);
  if (bytes > tensor.limit) {
    has_grown_ = true;
    return AllocateAlone(tensor, bytes, shape);
  }
  const ffi::Tensor& object = OutputsOfThisRun().objects[number];
  if (!IsIdle(object)) {
    ++in_use_;
    return AllocateAlone(tensor, bytes, shape);
  }
  SetShape(object, shape);
  return object;
}

OutputBuffer& ManagedMemoryObj::OutputsOfThisRun() {
  const bool is_new = outputs_of_run_ < 0;
  // Try the buffers in turn, because the buffer of the last run is mostly still in use.
  for (size_t i = 0; outputs_of_run_ < 0 && i < outputs_.size(); ++i) {
    const size_t at = (static_cast<size_t>(runs_) + i) % outputs_.size();
    if (AreIdle(outputs_[at])) outputs_of_run_ = Count(at);
  }
  if (outputs_of_run_ < 0) {
    outputs_of_run_ = Count(outputs_.size());
    AddOutputs();
  }
  if (is_new && poison_)
    Poison(outputs_[static_cast<size_t>(outputs_of_run_)].storage->data(), output_bytes_);
  return outputs_[static_cast<size_t>(outputs_of_run_)];
}

void ManagedMemoryObj::AddOutputs() {
  OutputBuffer made;
  made.storage = std::make_shared<CountedStorage>(output_bytes_, false, counters_);
  for (const ManagedTensor& tensor : tensors_) {
    const bool has_place = tensor.is_output && tensor.limit >= 0;
    made.objects.push_back(
        has_place ? TensorAt(made.storage, tensor.offset, NoElements(tensor.ndim), tensor.dtype)
                  : ffi::Tensor());
  }
  outputs_.push_back(std::move(made));
}

void ManagedMemoryObj::PoisonUnused() const {
  if (buffer_ == nullptr) return;
  std::vector<std::pair<int64_t, int64_t>> used;
  for (const ManagedTensor& tensor : tensors_) {
    if (!tensor.object.defined() || IsIdle(tensor.object)) continue;
    used.emplace_back(tensor.offset, tensor.offset + BytesOf(tensor, tensor.object.shape()));
  }
  std::sort(used.begin(), used.end());
  used.emplace_back(buffer_->size(), buffer_->size());
  int64_t end = 0;
  for (const auto& [begin, stop] : used) {
    Poison(buffer_->data() + end, begin - end);
    end = std::max(end, stop);
  }
}

void ManagedMemoryObj::Release() {
  const Running running(this);
  for (ManagedTensor& tensor : tensors_) {
    tensor.object = ffi::Tensor();
    tensor.largest = tensor.limit = -1;
    tensor.sharing.clear();
  }
  buffer_.reset();
  ForgetOutputs();
}

void ManagedMemoryObj::ReleaseOutputs() {
  const Running running(this);
  ForgetOutputs();
}

void ManagedMemoryObj::ForgetOutputs() {
  std::vector<std::weak_ptr<CountedStorage>> held;
  for (const StoragePtr& storage : AllOutputs()) held.emplace_back(storage);
  held_outputs_ = std::move(held);
  outputs_.clear();
}

std::vector<StoragePtr> ManagedMemoryObj::AllOutputs() const {
  std::vector<StoragePtr> storages;
  for (const OutputBuffer& each : outputs_) storages.push_back(each.storage);
  for (const std::weak_ptr<CountedStorage>& each : held_outputs_) {
    if (StoragePtr held = each.lock()) storages.push_back(std::move(held));
  }
  return storages;
}

Integers ManagedMemoryObj::Largest() const {
  Integers largest;
  for (const ManagedTensor& tensor : tensors_) largest.push_back(tensor.largest);
  return largest;
}

Integers ManagedMemoryObj::Escaped() const {
  Integers escaped;
  for (size_t number = 0; number < tensors_.size(); ++number) {
    if (tensors_[number].has_escaped) escaped.push_back(Count(number));
  }
  return escaped;
}

ffi::Map<ffi::String, int64_t> ManagedMemoryObj::Counters() const {
  int64_t output_bytes = 0;
  for (const StoragePtr& storage : AllOutputs()) output_bytes += storage->size();
  return {{"runs", runs_},
          {"alone", alone_},
          {"in_use", in_use_},
          {"buffer_bytes", buffer_ == nullptr ? 0 : buffer_->size()},
          {"output_bytes", output_bytes},
          {"allocations", counters_->all.allocations.load()},
          {"bytes", counters_->all.bytes.load()},
          {"peak_bytes", counters_->all.peak_bytes.load()},
          {"intermediate_bytes", counters_->intermediates.bytes.load()},
          {"peak_intermediate_bytes", counters_->intermediates.peak_bytes.load()}};
}

bool ManagedMemoryObj::IsInBuffer(const ffi::Tensor& tensor) const {
  return buffer_ != nullptr && buffer_->Contains(tensor.data_ptr());
}

bool ManagedMemoryObj::IsInOutputBuffer(const ffi::Tensor& tensor) const {
  const std::vector<StoragePtr> storages = AllOutputs();
  return std::any_of(storages.begin(), storages.end(), [&tensor](const StoragePtr& storage) {
    return storage->Contains(tensor.data_ptr());
  });
}

}  // namespace usmp
