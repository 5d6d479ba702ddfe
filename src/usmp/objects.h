// The data model of planner, passes and Python: pools, buffers to place, placements.
//
// Names and defaults are those of TVM's USMP (RFC 0009 of apache/tvm-rfcs, "Reference-level
// explanation"). Sizes, offsets and alignments are bytes. Constructors refuse bad values with a
// ValueError, so that all objects are well formed. PoolAllocation accepts any offset, because only
// check_columns.cc decides whether a *plan* is valid.
//
// This header is installed (`usmp.get_include()`) for user-defined algorithms. They can read
// buffers and construct a PoolAllocation, which is inline; the other functions are not for them.
#ifndef USMP_OBJECTS_H_
#define USMP_OBJECTS_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace usmp {

namespace ffi = tvm::ffi;

/*! \brief Default of `size_hint_bytes` and of the bandwidths: no limit is set. */
constexpr int64_t kUnrestricted = -1;

/*! \brief Default of `address`: the address of the memory is unknown. */
constexpr int64_t kUnknownAddress = -1;

/*! \brief Default of `alignment`: the alignments of the executor suffice. */
constexpr int64_t kAlignmentOfExecutor = 0;

/*! \brief Largest alignment of a pool: C compilers align arrays up to it. */
constexpr int64_t kLargestAlignment = int64_t{1} << 28;

/*! \brief Largest `pool_offset`: it fits 64 bits when rounded up to any alignment. */
constexpr int64_t kLargestPoolOffset = int64_t{1} << 62;

/*! \brief Pairs of target and burst, since maps of equal targets do not compare as equal. */
using TargetBursts = ffi::Array<ffi::Tuple<ffi::Any, int64_t>>;

/*! \brief Properties of a memory. A pool and its builder object contain them. */
struct PoolProperties {
  int64_t size_hint_bytes = kUnrestricted;
  int64_t clock_frequency_hz = kUnrestricted;
  int64_t read_bandwidth_bytes_per_cycle = kUnrestricted;
  int64_t write_bandwidth_bytes_per_cycle = kUnrestricted;
  int64_t read_latency_cycles = 0;
  int64_t write_latency_cycles = 0;
  /*! \brief Burst length in bytes of each target; 1 for missing targets. */
  TargetBursts target_burst_bytes;
  /*! \brief Whether the compiler emits the pool, so that the user does not pass it. */
  bool is_internal = false;
  /*! \brief Section that the linker script places in this memory; empty for the compiler's
   *         default. */
  ffi::String section_name;
  /*! \brief Power of two; each buffer starts and ends at a multiple of it. */
  int64_t alignment = kAlignmentOfExecutor;
  /*! \brief Bytes at the start of the memory that are reserved for other uses. */
  int64_t pool_offset = 0;
  /*! \brief Address of the memory's first byte, before `pool_offset`. */
  int64_t address = kUnknownAddress;
  /*! \brief "only" to allow only inputs and outputs, "no" to exclude them, or "any". */
  ffi::String io = "any";
};

class PoolInfoPropertiesObj : public ffi::Object, public PoolProperties {
 public:
  PoolInfoPropertiesObj() = default;
  PoolInfoPropertiesObj(int64_t size_hint_bytes, int64_t clock_frequency_hz,
                        int64_t read_bandwidth_bytes_per_cycle,
                        int64_t write_bandwidth_bytes_per_cycle, int64_t read_latency_cycles,
                        int64_t write_latency_cycles, TargetBursts target_burst_bytes,
                        bool is_internal, ffi::String section_name, int64_t alignment,
                        int64_t pool_offset, int64_t address, ffi::String io);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.PoolInfoProperties", PoolInfoPropertiesObj, ffi::Object);
};

class PoolInfoProperties : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(PoolInfoProperties, ffi::ObjectRef,
                                                PoolInfoPropertiesObj);
};

/*! \brief A memory for the plan. Its name identifies it within one problem. */
class PoolInfoObj : public ffi::Object, public PoolProperties {
 public:
  ffi::String pool_name;
  /*! \brief Targets whose functions may access the pool; a string is a target's kind or key. */
  ffi::Array<ffi::Any> targets;
  /*! \brief Targets among `targets` that may only read the pool. */
  ffi::Array<ffi::Any> read_only_targets;

  PoolInfoObj() = default;
  PoolInfoObj(ffi::String pool_name, ffi::Array<ffi::Any> targets,
              ffi::Array<ffi::Any> read_only_targets, const PoolInfoProperties& properties);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("usmp.PoolInfo", PoolInfoObj, ffi::Object);
};

class PoolInfo : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(PoolInfo, ffi::ObjectRef, PoolInfoObj);
};

