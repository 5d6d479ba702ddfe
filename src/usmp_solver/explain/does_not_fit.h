// What does not fit, as data; messages for users are made of it elsewhere.
#ifndef USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_
#define USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace usmp {

/*! \brief A candidate pool of the buffer that found no place. */
struct RefusingPool {
  size_t pool;
  /*! \brief Bytes that were taken; nothing if the solver did not place one buffer after another. */
  std::optional<int64_t> taken;
  /*! \brief Where the buffer would have ended without a limit; nothing if it could be nowhere, or
   *         the solver did not place one buffer after another. */
  std::optional<int64_t> end;
  /*! \brief The placed buffer whose bytes a pinned one would take, and its offset. */
  std::optional<size_t> occupant;
  int64_t occupant_offset = 0;
};

/*! \brief A limit with which there is a plan. */
struct EnoughBytes {
  size_t pool;
  int64_t bytes;
  /*! \brief No smaller limit of the pool does; proved. */
  bool is_smallest;
};

struct DoesNotFit {
  /*! \brief A buffer that found no place. */
  size_t buffer;
  std::vector<RefusingPool> pools;
  /*! \brief Buffers that do not fit together; empty if nothing is proved. */
  std::vector<size_t> proved;
  /*! \brief Without any one of them the others fit; proved. */
  bool is_irreducible = false;
  /*! \brief They would fit together if no pool had a limit. */
  bool fits_without_limits = true;
  /*! \brief Bytes that they need at least of the only pool that may hold them; nothing if they
   *         have several, or fit nowhere. */
  std::optional<int64_t> needed;
  /*! \brief Limits of one pool, any of which alone is enough. */
  std::vector<EnoughBytes> alone;
  /*! \brief Limits that are enough together, where none is alone. */
  std::vector<EnoughBytes> together;
};

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_
