// One message to each rank under an own tag; ranks poll instead of posting receives.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "carrier/carrier.hpp"

namespace stretto::modules {

class MpiAlarms {
 public:
  // Allocates for raise(). `comm` returns errors and outlives this.
  MpiAlarms(MPI_Comm comm, int size, int tag);
  ~MpiAlarms();
  MpiAlarms(const MpiAlarms&) = delete;
  MpiAlarms& operator=(const MpiAlarms&) = delete;

  void raise(const carrier::Alarm& alarm) noexcept;
  bool hear(carrier::Alarm* alarm) noexcept;
  bool quiet() const noexcept { return raised_ == 0 && !heard_; }

 private:
  bool sent() noexcept;

  MPI_Comm comm_;
  int tag_;
  std::size_t raised_ = 0;
  bool heard_ = false;
  std::unique_ptr<std::array<carrier::Alarm, carrier::kMostAlarms>> alarms_;
  std::vector<MPI_Request> requests_;
};

}  // namespace stretto::modules
