// A rank's input to a form, and its expected result, as numbers.
#pragma once

#include "forms.hpp"

namespace api_test {

inline constexpr double kUntouched = -77;  // in buffers, where nothing else is

struct Arrangement {
  std::vector<double> send, recv;             // contents of the buffers before the call
  std::vector<std::vector<double>> several;   // of allreduce_multi
  bool send_given = true, recv_given = true;  // else null
  bool send_in_place = false, recv_in_place = false;

  // Expected elements of recv: results, and elements that must be unchanged (exact). Other elements are unspecified.
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
