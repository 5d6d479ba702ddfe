// Checks that algorithms do not change the conflicts and safe overlaps of their buffers.
//
// Sizes, alignments, pins, pools and live ranges are immutable.
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>

#include "objects.h"

namespace usmp {

namespace {

using Relation = ffi::Tuple<ffi::Array<BufferInfo>, ffi::Map<BufferInfo, int64_t>>;
using Relations = ffi::Array<Relation>;

bool AreSame(const ffi::Array<BufferInfo>& a, const ffi::Array<BufferInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const BufferInfo& x, const BufferInfo& y) { return x.same_as(y); });
}

bool AreSame(const ffi::Map<BufferInfo, int64_t>& a, const ffi::Map<BufferInfo, int64_t>& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& overlap) {
           const auto it = b.find(overlap.first);
           return it != b.end() && (*it).second == overlap.second;
         });
}

/*! \brief Return the relations of the buffers, in their order. */
Relations RelationsOf(const ffi::Array<BufferInfo>& buffers) {
  Relations relations;
  relations.reserve(buffers.size());
  for (const BufferInfo& buffer : buffers) {
    relations.push_back(Relation(GetConflicts(buffer), GetOverlaps(buffer)));
  }
  return relations;
}

/*! \brief Throw ValueError, with the names of algorithm and buffer, if relations have changed. */
void CheckRelations(const ffi::Array<BufferInfo>& buffers, const Relations& relations,
                    const ffi::String& algorithm) {
  for (size_t b = 0; b < buffers.size(); ++b) {
    const char* changed = nullptr;
    if (!AreSame(relations[b].get<1>(), GetOverlaps(buffers[b]))) changed = "safe overlaps";
    if (!AreSame(relations[b].get<0>(), GetConflicts(buffers[b]))) changed = "conflicts";
    if (changed != nullptr) {
      TVM_FFI_THROW(ValueError) << "USMP plan check: algorithm \"" << algorithm << "\" changed the "
                                << changed << " of buffer \"" << buffers[b]->name_hint
                                << "\"; an algorithm may only read its buffers";
    }
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("usmp.relations_of", RelationsOf)
      .def("usmp.check_relations", CheckRelations);
}

}  // namespace

}  // namespace usmp
