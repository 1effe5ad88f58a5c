#include "stretto/stretto_store.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "api/creation/create.hpp"
#include "api/creation/environment.hpp"
#include "api/creation/modules.hpp"
#include "base/guarded.hpp"
#include "base/text/positive.hpp"
#include "call/enums.hpp"
#include "carrier/rendezvous.hpp"

using namespace stretto;
using call::to_c;

namespace {

class CallersStore final : public carrier::Store {
 public:
  explicit CallersStore(const stretto_store& store) noexcept : store_(store) {}

  Status set(const std::string& key, std::string_view value) override {
    return ended("set", key, store_.set(store_.context, key.c_str(), value.data(), value.size()));
  }
  Status get(const std::string& key, double seconds, std::string* value) override {
    for (std::size_t capacity = 4096;;) {
      value->resize(capacity);
      std::size_t bytes = 0;
      const stretto_status s = store_.get(store_.context, key.c_str(), seconds, value->data(), capacity, &bytes);
      if (s == STRETTO_TIMEOUT) return fail(Status::timeout, "the store has no {} after {} s", key, seconds);
      if (s == STRETTO_BUFFER_TOO_SMALL && bytes > capacity && bytes <= kMost) {
        capacity = bytes;
        continue;
      }
      if (s == STRETTO_OK && bytes > capacity)
        return fail(Status::internal, "the store says that {} has {} bytes where {} fit", key, bytes, capacity);
      if (s == STRETTO_OK) value->resize(bytes);
      return ended("get", key, s);
    }
  }
  Status remove(const std::string& key) override {
    return ended("remove", key, store_.remove(store_.context, key.c_str()));
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;

  static Status ended(const char* what, const std::string& key, stretto_status s) noexcept {
    if (s == STRETTO_OK) return Status::ok;
    return fail(Status::internal, "the store's {} of {} failed: {}", what, key, stretto_status_name(s));
  }
  const stretto_store store_;
};

bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 200 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789_-") == name.npos;
}

Status read_options(const stretto_store_options* given, stretto_store_options* options) noexcept {
  *options = STRETTO_STORE_OPTIONS_INIT;
  if (!given) return Status::ok;
  if (given->size < sizeof *given)
    return fail(Status::invalid_argument, "options.size is {}, not {}", given->size, sizeof *given);
  *options = *given;
  if (!options->name || !is_name(options->name))
    return fail(Status::invalid_argument, "options.name is '{}'; it takes letters, digits, '_' and '-'",
                options->name ? options->name : "NULL");
  if (!(std::isfinite(options->timeout) && options->timeout > 0))
    return fail(Status::invalid_argument, "options.timeout is {}, not a positive number", options->timeout);
  return Status::ok;
}

Status create(carrier::Store& store, int rank, int ranks, const stretto_store_options& o, stretto_comm* comm) noexcept {
  std::unique_ptr<backend::Transport> transport;
  const Status s = guarded("for a communicator", [&] {
    const backend::Module* module = nullptr;
    if (const Status s = api::find_module("ucx", &module); s != Status::ok) {
      const carrier::Participant me{o.name, rank, ranks, STRETTO_VERSION, {}, message()};
      carrier::Session session;
      static_cast<void>(carrier::meet_in(store, me, o.timeout, &session));  // informs all ranks
      return fail(s, std::string_view(me.failure));
    }
    backend::Place place{o.name, rank, ranks, o.timeout, o.transports ? o.transports : ""};
    return module->transport_in(store, place, &transport);
  });
  return s != Status::ok ? s : api::create(std::move(transport), model::Carrier::ucx, comm);
}

Status create_by_environment(const stretto_store_options* given, stretto_comm* comm) noexcept {
  stretto_store_options options;
  if (const Status s = read_options(given, &options); s != Status::ok) return s;
  if (const char* limit = secure_getenv("STRETTO_TIMEOUT");
      !given && limit && *limit && !(read_positive(limit, &options.timeout) && std::isfinite(options.timeout)))
    return fail(Status::invalid_argument, "STRETTO_TIMEOUT is '{}', no positive number of seconds", limit);
  if (const char* name = secure_getenv("STRETTO_NAME"); name && *name) {
    if (!is_name(name))
      return fail(Status::invalid_argument, "STRETTO_NAME is '{}'; it takes letters, digits, '_' and '-'", name);
    options.name = name;
  }
  int rank = 0, ranks = 0;
  if (const Status s = api::read_rank(&rank, &ranks); s != Status::ok) return s;
  std::unique_ptr<carrier::Store> store;
  if (const Status s = api::open_job_store(&store); s != Status::ok) return s;
  return create(*store, rank, ranks, options, comm);
}

}  // namespace

extern "C" {

stretto_status stretto_comm_create_store(const stretto_store* store, int rank, int ranks,
                                         const stretto_store_options* options, stretto_comm* comm) {
  if (!comm) return to_c(fail(Status::invalid_argument, "comm is NULL"));
  *comm = nullptr;
  if (!store || store->size < sizeof *store || !store->set || !store->get || !store->remove)
    return to_c(fail(Status::invalid_argument, "store is {}", store ? "of another size, or lacks a function" : "NULL"));
  stretto_store_options read;
  if (const Status s = read_options(options, &read); s != Status::ok) return to_c(s);
  CallersStore callers(*store);
  return to_c(create(callers, rank, ranks, read, comm));
}

stretto_status stretto_comm_create_environment(const stretto_store_options* options, stretto_comm* comm) {
  if (!comm) return to_c(fail(Status::invalid_argument, "comm is NULL"));
  *comm = nullptr;
  return to_c(create_by_environment(options, comm));
}
}
