// A question on the command line, checked and converted for the model.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/choose.hpp"
#include "model/profile/machine.hpp"
#include "model/walk/clock.hpp"

namespace stretto::app {

// A message for the user; the program ends with status 2.
struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Arguments {
  std::string collective = "allreduce";
  int ranks = 2;
  int per_node = 1;
  int root = 0;
  std::string bytes = "1M";
  std::string type = "f32";
  std::string bound = "exact";
  double ratio = 8;
  bool ratio_given = false;  // else the ratio is assumed, and marked so
  double dense_ratio = 0;    // 0: streams are fixed
  double growth = model::kIndependentGrowth;
  std::string machine;            // empty: the profile that the library would use on this host
  std::string carrier = "mpi";    // or ucx
  std::string mpi;                // name and version; empty: the profile's
  double gigabits = 0;            // of the network; 0: from the profile
  std::uint64_t eager_limit = 0;  // of the MPI between hosts (model::Profile); 0: none
  int codec_threads = 1;          // of a rank
  int hosts_per_switch = 0;
  double oversubscription = 1;
  std::string network;  // torus:4x4x4; empty: from the profile
  double hop = -1;      // seconds per link of it; negative: from the profile
  bool native = true;
  bool device = false, nccl = false;
  // predict
  std::string schedule, payload = "auto", system, segment, raw_below;
  bool rounds = false;  // no overlap
  // predict: for a started tree, the levels run by the ranks' own cores, the communication cores of a host, and the
  // work beside it. explain and choose: the cores.
  int split = 0, comm_cores = 0;
  std::string work;  // empty: none
  bool json = false;
};

// "1G", "64K", "1.5M", "4096", with or without B or iB: powers of 1024.
std::uint64_t parse_size(const std::string& text);

schedule::Collective collective_of(const Arguments& arguments);
topology::Topology topology_of(const Arguments& arguments, const model::Profile& profile, int ranks, int per_node);
model::Carrier carrier_of(const Arguments& arguments);

// The machine's profile as in its file; and as used for messages over the carrier, on the named network. *from: where
// it was found; *messages: see model::over.
model::Profile profile_named(const Arguments& arguments, std::string* from = nullptr);
model::Profile profile_of(const Arguments& arguments, std::string* from, std::string* messages);
model::Question question_of(const Arguments& arguments);
model::Machine machine_of(const Arguments& arguments, const model::Profile& profile, std::uint32_t element,
                          double ratio);

// "exact" allows no streams; rel:X and abs:X do.
bool allows_streams(const std::string& bound);

// Throws Problem with the library's message if s is not ok.
void check(Status s);

}  // namespace stretto::app
