// Blocking calls on memory given by its address, as torch's data_ptr() returns it: no buffer protocol, no allocation
// and no report per call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calls/collectives.hpp"
#include "calls/communicator.hpp"
#include "calls/options.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

using Sizes = std::vector<std::size_t>;

// A collective with all arguments except the buffers and the count, for any number of calls. Used by one thread at a
// time.
class Addressed {
 public:
  Addressed(std::shared_ptr<Communicator> comm, std::shared_ptr<Options> options, Collective collective,
            stretto_type type, stretto_op op, int root, bool send_in_place, bool recv_in_place, Sizes sent,
            Sizes received)
      : comm_(std::move(comm)), options_(std::move(options)), size_(stretto_type_size(type)) {
    call_.collective = collective;
    call_.type = type;
    call_.op = op;
    call_.root = root;
    call_.send_in_place = send_in_place;
    call_.recv_in_place = recv_in_place;
    call_.sent.counts = std::move(sent);
    call_.received.counts = std::move(received);
  }

  // `count` is the C function's. `sends` and `receives` count the elements at the addresses; the caller keeps the
  // memory alive.
  void run(std::uintptr_t send, std::size_t sends, std::uintptr_t recv, std::size_t receives, std::size_t count) {
    call_.count = count;
    call_.send = View::at(reinterpret_cast<void*>(send), sends * size_);
    call_.recv = View::at(reinterpret_cast<void*>(recv), receives * size_);
    call_.check_overlap();
    if (const std::array lengths{count, sends, receives}; lengths != checked_) {
      call_.check_lengths(comm_->get());
      checked_ = lengths;
    }
    go();
  }

  // The same on memory of a device, in the order of a stream of it. Returns what carried messages between devices.
  std::string run_on(const Place& place, std::uintptr_t send, std::size_t sends, std::uintptr_t recv,
                     std::size_t receives, std::size_t count) {
    call_.place = place;
    stretto_report report = STRETTO_REPORT_INIT;
    report_ = &report;
    try {
      run(send, sends, recv, receives, count);
    } catch (...) {
      call_.place = {};
      report_ = nullptr;
      throw;
    }
    call_.place = {};
    report_ = nullptr;
    return report.device_carrier;
  }

  // Runs a collective in place on `count` elements: its send buffer is IN_PLACE, or it has none.
  void run_in_place(std::uintptr_t memory, std::size_t count) {
    call_.count = count;
    call_.recv = View::at(reinterpret_cast<void*>(memory), count * size_);
    go();
  }

 private:
  void go() const {
    const stretto_comm c = comm_->get();
    const stretto_options o = options_->with(report_);
    check(interruptible(comm_.get(), [&] { return call_.run(c, &o, nullptr); }));
  }

  std::shared_ptr<Communicator> comm_;
  std::shared_ptr<Options> options_;
  std::size_t size_;
  std::array<std::size_t, 3> checked_{~std::size_t{0}, 0, 0};  // lengths of the last call that was checked
  Call call_{};
  stretto_report* report_ = nullptr;  // of a call on a device
};

}  // namespace

void add_addressed(nb::module_& m) {
  nb::class_<Addressed>(m, "Addressed")
      .def(nb::init<std::shared_ptr<Communicator>, std::shared_ptr<Options>, Collective, stretto_type, stretto_op, int,
                    bool, bool, Sizes, Sizes>(),
           nb::arg("comm"), nb::arg("options"), nb::arg("collective"), nb::arg("type"), nb::arg("op"), nb::arg("root"),
           nb::arg("send_in_place"), nb::arg("recv_in_place"), nb::arg("sent"), nb::arg("received"))
      .def("run", &Addressed::run)
      .def("run_on", &Addressed::run_on)
      .def("run_in_place", &Addressed::run_in_place);
}

}  // namespace stretto::python