/*! \brief Read-write memory: intermediates, scratch, inputs and outputs. */
class WorkspacePoolInfoObj : public PoolInfoObj {
 public:
  using PoolInfoObj::PoolInfoObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.WorkspacePoolInfo", WorkspacePoolInfoObj, PoolInfoObj);
};

class WorkspacePoolInfo : public PoolInfo {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(WorkspacePoolInfo, PoolInfo, WorkspacePoolInfoObj);
};

/*! \brief A constant at its offset in a read-only pool. */
class ConstantInfoObj : public ffi::Object {
 public:
  ffi::String name_hint;
  int64_t byte_offset = 0;
  ffi::Tensor data;

  explicit ConstantInfoObj(ffi::UnsafeInit) {}
  ConstantInfoObj(ffi::String name_hint, int64_t byte_offset, ffi::Tensor data);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.ConstantInfo", ConstantInfoObj, ffi::Object);
};

class ConstantInfo : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(ConstantInfo, ffi::ObjectRef, ConstantInfoObj);
};

/*! \brief Read-only memory with the constants that were placed in it. */
class ConstantPoolInfoObj : public PoolInfoObj {
 public:
  ffi::Array<ConstantInfo> constant_info_array;

  ConstantPoolInfoObj() = default;
  ConstantPoolInfoObj(ffi::String pool_name, ffi::Array<ffi::Any> targets,
                      ffi::Array<ffi::Any> read_only_targets,
                      ffi::Array<ConstantInfo> constant_info_array,
                      const PoolInfoProperties& properties);

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.ConstantPoolInfo", ConstantPoolInfoObj, PoolInfoObj);
};

class ConstantPoolInfo : public PoolInfo {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(ConstantPoolInfo, PoolInfo, ConstantPoolInfoObj);
};

/*! \brief The workspace pools of a module, in the user's order of preference. */
class WorkspaceMemoryPoolsObj : public ffi::Object {
 public:
  ffi::Array<WorkspacePoolInfo> pools;

  WorkspaceMemoryPoolsObj() = default;
  explicit WorkspaceMemoryPoolsObj(ffi::Array<WorkspacePoolInfo> pools);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.WorkspaceMemoryPools", WorkspaceMemoryPoolsObj,
                                    ffi::Object);
};

/*! \brief The constant pools of a module, in the user's order of preference. */
class ConstantMemoryPoolsObj : public ffi::Object {
 public:
  ffi::Array<ConstantPoolInfo> pools;

  ConstantMemoryPoolsObj() = default;
  explicit ConstantMemoryPoolsObj(ffi::Array<ConstantPoolInfo> pools);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.ConstantMemoryPools", ConstantMemoryPoolsObj,
                                    ffi::Object);
};

/*! \brief Half-open range [start, stop) of program positions. */
class LiveRangeObj : public ffi::Object {
 public:
  int64_t start = 0;
  int64_t stop = 0;

  LiveRangeObj() = default;
  LiveRangeObj(int64_t start, int64_t stop);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.LiveRange", LiveRangeObj, ffi::Object);
};

class LiveRange : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(LiveRange, ffi::ObjectRef, LiveRangeObj);
};

/*! \brief The origin of a buffer, with TVM's numbers. */
enum class BufferInfoKind : int64_t { kIntermediate = 0, kInput = 1, kOutput = 2, kState = 3 };

/*!
 * \brief A buffer to place.
 *
 * Buffers are compared by identity, because sizes and names may repeat.
 *
 * Conflicts and overlaps are weak references, because they are mutual. Owning references would form
 * cycles, which reference counting never frees and which a serializer would follow forever. A
 * conflict with a destroyed buffer constrains no plan, so it may be forgotten. For the same reason
 * a module that holds a buffer can be printed and saved, but not loaded: the buffer would lose its
 * conflicts.
 */
class BufferInfoObj : public ffi::Object {
 public:
  using Weak = ffi::WeakObjectPtr<BufferInfoObj>;

  ffi::String name_hint;
  int64_t size_bytes;
  /*! \brief Pools that may hold the buffer, best first. */
  ffi::Array<PoolInfo> pool_candidates;
  int64_t alignment;
  ffi::Array<LiveRange> live_ranges;
  int64_t kind;
  /*! \brief The required offset, in whichever pool holds the buffer. */
  ffi::Optional<int64_t> fixed_offset;
  /*! \brief See GetConflicts and SetConflicts. */
  std::vector<Weak> conflicts;
  /*! \brief See GetOverlaps and SetOverlaps. */
  std::vector<std::pair<Weak, int64_t>> overlaps;

