// Conversion of columns to the plain problem that the solver reads.
#ifndef USMP_READ_COLUMNS_H_
#define USMP_READ_COLUMNS_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/string.h>

#include "columns.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

using Names = ffi::Array<ffi::String>;

/*! \brief Return the problem. Buffers have no names if `names` is empty. */
Problem ReadColumns(const ColumnMap& columns, const Names& names);

}  // namespace usmp

#endif  // USMP_READ_COLUMNS_H_
