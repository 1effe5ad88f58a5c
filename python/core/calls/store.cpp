// Communicators of processes that meet in a store: a directory named in the environment, or a Python object with set,
// get and remove.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "calls/communicator.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "stretto/stretto_store.h"

namespace nb = nanobind;

namespace stretto::python {
namespace {

// Context of a store's functions: the object, and the first exception that it raised.
struct Context {
  nb::object store;
  std::exception_ptr raised;
};

// Calls work(store) with the GIL. An exception ends the creation, which raises it again.
template <class Work>
stretto_status call(void* context, const Work& work) noexcept {
  auto& c = *static_cast<Context*>(context);
  const nb::gil_scoped_acquire mine;
  try {
    return work(c.store);
  } catch (...) {
    if (!c.raised) c.raised = std::current_exception();
    return STRETTO_INTERNAL;
  }
}

stretto_status set(void* context, const char* key, const void* value, size_t bytes) {
  return call(context, [&](nb::object& store) {
    store.attr("set")(key, nb::bytes(static_cast<const char*>(value), bytes));
    return STRETTO_OK;
  });
}

stretto_status get(void* context, const char* key, double seconds, void* value, size_t capacity, size_t* bytes) {
  return call(context, [&](nb::object& store) {
    const nb::object found = store.attr("get")(key, seconds);
    if (found.is_none()) return STRETTO_TIMEOUT;
    if (!nb::isinstance<nb::bytes>(found)) {
      const auto type = nb::cast<std::string>(found.type().attr("__name__"));
      throw nb::type_error(("get of a store gave a " + type + "; it gives bytes, or None").c_str());
    }
    const auto content = nb::borrow<nb::bytes>(found);
    *bytes = content.size();
    if (content.size() > capacity) return STRETTO_BUFFER_TOO_SMALL;
    std::memcpy(value, content.c_str(), content.size());
    return STRETTO_OK;
  });
}

stretto_status remove(void* context, const char* key) {
  return call(context, [&](nb::object& store) {
    store.attr("remove")(key);
    return STRETTO_OK;
  });
}

stretto_store_options options(const std::optional<std::string>& name, double timeout,
                              const std::optional<std::string>& transports) {
  stretto_store_options o = STRETTO_STORE_OPTIONS_INIT;
  if (name) o.name = name->c_str();
  o.timeout = timeout;
  o.transports = transports ? transports->c_str() : nullptr;
  return o;
}

}  // namespace

std::shared_ptr<Communicator> of_store(nb::object store, int rank, int ranks, std::optional<std::string> name,
                                       double timeout, std::optional<std::string> transports) {
  Context context{std::move(store), nullptr};
  const stretto_store functions = {sizeof(stretto_store), &context, &set, &get, &remove};
  const stretto_store_options o = options(name, timeout, transports);
  stretto_comm comm = nullptr;
  const stretto_status status =
      interruptible(nullptr, [&] { return stretto_comm_create_store(&functions, rank, ranks, &o, &comm); });
  if (status != STRETTO_OK && context.raised) std::rethrow_exception(context.raised);
  check(status);
  return std::make_shared<Communicator>(comm, nullptr);
}

std::shared_ptr<Communicator> of_environment(std::optional<std::string> name, double timeout,
                                             std::optional<std::string> transports) {
  const stretto_store_options o = options(name, timeout, transports);
  stretto_comm comm = nullptr;
  const stretto_status status = interruptible(nullptr, [&] { return stretto_comm_create_environment(&o, &comm); });
  check(status);
  return std::make_shared<Communicator>(comm, nullptr);
}

}  // namespace stretto::python
