// Lower bounds of the peak in one pool: the purpose of each, and all against the true optimum.
#include "usmp_solver/bounds/lower_bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "usmp_solver/bounds/clique_bound.h"
#include "usmp_solver/bounds/order_bound.h"
#include "usmp_solver/bounds/section_bound.h"
#include "usmp_solver/bounds/stack_bound.h"
#include "usmp_solver/bounds/star_bound.h"
#include "usmp_solver/bounds/start_order_bound.h"
#include "usmp_solver/tests/cases.h"
#include "usmp_solver/tests/one_pool.h"

namespace usmp {

namespace {

using Ranges = std::vector<Problem::LiveRange>;

void Add(Problem* problem, int64_t size, Ranges live, int64_t alignment = 1, int64_t pin = -1) {
  Problem::Buffer buffer{"", size, alignment, {}, {0}, live};
  if (pin >= 0) buffer.fixed_offset = pin;
  problem->buffers.push_back(buffer);
}

PoolProblem InOnePool(const Problem& problem) {
  std::vector<size_t> members(problem.buffers.size());
  std::iota(members.begin(), members.end(), 0);
  return MakePoolProblem(problem, 0, members);
}

Problem Empty() {
  Problem problem;
  problem.pools = {{"pool", kNoLimit, false}};
  return problem;
}

/*! \brief Check the largest load of a section, and the lower bound. */
void CheckBounds(const Problem& problem, int64_t load, int64_t bound) {
  const PoolProblem pool = InOnePool(problem);
  const std::vector<int64_t> loads = Loads(pool);
  CHECK(*std::max_element(loads.begin(), loads.end()) == load);
  Budget budget;
  CHECK(LowerBound(pool, &budget) == bound);
}

const Ranges kNow = {{0, 1}};

/*! \brief Return the largest of all bounds but the star bound and the start order bound. */
int64_t OtherBounds(const PoolProblem& pool) {
  Budget budget;
  int64_t bound = SectionBound(pool, &budget);
  bound = StackBound(pool, bound, &budget);
  bound = CliqueBound(pool, bound, &budget);
  return OrderBound(pool, bound, &budget);
}

/*! \brief Check the star bound, the largest of all bounds, and `OtherBounds`. */
void CheckStar(const Problem& problem, int64_t star, int64_t bound, int64_t others) {
  const PoolProblem pool = InOnePool(problem);
  Budget budget;
  CHECK(StarBound(pool, 0, &budget) == star);
  CHECK(OtherBounds(pool) == others);
  CHECK(LowerBound(pool, &budget) == bound);
}

/*!
 * \brief Draw four to seven buffers of a few sections with many overlaps.
 *
 * \param both_directions whether some inputs are earlier buffers; otherwise there is no cycle.
 */
OnePool DrawOverlaps(uint64_t seed, bool both_directions) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  OnePool drawn{Empty(), {}};
  const bool is_aligned = below(2) == 0;
  const bool is_pinned = below(4) == 0;
  const bool lists_pairs = below(3) == 0;
  const size_t buffers = 4 + below(4);
  for (size_t b = 0; b < buffers; ++b) {
    const int64_t start = below(2);
    const Ranges live = lists_pairs && below(2) == 0 ? Ranges{} : Ranges{{start, start + 2}};
    const int64_t alignment = is_aligned ? int64_t{1} << below(4) : 1;
    const int64_t pin = is_pinned && below(4) == 0 ? below(3) * 16 : -1;
    Add(&drawn.problem, 1 + below(24), live, alignment, pin);
  }
  for (size_t a = 0; a < buffers; ++a) {
    for (size_t b = 0; b < buffers; ++b) {
      if (a == b) continue;
      if (lists_pairs && below(2) == 0) drawn.problem.conflicts.push_back({a, b});
      if ((a > b && !both_directions) || below(3) > 0) continue;
      const int64_t size = drawn.problem.buffers[a].size;
      drawn.problem.overlaps.push_back({a, b, below(3) == 0 ? 0 : below(size + 1)});
    }
  }
  drawn.pool = InOnePool(drawn.problem);
  return drawn;
}

}  // namespace

