// A started collective: its buffers, options and report stay where they are until it is complete.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "collectives.hpp"
#include "communicator.hpp"
#include "options.hpp"

namespace stretto::python {

class Request {
 public:
  // Starts the call. `options` lives as long as this.
  Request(std::shared_ptr<Communicator> comm, Call call, std::shared_ptr<Options> options);
  ~Request();  // of one that is not complete: leaves it to the library, and its buffers with it
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Whether it is complete; throws the collective's failure.
  bool test();

  // To its end, or to the exception that a handler of a signal raises; the communicator is unusable then.
  void wait();

  // Of a complete call.
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
