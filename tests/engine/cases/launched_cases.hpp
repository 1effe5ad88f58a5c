// Every schedule with every payload and operation over a carrier between processes, on as many ranks as there are.
// Prints failures.
#pragma once

#include <cstdio>

#include "case_list.hpp"
#include "operations.hpp"
#include "schedule/floors.hpp"

namespace stretto::tests {

inline std::size_t done = 0;

// Prints the failures; true if there is none.
inline bool told(int rank, const std::vector<std::string>& failures) {
  for (const auto& f : failures) std::fprintf(stderr, "rank %d: %s\n", rank, f.c_str());
  return failures.empty();
}

inline bool run_cases(stretto::engine::Engine& engine, const std::vector<Case>& cases) {
  std::size_t ran = 0;
  const bool well = told(engine.carrier().rank(), run_all(engine, cases, &ran));
  done += ran;
  return well && ran == cases.size();
}

inline bool walk(stretto::engine::Engine& engine, const Walk& walk) {
  done += static_cast<std::size_t>(walk.done);
  return told(engine.carrier().rank(), walk.failures) && walk.done > 60;
}

// Nodes of ranks that are not in a row.
inline stretto::schedule::Groups nodes(int ranks) {
  std::vector<std::int32_t> node_of;
  for (std::int32_t r = 0; r < ranks; ++r) node_of.push_back(ranks > 2 && r % 3 == 2 ? 1 : 0);
  return stretto::schedule::groups_of(node_of);
}

// False: a case failed, or did not run. `whole`: each operation of each schedule, not each payload alone.
inline bool run_over(stretto::carrier::Carrier& carrier, bool whole) {
  stretto::engine::Engine engine(carrier);
  const int ranks = carrier.size();
  const auto groups = nodes(ranks);
  done = 0;
  bool well = run_cases(engine, whole ? all_cases(ranks, Each::operation, ranks > 4 ? 11 : 2)
                                      : all_cases(ranks, Each::payload, 11)) &&
              run_cases(engine, mixed_cases(groups, whole ? 17 : 41));
  if (whole) well = well && walk(engine, walk_operations(engine, 2)) && walk(engine, walk_user_operation(engine));
  if (carrier.rank() == 0) std::printf("%zu cases on %d ranks\n", done, ranks);
  return well;
}

}  // namespace stretto::tests
