// A started collective. Keeps its buffers, options and report in place until it is complete.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "calls/collectives.hpp"
#include "calls/communicator.hpp"
#include "calls/options.hpp"

namespace stretto::python {

class Request {
 public:
  // Starts the call. `options` outlives this object.
  Request(std::shared_ptr<Communicator> comm, Call call, std::shared_ptr<Options> options);
  ~Request();  // an incomplete request is left to the library, with its buffers
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // True if complete; throws the collective's failure.
  bool test();

  // Waits for completion, or until a signal handler raises; the communicator is unusable then.
  void wait();

  // Precondition: complete.
  nanobind::tuple report() const;

 private:
  void finish(stretto_status status);

  std::shared_ptr<Communicator> comm_;
  std::shared_ptr<Options> options_;
  Call call_;
  std::unique_ptr<stretto_report> report_;
  stretto_request request_ = nullptr;
  stretto_status status_ = STRETTO_OK;
  std::string message_;
  bool complete_ = false;
};

}  // namespace stretto::python