  BufferInfoObj(ffi::String name_hint, int64_t size_bytes, ffi::Array<PoolInfo> pool_candidates,
                int64_t alignment, ffi::Array<LiveRange> live_ranges, int64_t kind,
                ffi::Optional<int64_t> fixed_offset);

  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.BufferInfo", BufferInfoObj, ffi::Object);
};

class BufferInfo : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(BufferInfo, ffi::ObjectRef, BufferInfoObj);
};

/*! \brief Return the buffers that may not share bytes with `buffer`, as they were set. */
inline ffi::Array<BufferInfo> GetConflicts(const BufferInfo& buffer) {
  ffi::Array<BufferInfo> alive;
  for (const BufferInfoObj::Weak& conflict : buffer->conflicts) {
    if (ffi::ObjectPtr<BufferInfoObj> owned = conflict.lock()) {
      alive.push_back(ffi::GetRef<BufferInfo>(owned.get()));
    }
  }
  return alive;
}

void SetConflicts(const BufferInfo& buffer, const ffi::Array<BufferInfo>& conflicts);

/*!
 * \brief Return the safe overlaps of an operator's output: for each input that dies there, the
 *        least number of bytes by which the output must start below it.
 *
 * With distance D, `offset(output) + D <= offset(input)` is allowed although the two conflict. D =
 * 0 permits the same offset; the size of the output permits no shared byte.
 */
inline ffi::Map<BufferInfo, int64_t> GetOverlaps(const BufferInfo& buffer) {
  ffi::Map<BufferInfo, int64_t> alive;
  for (const auto& [input, distance] : buffer->overlaps) {
    if (ffi::ObjectPtr<BufferInfoObj> owned = input.lock()) {
      alive.Set(ffi::GetRef<BufferInfo>(owned.get()), distance);
    }
  }
  return alive;
}

/*! \brief Throw ValueError if a distance is negative or larger than the buffer. */
void SetOverlaps(const BufferInfo& buffer, const ffi::Map<BufferInfo, int64_t>& overlaps);

/*! \brief The placement of a buffer. */
class PoolAllocationObj : public ffi::Object {
 public:
  PoolInfo pool_info{ffi::UnsafeInit()};
  int64_t byte_offset = 0;

  explicit PoolAllocationObj(ffi::UnsafeInit) {}
  PoolAllocationObj(PoolInfo pool_info, int64_t byte_offset)
      : pool_info(std::move(pool_info)), byte_offset(byte_offset) {}

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.PoolAllocation", PoolAllocationObj, ffi::Object);
};

class PoolAllocation : public ffi::ObjectRef {
 public:
  PoolAllocation(PoolInfo pool_info, int64_t byte_offset)
      : ffi::ObjectRef(ffi::make_object<PoolAllocationObj>(std::move(pool_info), byte_offset)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(PoolAllocation, ffi::ObjectRef, PoolAllocationObj);
};

/*! \brief A pool with the number of bytes that the plan uses. */
class AllocatedPoolInfoObj : public ffi::Object {
 public:
  PoolInfo pool_info{ffi::UnsafeInit()};
  int64_t allocated_size = 0;
  /*! \brief Index of the pool among all pools of the plan. */
  int64_t pool_var_idx = 0;
  /*! \brief Required alignment of the pool's address, in bytes. */
  int64_t alignment = 1;

  explicit AllocatedPoolInfoObj(ffi::UnsafeInit) {}
  AllocatedPoolInfoObj(PoolInfo pool_info, int64_t allocated_size, int64_t pool_var_idx,
                       int64_t alignment);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.AllocatedPoolInfo", AllocatedPoolInfoObj, ffi::Object);
};

/*! \brief The result of the liveness analysis of a module. */
class BufferInfoAnalysisObj : public ffi::Object {
 public:
  /*! \brief Each buffer with the statement that allocates it. */
  ffi::Map<BufferInfo, ffi::Any> buffer_info_stmts;
  /*! \brief Memory pressure: most bytes of read-write buffers that are live at one time. */
  int64_t memory_pressure = 0;
  /*! \brief Memory pressure of the buffers that have each pool as a candidate. */
  ffi::Map<ffi::String, int64_t> pool_memory_pressure;

  BufferInfoAnalysisObj() = default;
  BufferInfoAnalysisObj(ffi::Map<BufferInfo, ffi::Any> buffer_info_stmts, int64_t memory_pressure,
                        ffi::Map<ffi::String, int64_t> pool_memory_pressure);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("usmp.BufferInfoAnalysis", BufferInfoAnalysisObj, ffi::Object);
};

}  // namespace usmp

#endif  // USMP_OBJECTS_H_
