#include "api/creation/create.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/comm_cores.hpp"
#include "api/communicator.hpp"
#include "api/creation/machine.hpp"
#include "api/creation/node.hpp"
#include "backend/hosts/nodes.hpp"
#include "backend/node.hpp"
#include "base/guarded.hpp"
#include "base/waiting.hpp"
#include "carrier/paced.hpp"
#include "node/memory/handle.hpp"

namespace stretto::api {
namespace {

constexpr Purpose kMaking = "for a communicator";

// Collective, also if it fails.
Status meet(backend::Transport& transport, model::Carrier carrier, Carriers* c,
            std::unique_ptr<backend::Backend>* native, std::shared_ptr<select::SharedChooser>* chooser,
            std::vector<Introduction>* all, bool* several_hosts) noexcept {
  Status s = transport.make_carrier(&c->agreement);
  const Status t = transport.make_carrier(&c->data);
  if (s == Status::ok) s = t;
  if (s == Status::ok) s = carrier::pace(&c->data);
  const Status m =
      find_machine(transport, carrier, s == Status::ok ? c->data.get() : nullptr, chooser, all, several_hosts);
  if (s == Status::ok) s = m;
  if (s == Status::ok) s = ask_comm_cores();
  if (s == Status::ok) s = check_wait_mode();
  const Status n = guarded(kMaking, [&] { *native = transport.make_native(); });
  return n == Status::ok ? s : n;
}

// A rank may fail alone: parts with a collective release are the caller's.
struct Parts {
  Carriers carriers;
  std::unique_ptr<backend::Backend> native;
  std::unique_ptr<stretto_comm_s> comm;
};

Status make(backend::Transport& t, model::Carrier carrier, Parts* parts) noexcept {
  Carriers& c = parts->carriers;
  std::unique_ptr<backend::Backend>& native = parts->native;
  std::unique_ptr<stretto_comm_s>& made = parts->comm;
  std::unique_ptr<node::Collectives> node;
  std::shared_ptr<select::SharedChooser> chooser;
  std::vector<Introduction> all;
  bool several_hosts = false;
  Status met = meet(t, carrier, &c, &native, &chooser, &all, &several_hosts);
  // All ranks go on, or none; on several hosts create() agrees on it later.
  if (!several_hosts) met = node::agree(t, met);
  if (met != Status::ok) return met;
  const topology::Topology& topology = chooser->chooser.topology();
  const model::Profile& profile = chooser->chooser.profile();
  const int hosts = topology.hosts();
  std::string no_node;
  if (hosts == 1)
    if (const Status s = find_node(t, all, topology, profile, &no_node, &node); s != Status::ok) return s;
  return guarded(kMaking, [&] {
    backend::MakeHost make_host;
    if (hosts > 1) make_host = later_node(t, all, topology, profile, &no_node);
    made = std::make_unique<stretto_comm_s>(std::move(c), std::move(chooser), std::move(no_node));
    backend::Backends& backends = made->backends;
    if (node) backends.node = backend::make_node_backend(std::move(node), made->selector.choices().groups());
    if (make_host)
      backends.nodes =
          backend::make_nodes_backend(std::move(make_host), made->data, made->selector.choices().groups(), t);
    backends.mpi = std::move(native);
  });
}

}  // namespace

Status create(std::unique_ptr<backend::Transport> transport, model::Carrier carrier, stretto_comm* comm) noexcept {
  Parts parts;  // released after the agreement: an MPI may wait for all ranks in it
  Status s = make(*transport, carrier, &parts);
  if (!comm) s = fail(Status::invalid_argument, "comm is NULL");
  s = node::agree(*transport, s);
  if (s != Status::ok) return s;
  std::unique_ptr<stretto_comm_s>& made = parts.comm;
  std::function<std::string()> ended;
  static_cast<void>(attempt([&] {
    if (made->backends.node) ended = made->backends.node->ended();
    if (made->backends.nodes) ended = made->backends.nodes->ended();
  }));
  transport->created(std::move(ended));
  made->transport = std::move(transport);
  // Without memory, its own calls alone drive it.
  static_cast<void>(attempt([&] { made->let_others_drive(made->transport->any_thread()); }));
  *comm = made.release();
  return s;
}

}  // namespace stretto::api