TEST_CASE("the bound of what overlaps") {
  Problem problem = Empty();
  Add(&problem, 10, kNow);
  Add(&problem, 8, kNow);
  problem.overlaps = {{0, 1, 4}};
  CheckBounds(problem, 18, 12);

  problem = Empty();
  Add(&problem, 10, kNow);
  Add(&problem, 6, kNow);
  Add(&problem, 6, kNow);
  problem.overlaps = {{0, 1, 0}, {0, 2, 0}};  // Two inputs.
  CheckBounds(problem, 22, 12);
  problem.overlaps = {{1, 0, 0}, {2, 0, 0}};  // Two outputs.
  CheckBounds(problem, 22, 16);
}

TEST_CASE("the bound of a star") {
  // Each large buffer may cover the first bytes of the first buffer, but only one can. The bound of
  // the whole section is lower, because the small buffers may overlap all of them.
  Problem problem = Empty();
  Add(&problem, 10, kNow);
  for (int k = 0; k < 3; ++k) Add(&problem, 8, kNow);
  for (int k = 0; k < 2; ++k) Add(&problem, 4, kNow);
  const std::vector<Problem::Overlap> small = {{4, 0, 0}, {4, 1, 0}, {4, 2, 0}, {4, 3, 0},
                                               {5, 0, 0}, {5, 1, 0}, {5, 2, 0}, {5, 3, 0}};
  problem.overlaps = {{1, 0, 4}, {2, 0, 5}, {3, 0, 6}};
  problem.overlaps.insert(problem.overlaps.end(), small.begin(), small.end());
  CheckStar(problem, 30, 30, 24);

  // The first buffer covers bytes of a large one from below.
  problem.overlaps = {{0, 1, 4}, {0, 2, 5}, {0, 3, 6}};
  problem.overlaps.insert(problem.overlaps.end(), small.begin(), small.end());
  CheckStar(problem, 28, 28, 24);

  // One large buffer covers its first 2 bytes, another one its last 3.
  problem.overlaps = {{1, 0, 6}, {0, 2, 7}};
  problem.overlaps.insert(problem.overlaps.end(), small.begin(), small.end());
  CheckStar(problem, 29, 29, 24);

  // Offsets are multiples of 4 bytes, so the distances count as 8 bytes and the first buffer as 12.
  // Only 4 of these are covered. Its last 2 bytes would not count if it were the topmost buffer,
  // but in the lowest order it is not.
  for (Problem::Buffer& buffer : problem.buffers) buffer.alignment = 4;
  CheckStar(problem, 30, 32, 26);
}

TEST_CASE("no star is above the optimum and some are all that reaches it") {
  const int cases = Cases(4000);
  int reached = 0;
  int alone = 0;
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOverlaps(seed, /*both_directions=*/true);
    const int64_t optimum = LowestPeak(drawn);
    Budget budget;
    const int64_t star = StarBound(drawn.pool, 0, &budget);
    CAPTURE(seed);
    REQUIRE(star <= optimum);
    if (star < optimum) continue;
    ++reached;
    alone += OtherBounds(drawn.pool) < optimum;
  }
  CHECK(reached > cases / 3);
  CHECK(alone > cases / 50);
}

TEST_CASE("the bound of orders of starts") {
  // Any two of the large buffers may overlap, so no star has all three.
  Problem problem = Empty();
  Add(&problem, 64, kNow);
  Add(&problem, 24, kNow);
  Add(&problem, 62, kNow);
  Add(&problem, 1, kNow);
  problem.overlaps = {{1, 0, 0}, {1, 2, 21}, {1, 3, 23}, {2, 0, 41}, {3, 0, 0}};
  const PoolProblem pool = InOnePool(problem);
  Budget budget;
  CHECK(std::max(StarBound(pool, 0, &budget), OtherBounds(pool)) == 126);
  CHECK(StartOrderBound(pool, 0, &budget) == 127);
  CHECK(LowestPeak({problem, pool}) == 127);

  Add(&problem, 3, kNow);  // It overlaps nothing, so it adds its size.
  CheckBounds(problem, 154, 130);
  for (Problem::Buffer& buffer : problem.buffers) buffer.alignment = 4;
  CHECK(LowestPeak({problem, InOnePool(problem)}) == 133);
  CheckBounds(problem, 154, 133);

  // The budget ends before all orders were tried: nothing is proved.
  Budget few_steps(30);
  CHECK(StartOrderBound(pool, 0, &few_steps) == 0);
}

