// The independent judge of a plan.
//
// It trusts nobody: not the algorithm (user-registered ones included), not that conflicts are
// mutual, not that conflicts cover all live ranges that meet. It therefore reads BufferInfo and
// PoolAllocation directly and shares no code with problem.h or the solvers; a mistake would have to
// be made twice to pass.
#ifndef USMP_CHECK_H_
#define USMP_CHECK_H_

#include <tvm/ffi/container/tuple.h>

#include "objects.h"

namespace usmp {

/*!
 * \brief Throw ValueError, naming buffers, pool and bytes, unless all of this holds:
 *
 * - every buffer has an allocation, in one of its candidate pools (pools are told by their names);
 * - its offset is a non-negative multiple of its alignment, and the one that it is pinned to if it
 *   is pinned;
 * - it ends within the size hint of the pool;
 * - two buffers share a byte of a pool only if neither lists the other as a conflict and no live
 *   range of one meets a live range of the other, or one is an output that starts at least the
 *   distance of its safe overlap below the other.
 *
 * A buffer of no bytes shares none. A buffer without live ranges is judged by its conflicts alone.
 */
void CheckPlan(const ffi::Array<BufferInfo>& buffers,
               const ffi::Map<BufferInfo, PoolAllocation>& plan);

/*! \brief The conflicts of a buffer and its safe overlaps: what a plan is judged by and an
 * algorithm could change. Sizes, alignments, pins, pools and live ranges cannot change. */
using Relation = ffi::Tuple<ffi::Array<BufferInfo>, ffi::Map<BufferInfo, int64_t>>;
using Relations = ffi::Array<Relation>;

/*! \brief The relations of the buffers, in their order. */
Relations RelationsOf(const ffi::Array<BufferInfo>& buffers);

/*! \brief Throw ValueError, naming the algorithm and the buffer, if the relations are not those. */
void CheckRelations(const ffi::Array<BufferInfo>& buffers, const Relations& relations,
                    const ffi::String& algorithm);

}  // namespace usmp

#endif  // USMP_CHECK_H_
