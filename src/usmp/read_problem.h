// Between the buffers of tvm-ffi and the plain problem that the solvers read.
//
// Solvers never touch a reference count: `ReadProblem` turns Array<BufferInfo> into numbers,
// `MakePlan` turns their answer back.
#ifndef USMP_READ_PROBLEM_H_
#define USMP_READ_PROBLEM_H_

#include <vector>

#include "objects.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Read the buffers.
 *
 * Pools are told by their names, since the name is what the emitted code will know them by. Their
 * order is one in which every buffer's candidates stand in the order of its own list, first named
 * first where there is a choice; if the lists contradict each other, first named first.
 *
 * Conflicts and overlaps with buffers outside the array are dropped: they constrain nothing.
 * Throws ValueError if a buffer has no candidate or is listed twice, or if two pools of one
 * name differ in kind or size hint (the emitted code would give both the same memory).
 */
Problem ReadProblem(const ffi::Array<BufferInfo>& buffers);

/*! \brief Write the plan, in the order of the buffers. */
ffi::Map<BufferInfo, PoolAllocation> MakePlan(const ffi::Array<BufferInfo>& buffers,
                                              const Problem& problem,
                                              const std::vector<Placement>& placements);

}  // namespace usmp

#endif  // USMP_READ_PROBLEM_H_
