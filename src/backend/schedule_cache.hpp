#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::backend {

class ScheduleCache {
 public:
  // Null: no such algorithm for the collective.
  std::shared_ptr<const schedule::Schedule> get(const std::string& algorithm, const schedule::Request& request);

 private:
  struct Entry {
    std::string algorithm;
    schedule::Request request;
    std::shared_ptr<const schedule::Schedule> schedule;
  };
  std::vector<Entry> entries_;
  static constexpr std::size_t kCapacity = 16;
};

}  // namespace stretto::backend
