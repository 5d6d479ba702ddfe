// A program that embeds the solver without TVM or Python.
#include <usmp_solver/solver.h>

#include <cstdio>

// c is live with a, then with b: a and b share an offset. d does not fit beside them.
int main() {
  usmp::Problem problem;
  problem.pools = {{"sram", 32, false}};
  for (const char* name : {"a", "b", "c"}) {
    usmp::Problem::Buffer buffer{name, 16, 8, {}, {0}, {}};
    if (*name != 'b') buffer.live_ranges.push_back({0, 2});
    if (*name != 'a') buffer.live_ranges.push_back({2, 4});
    problem.buffers.push_back(buffer);
  }
  const usmp::SolverResult result = usmp::SolveProblem(problem);
  if (result.status != usmp::SolverStatus::kOptimal) return 1;
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const usmp::Placement& place = result.placements[b];
    std::printf("%s %s %lld\n", problem.buffers[b].name.c_str(),
                problem.pools[place.pool].name.c_str(), static_cast<long long>(place.offset));
  }
  std::printf("peak %lld, at least %lld\n", static_cast<long long>(result.peaks[0]),
              static_cast<long long>(result.lower_bounds[0]));
  problem.buffers.push_back({"d", 1, 1, {}, {0}, {{0, 1}}});
  const usmp::SolverResult none = usmp::SolveProblem(problem);
  if (none.status != usmp::SolverStatus::kInfeasible || !none.is_irreducible) return 1;
  for (size_t b : none.infeasible_subset) std::printf("%s ", problem.buffers[b].name.c_str());
  std::printf("do not fit together\n");
}