TEST_CASE("no order of starts is above the optimum and in one section all reach it") {
  const int cases = Cases(4000);
  int in_one_section = 0;
  int alone = 0;
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOverlaps(seed, /*both_directions=*/seed % 4 == 0);
    const int64_t optimum = LowestPeak(drawn);
    Budget budget;
    const int64_t bound = StartOrderBound(drawn.pool, 0, &budget);
    CAPTURE(seed);
    REQUIRE(bound <= optimum);
    if (bound == 0) continue;
    const auto& items = drawn.pool.items;
    if (drawn.pool.num_sections == 1 &&
        std::all_of(items.begin(), items.end(), [&](const PoolProblem::Item& item) {
          return item.fixed_offset < 0 && item.alignment == items[0].alignment;
        })) {
      REQUIRE(bound == optimum);
      ++in_one_section;
    }
    if (bound < optimum) continue;
    alone += std::max(StarBound(drawn.pool, 0, &budget), OtherBounds(drawn.pool)) < optimum;
  }
  CHECK(in_one_section > cases / 10);
  CHECK(alone > cases / 50);
}

TEST_CASE("the bound of what is aligned") {
  Problem problem = Empty();
  Add(&problem, 5, kNow, 8);
  Add(&problem, 5, kNow, 8);
  CheckBounds(problem, 10, 13);

  // The small buffer fits neither behind the first nor behind the second without a third unit.
  problem = Empty();
  Add(&problem, 9, kNow, 8);
  Add(&problem, 9, kNow, 8);
  Add(&problem, 8, kNow, 1);
  CheckBounds(problem, 26, 33);

  // A distance of 36 bytes becomes 48 at offsets of 16 bytes. So the two large buffers share no
  // byte, and the small one overlaps one of them.
  problem = Empty();
  Add(&problem, 40, kNow, 16);
  Add(&problem, 40, kNow, 16);
  Add(&problem, 4, kNow, 16);
  problem.overlaps = {{0, 1, 36}, {2, 1, 0}};
  CHECK(InOnePool(problem).overlaps.size() == 1);
  CHECK(LowestPeak({problem, InOnePool(problem)}) == 88);
  CheckBounds(problem, 84, 88);
}

TEST_CASE("the bound of what is pinned") {
  // One of the two buffers fits below the pin.
  Problem problem = Empty();
  Add(&problem, 4, kNow, 1, 10);
  Add(&problem, 8, kNow);
  Add(&problem, 8, kNow);
  CheckBounds(problem, 20, 22);

  problem = Empty();
  Add(&problem, 4, kNow, 1, 10);
  Add(&problem, 4, kNow, 1, 12);
  CheckBounds(problem, 8, kNoLimit);
}

TEST_CASE("the bound of what is never live all at once") {
  Problem problem = Empty();
  Add(&problem, 4, {{0, 1}, {2, 3}});
  Add(&problem, 4, {{0, 1}, {4, 5}});
  Add(&problem, 4, {{2, 3}, {4, 5}});
  CheckBounds(problem, 8, 12);

  // An odd cycle.
  problem = Empty();
  for (int k = 0; k < 5; ++k) Add(&problem, 3, {});
  for (size_t k = 0; k < 5; ++k) problem.conflicts.push_back({k, (k + 1) % 5});
  CheckBounds(problem, 6, 9);
}

TEST_CASE("the bound of three buffers of nearly all bytes there are") {
  Problem problem = Empty();
  for (int k = 0; k < 3; ++k) Add(&problem, kNoLimit - 1, {{k, k + 1}}, 16);
  CheckBounds(problem, kNoLimit - 1, kNoLimit - 1);
}

TEST_CASE("no bound is above the optimum and few are below") {
  const int cases = Cases(6000);
  int reached = 0;
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 6);
    const int64_t optimum = LowestPeak(drawn);
    Budget budget;
    const int64_t bound = LowerBound(drawn.pool, &budget);
    CAPTURE(seed);
    REQUIRE(bound <= optimum);
    reached += bound == optimum;
  }
  CHECK(reached > cases * 95 / 100);
}

}  // namespace usmp
