// What a rank calls a form with, and what it must get, as numbers.
#pragma once

#include "forms.hpp"

namespace api_test {

inline constexpr double untouched = -77;  // in buffers, where nothing else is

struct Arrangement {
  std::vector<double> send, recv;             // what the buffers hold before
  std::vector<std::vector<double>> several;   // of allreduce_multi
  bool send_given = true, recv_given = true;  // else null
  bool send_in_place = false, recv_in_place = false;

  // Of recv: results, and what must stay as it was, exactly. What is in neither may be anything.
  struct Wanted {
    std::size_t at;
    double number;
    bool exact;
  };
  std::vector<Wanted> wanted;

  std::vector<std::size_t> counts, send_displs, recv_displs;  // of this call on this rank; empty: null
  int contributions = 1;
  double range = 0;  // of all inputs of all ranks
};

Arrangement arrange(const Form& form, int ranks, int rank);

}  // namespace api_test
