#include "calls/request.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "interrupt.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace stretto::python {

Request::Request(std::shared_ptr<Communicator> comm, Call call, std::shared_ptr<Options> options)
    : comm_(std::move(comm)),
      options_(std::move(options)),
      call_(std::move(call)),
      report_(new stretto_report STRETTO_REPORT_INIT) {
  const stretto_comm c = comm_->get();
  const stretto_options o = options_->with(report_.get());
  check(interruptible(comm_.get(), [&] { return call_.run(c, &o, &request_); }));
}

Request::~Request() {
  if (!request_) return;
  int done = 0;
  if (!comm_->cancelled()) static_cast<void>(stretto_test(request_, &done));
  if (done) {
    static_cast<void>(stretto_request_free(&request_));
    return;
  }
  // The library still reads and writes these buffers, and cannot abort a call that other ranks may be in.
  call_.send.abandon();
  call_.recv.abandon();
  for (View& one : call_.contributions) one.abandon();
  static_cast<void>(report_.release());
  static_cast<void>(new std::shared_ptr<Communicator>(comm_));
}

void Request::finish(stretto_status status) {
  complete_ = true;
  status_ = status;
  if (status != STRETTO_OK) message_ = stretto_message();
  static_cast<void>(stretto_request_free(&request_));
  call_ = Call();
}

bool Request::test() {
  if (!complete_) {
    if (comm_->cancelled()) raise(STRETTO_TIMEOUT, "given up: another rank ended by an exception");
    int done = 0;
    stretto_status status;
    {
      const nb::gil_scoped_release others;
      status = stretto_test(request_, &done);
    }
    if (!done) check(status);
    if (done) finish(status);
  }
  if (status_ != STRETTO_OK) raise(status_, message_);
  return complete_;
}

void Request::wait() {
  if (!complete_) {
    stretto_status status = STRETTO_OK;
    try {
      status = interruptible(comm_.get(), [&] { return stretto_wait(request_); });
    } catch (nb::python_error&) {
      finish(STRETTO_TIMEOUT);
      throw;
    }
    finish(status);
  }
  if (status_ != STRETTO_OK) raise(status_, message_);
}

nb::tuple Request::report() const { return fields(*report_); }

namespace {

using Sizes = std::vector<std::size_t>;

std::unique_ptr<Call> call_of(const Communicator& comm, Collective collective, nb::object send, nb::object recv,
                              bool send_in_place, bool recv_in_place, std::size_t count, stretto_type type,
                              stretto_op op, int root, Sizes sent, Sizes sent_at, Sizes received, Sizes received_at,
                              const Place* place) {
  auto made = std::make_unique<Call>();
  Call& c = *made;
  c.collective = collective;
  c.type = type;
  c.op = op;
  c.root = root;
  c.count = count;
  c.send_in_place = send_in_place;
  c.recv_in_place = recv_in_place;
  if (collective == STRETTO_ALLREDUCE_MULTI) {
    for (nb::handle one : send) c.contributions.push_back(View::read(one));
    for (const View& one : c.contributions) c.addresses.push_back(one.data());
  } else if (!send.is_none()) {
    c.send = View::read(send);
  }
  // The root's values in a broadcast may be read-only.
  if (!recv.is_none())
    c.recv = collective == STRETTO_BCAST && comm.rank() == root ? View::read(recv) : View::write(recv);
  c.sent = {std::move(sent), std::move(sent_at)};
  c.received = {std::move(received), std::move(received_at)};
  if (place) c.place = *place;
  c.check_overlap();
  c.check_lengths(comm.get());
  return made;
}

std::unique_ptr<Request> start(std::shared_ptr<Communicator> comm, std::shared_ptr<Options> options, Call& call) {
  return std::make_unique<Request>(std::move(comm), std::move(call), std::move(options));
}

// A blocking call of the C interface. rounding: whether the report has the error with all rounding, which takes a pass.
nb::tuple run(const Communicator& comm, const Options& options, const Call& call, bool rounding) {
  stretto_report report = STRETTO_REPORT_INIT;
  if (!rounding) report.error_with_rounding = -1;
  const stretto_comm c = comm.get();
  const stretto_options o = options.with(&report);
  check(interruptible(&comm, [&] { return call.run(c, &o, nullptr); }));
  return fields(report);
}

}  // namespace

void add_requests(nb::module_& m) {
  nb::enum_<Collective>(m, "Collective")
      .value("allreduce", STRETTO_ALLREDUCE)
      .value("allreduce_multi", STRETTO_ALLREDUCE_MULTI)
      .value("reduce", STRETTO_REDUCE)
      .value("reduce_scatter_block", STRETTO_REDUCE_SCATTER_BLOCK)
      .value("reduce_scatter", STRETTO_REDUCE_SCATTER)
      .value("allgather", STRETTO_ALLGATHER)
      .value("allgatherv", STRETTO_ALLGATHERV)
      .value("bcast", STRETTO_BCAST)
      .value("scatter", STRETTO_SCATTER)
      .value("scatterv", STRETTO_SCATTERV)
      .value("gather", STRETTO_GATHER)
      .value("gatherv", STRETTO_GATHERV)
      .value("alltoall", STRETTO_ALLTOALL)
      .value("alltoallv", STRETTO_ALLTOALLV)
      .value("scan", STRETTO_SCAN)
      .value("exscan", STRETTO_EXSCAN)
      .value("barrier", STRETTO_BARRIER);
  nb::class_<Request>(m, "Request")
      .def("test", &Request::test)
      .def("wait", &Request::wait)
      .def("report", &Request::report);
  nb::class_<Call>(m, "Call");
  m.def("call", &call_of, nb::arg("comm"), nb::arg("collective"), nb::arg("send").none(), nb::arg("recv").none(),
        nb::arg("send_in_place"), nb::arg("recv_in_place"), nb::arg("count"), nb::arg("type"), nb::arg("op"),
        nb::arg("root"), nb::arg("sent"), nb::arg("sent_at"), nb::arg("received"), nb::arg("received_at"),
        nb::arg("place").none() = nb::none());
  m.def("start", &start);
  m.def("run", &run, nb::arg("comm"), nb::arg("options"), nb::arg("call"), nb::arg("rounding") = true);
}

}  // namespace stretto::python
