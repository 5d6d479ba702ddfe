// Explanations of infeasible problems for other languages: data without sentences.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <vector>

#include "named_algorithms.h"
#include "read_columns.h"
#include "usmp_solver/explain/explain_infeasible.h"
#include "usmp_solver/explain/explain_unplaced.h"

namespace usmp {

namespace {

using Record = ffi::Map<ffi::String, ffi::Any>;

ffi::Any OrNothing(const std::optional<int64_t>& number) {
  return number ? ffi::Any(*number) : ffi::Any(nullptr);
}

ffi::Array<Record> ToRecords(const std::vector<EnoughBytes>& limits) {
  ffi::Array<Record> records;
  for (const EnoughBytes& limit : limits) {
    records.push_back({{"pool", static_cast<int64_t>(limit.pool)},
                       {"bytes", limit.bytes},
                       {"is_smallest", limit.is_smallest}});
  }
  return records;
}

Record ToRecord(const RefusingPool& pool) {
  std::optional<int64_t> occupant;
  if (pool.occupant) occupant = static_cast<int64_t>(*pool.occupant);
  return {{"pool", static_cast<int64_t>(pool.pool)},
          {"taken", OrNothing(pool.taken)},
          {"end", OrNothing(pool.end)},
          {"occupant", OrNothing(occupant)},
          {"occupant_offset", pool.occupant_offset}};
}

Record ToRecord(const DoesNotFit& misfit) {
  ffi::Array<Record> pools;
  for (const RefusingPool& pool : misfit.pools) pools.push_back(ToRecord(pool));
  return {{"buffer", static_cast<int64_t>(misfit.buffer)},
          {"pools", pools},
          {"fits_without_limits", misfit.fits_without_limits},
          {"needed", OrNothing(misfit.needed)},
          {"alone", ToRecords(misfit.alone)},
          {"together", ToRecords(misfit.together)}};
}

/*!
 * \brief Explain why `SolveColumns` found no plan, from its arguments and its result.
 *
 * If `algorithm` is no search, run it again to find the buffer that it cannot place. For a search,
 * `infeasible_subset` has buffers that do not fit together.
 */
Record ExplainColumns(const ColumnMap& columns, const Names& names, const ffi::String& algorithm,
                      ffi::Optional<int64_t> memory_pressure, const ffi::Tensor& infeasible_subset,
                      bool is_irreducible) {
  const Problem problem = ReadColumns(columns, names);
  if (SearchNamed(algorithm)) {
    SolverResult result{};
    const Column subset({{"infeasible_subset", infeasible_subset}}, "infeasible_subset");
    for (size_t i = 0; i < subset.size(); ++i) {
      result.infeasible_subset.push_back(static_cast<size_t>(subset[i]));
    }
    result.is_irreducible = is_irreducible;
    return ToRecord(ExplainInfeasible(problem, result));
  }
  const ConflictGraph conflicts(problem);
  const Algorithm placing = AlgorithmNamed(algorithm, ToStd(memory_pressure));
  const Solution solution = placing(problem, conflicts);
  if (!solution.unplaced) TVM_FFI_THROW(ValueError) << "there is a plan; nothing is to explain";
  return ToRecord(ExplainUnplaced(problem, conflicts, solution, placing));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("usmp_solver.explain", ExplainColumns);
}

}  // namespace

}  // namespace usmp
