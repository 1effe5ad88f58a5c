// stretto-model: predicts a collective's time on a machine, and explains the cheapest choice.
#include <cstdio>
#include <exception>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "answers/explain.hpp"
#include "answers/overlap.hpp"
#include "answers/plan.hpp"
#include "answers/rules.hpp"
#include "answers/simulate.hpp"
#include "apps/command_line.hpp"
#include "help.hpp"

namespace stretto::app {
namespace {

void add_profile(CLI::App* c, Arguments* a) {
  c->add_option("--machine,--profile", a->machine,
                "profile: a file, or one that is shipped (stretto profiles); by default what the library uses "
                "here: STRETTO_PROFILE, else what stretto tune wrote last on this host, else built-in");
  c->add_flag("--json", a->json, "print JSON");
}

void add_machine(CLI::App* c, Arguments* a) {
  add_profile(c, a);
  c->add_option("--carrier", a->carrier, "what messages go over: mpi, or ucx, which has no native collectives");
  c->add_option("--mpi", a->mpi,
                "the MPI, such as 'MPICH 5.0.2' or 'Open MPI 5.0.11 without HAN', whose schedules may be known; that "
                "of the profile")
      ->type_name("NAME");
  c->add_option("--eager-limit", a->eager_limit,
                "longest message of the MPI between hosts without a rendezvous: 64K for Open MPI over TCP, none if 0")
      ->transform(CLI::AsSizeValue(false));
  c->add_option("--codec-threads", a->codec_threads, "of a rank, each with a core: STRETTO_CODEC_THREADS")
      ->type_name("N");
  c->add_option("--rate", a->gigabits, "of the network in Gb/s, in place of the profile's")
      ->default_str("")
      ->type_name("GBITS");
}

void add_ratio(CLI::App* c, Arguments* a, const std::string& help) {
  c->add_option("--ratio", a->ratio, help)->each([a](const std::string&) { a->ratio_given = true; });
}

void add_question(CLI::App* c, Arguments* a) {
  c->add_option("collective", a->collective, "allreduce, broadcast (or bcast), ...")->required();
  c->add_option("--ranks,-n", a->ranks, "ranks");
  c->add_option("--per-node", a->per_node, "ranks on each node, in a row");
  c->add_option("--bytes", a->bytes, "of the whole vector: 4096, 64K, 1G")->type_name("SIZE");
  c->add_option("--type", a->type, "f32 or f64");
  c->add_option("--bound", a->bound, "exact (no streams), rel:X of the range of values, or abs:X")->type_name("BOUND");
  add_ratio(c, a, "that compression of one contribution is expected to reach, where there is a bound");
  c->add_option("--dense-ratio", a->dense_ratio,
                "and the ratio of dense streams, which are then candidates beside fixed ones; 0: they are none");
  c->add_option("--root", a->root, "of rooted collectives");
  add_machine(c, a);
}

void add_forced(CLI::App* c, Arguments* a) {
  c->add_option("--schedule", a->schedule, "only this one");
  c->add_option(
      "--payload", a->payload,
      "only this one: raw; with a bound fused (streams, to which a rank adds its values in one pass), homomorphic "
      "(streams added as streams), recompress or doc (decompressed, added, compressed again), cprp2p (compressed "
      "anew for every message); without a bound bfloat16 (of float32); auto: the cheapest of the first three");
  c->add_option("--segment", a->segment, "only this length: 256K")->type_name("SIZE");
  c->add_option(
       "--raw-below", a->raw_below,
       "messages of fewer bytes travel raw beside streams, as the last halves of Rabenseifner's allreduce: 64K")
      ->type_name("SIZE");
}

void add_growth(CLI::App* c, Arguments* a) {
  c->add_option(
      "--growth", a->growth,
      "bits of a value that streams gain with each doubling of the contributions summed in them: 0.5 where those are "
      "independent; 0: all that travels has the ratio of one");
}

void add_fabric(CLI::App* c, Arguments* a) {
  c->add_option("--hosts-per-switch", a->hosts_per_switch,
                "hosts that share the uplink of a switch; 0: none is shared");
  c->add_option("--oversubscription", a->oversubscription, "their rate together, over that of the uplink");
}

void add_network(CLI::App* c, Arguments* a) {
  c->add_option(
      "--network", a->network,
      "how hosts are joined: flat, or torus:4x4x4, with a host on each place; by default as the profile says");
  c->add_option("--hop", a->hop, "seconds that each further link of a torus takes; negative: as the profile says")
      ->default_str("")
      ->type_name("SECONDS");
}

void add_plan(CLI::App* c, Arguments* a, Plan* p) {
  c->add_option("--cores", p->cores, "of the node; 0: as the profile says");
  c->add_option("--work", p->work,
                "an iteration, with commas: compute TIME (when every core has a rank); reduce, bcast, allreduce, "
                "gather or scatter BYTES (of the whole vector), or ireduce BYTES and so on: started before the work "
                "and waited for after it; repeat COUNT");
  c->add_option("--from", p->from,
                "in its place the report of a run of this host, as stretto run --report-to wrote it");
  c->add_option("--seconds", p->seconds, "that the whole run of --from took");
  c->add_flag("--started", p->started, "as if blocking collectives were started before the work, too");
  c->add_option("--ranks,-n", p->ranks, "numbers of ranks, with commas; if none, from half the cores to all")
      ->delimiter(',');
  c->add_option("--levels", p->most, "at most so many levels of a tree run on the ranks' cores");
  add_profile(c, a);
}

int run(int argc, char** argv) {
  Arguments a;
  Study study;
  Overlap split;
  Plan planned;
  std::string one, rules;
  CLI::App app{"What a collective takes on a machine, which way to run it is the cheapest, and why."};
  app.formatter(std::make_shared<Help>());
  app.failure_message(mistake);
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  app.footer(
      "examples:\n"
      "  stretto-model profiles\n"
      "  stretto-model explain allreduce -n 1024 --per-node 4 --bytes 1G --bound rel:1e-4 --ratio 8 --machine "
      "a100-hdr\n"
      "  stretto-model choose broadcast -n 64 --bytes 1M\n"
      "  stretto-model predict allreduce --schedule ring -n 64 --bytes 64M --bound abs:1e-3 --payload fused --segment "
      "256K\n"
      "  stretto-model predict allreduce --system hzccl -n 64 --bytes 64M --ratio 8\n"
      "  stretto-model simulate weak -n 8,1024,131072 --per-node 4 --bytes 256M --machine a100-100g\n"
      "  stretto-model simulate overlap --cores 64 -n 51,52,58,62\n"
      "  stretto-model plan --cores 64 --work 'compute 20ms, ireduce 2M, repeat 100'");

  CLI::App* predicting = app.add_subcommand("predict", "one schedule and payload, or one system of the literature");
  add_question(predicting, &a);
  add_forced(predicting, &a);
  add_growth(predicting, &a);
  add_fabric(predicting, &a);
  add_network(predicting, &a);
  predicting->add_option("--system", a.system, "as this system runs it: cprp2p, c-coll, hzccl, homcomp-f, argm, ...");
  predicting->add_flag("--no-overlap", a.rounds, "a rank exchanges or computes, never both");
  predicting->add_option("--comm-cores", a.comm_cores,
                         "of each host, on which a started collective moves beside the ranks' work; 0: none");
  predicting->add_option("--split", a.split, "levels of a tree, from its leaves, that the ranks' own cores do");
  predicting->add_option("--work", a.work, "of each rank, beside the collective: 20ms");

  CLI::App* choosing = app.add_subcommand("choose", "the cheapest way");
  CLI::App* explaining =
      app.add_subcommand("explain", "all ways, the cheapest first, and how the choice changes with the size");
  for (CLI::App* c : {choosing, explaining}) {
    add_question(c, &a);
    add_forced(c, &a);
    add_network(c, &a);
    c->add_flag("!--no-native", a.native, "leave the MPI's own collective out, or NCCL's");
    c->add_option("--comm-cores", a.comm_cores,
                  "of each host: also says how many levels S of a started tree the ranks' own cores do");
    c->add_flag("--device", a.device, "values are in the memory of devices, whose messages the host carries");
    c->add_flag("--nccl", a.nccl, "the same, and NCCL carries the messages and has collectives of its own");
  }

  CLI::App* simulating = app.add_subcommand("simulate", "systems side by side, up to 131072 ranks; split trees");
  simulating
      ->add_option("study", study.kind,
                   "weak (bytes on each rank), strong (bytes / ranks on each), or overlap: what a node's communication "
                   "cores hide of a tree whose lowest levels run before the work")
      ->required();
  simulating->add_option("--cores", split.cores, "overlap: of the node; those without a rank communicate");
  simulating->add_option("--levels", split.most, "overlap: at most so many levels run before the work");
  simulating->add_option("--edges", split.edges, "overlap: alike (reduce, broadcast) or double (gather, scatter)");
  simulating->add_option("--collective", a.collective, "allreduce, reduce_scatter or allgather");
  simulating
      ->add_option("--ranks,-n", study.ranks,
                   "numbers of ranks, with commas; if none, 8 to 131072 by powers of two, or from half the cores on")
      ->delimiter(',');
  simulating->add_option("--per-node", a.per_node, "ranks on each node");
  simulating->add_option("--bytes", study.sizes, "sizes, with commas: 64K,1G")->delimiter(',');
  add_ratio(simulating, &a, "that compression of one contribution reaches");
  simulating
      ->add_option("--systems", study.systems, "with commas: mpi, ours, and those of predict --system; all if none")
      ->delimiter(',');
  add_growth(simulating, &a);
  add_fabric(simulating, &a);
  add_network(simulating, &a);
  add_machine(simulating, &a);

  CLI::App* planning =
      app.add_subcommand("plan", "how many ranks and communication cores a program should have on a node");
  add_plan(planning, &a, &planned);

  CLI::App* listing = app.add_subcommand("profiles", "machines that are shipped, or the figures of one");
  listing->add_option("profile", one, "a file or a name");
  listing->add_flag("--json", a.json, "print JSON");

  CLI::App* checking = app.add_subcommand("rules", "checks a file of rules as the profiling library reads it");
  checking->add_option("file", rules, "the file")->required();
  bool bounded = false;
  checking->add_flag("--bounded", bounded, "STRETTO_BOUND is set beside it");

  if (int code = 0; !parsed(app, argc, argv, true, &code)) return code;
  Json result;
  std::string text;
  if (predicting->parsed()) text = predict_text(result = predict(a));
  if (choosing->parsed()) text = choose_text(result = choose(a));
  if (explaining->parsed()) text = explain_text(result = explain(a));
  if (simulating->parsed() && study.kind == "overlap") text = overlap_text(result = overlap(split, study));
  if (simulating->parsed() && study.kind != "overlap") text = simulate_text(result = simulate(a, study));
  if (planning->parsed()) text = plan_text(result = plan(a, planned));
  if (listing->parsed()) text = profiles_text(result = profiles(one));
  if (checking->parsed()) text = rules_text(rules, bounded);
  fmt::print("{}", a.json ? result.dump(1) + "\n" : text);
  return 0;
}

}  // namespace
}  // namespace stretto::app

int main(int argc, char** argv) {
  try {
    return stretto::app::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "stretto-model: %s\n", e.what());
    return 2;
  }
}
