// The explanation of an infeasible problem as data. Messages for users are built elsewhere.
#ifndef USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_
#define USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace usmp {

/*! \brief A candidate pool of the buffer without a place. */
struct RefusingPool {
  size_t pool;
  /*! \brief Occupied bytes; nullopt if the solver did not place buffers one after the other. */
  std::optional<int64_t> taken;
  /*! \brief End of the buffer if the pool had no limit; nullopt if it has no offset there, or if
   *         the solver did not place buffers one after the other. */
  std::optional<int64_t> end;
  /*! \brief The placed buffer that collides with a pinned one, and its offset. */
  std::optional<size_t> occupant;
  int64_t occupant_offset = 0;
};

/*! \brief A limit with which a plan exists. */
struct EnoughBytes {
  size_t pool;
  int64_t bytes;
  /*! \brief Whether it is proved that no smaller limit of the pool suffices. */
  bool is_smallest;
};

struct DoesNotFit {
  /*! \brief A buffer that has no place. */
  size_t buffer;
  std::vector<RefusingPool> pools;
  /*! \brief Buffers that do not fit together; empty if nothing is proved. */
  std::vector<size_t> proved;
  /*! \brief Whether it is proved that removing any one buffer of `proved` makes the rest fit. */
  bool is_irreducible = false;
  /*! \brief Whether the buffers in `proved` fit together if no pool has a limit. */
  bool fits_without_limits = true;
  /*! \brief Lower bound of the bytes that `proved` needs in its only candidate pool; nullopt if it
   *         has several pools, or fits nowhere. */
  std::optional<int64_t> needed;
  /*! \brief Larger limits of single pools, any one of which suffices. */
  std::vector<EnoughBytes> alone;
  /*! \brief Larger limits that suffice together, if no single larger limit does. */
  std::vector<EnoughBytes> together;
};

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_
