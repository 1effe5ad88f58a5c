// Conjugate gradients on a sparse matrix. A step has two dot products, each of which waits for every rank. The
// pipelined form (Ghysels and Vanroose 2014) has both in one MPI_Iallreduce, overlapped with the matrix product.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "grid.hpp"
#include "program.hpp"
#include "sparse.hpp"

namespace stretto::programs {
namespace {

enum class Form : std::uint8_t {
  blocking,     // MPI_Allreduce for each dot product
  pipelined,    // MPI_Iallreduce for both at once
  reproducible  // sums of planes are gathered and added in the planes' order: equal bits for any number of ranks
};
const std::map<std::string, Form> kForms{
    {"blocking", Form::blocking}, {"pipelined", Form::pipelined}, {"reproducible", Form::reproducible}};

struct Options {
  int side = 256, stencil = 5, steps = 100;
  bool weak = false;  // planes per rank instead of in all
  Form form = Form::blocking;
  double tolerance = 0;
};

// A vector with room for the neighbours' planes around its own points.
class Vector {
 public:
  explicit Vector(const Slab& slab) : plane_(slab.plane), all_(slab.storage()) {}
  double* data() { return all_.data(); }
  std::span<double> own() { return std::span(all_).subspan(plane_, all_.size() - 2 * plane_); }
  std::span<const double> own() const { return std::span(all_).subspan(plane_, all_.size() - 2 * plane_); }

 private:
  std::size_t plane_;
  std::vector<double> all_;
};

class Solver {
 public:
  Solver(const Options& options, const Slab& slab)
      : options_(options),
        slab_(slab),
        matrix_(make_matrix(slab, options.stencil)),
        rank_(rank_of(MPI_COMM_WORLD)),
        size_(size_of(MPI_COMM_WORLD)) {
    for (int r = 0; r < size_; ++r) {
      const Part part = part_of(slab.planes, size_, r);
      counts_.push_back(part.count);
      firsts_.push_back(part.first);
    }
    planes_.resize(static_cast<std::size_t>(slab.planes));
  }

  // b = A 1, from x = 0: the solution is 1 everywhere.
  void solve() {
    Vector x(slab_), ones(slab_), b(slab_);
    std::fill(ones.own().begin(), ones.own().end(), 1.0);
    product(ones, b);
    halo_seconds_.clear();
    options_.form == Form::pipelined ? pipelined(x, b) : plain(x, b);
    double mine = 0;
    for (const double value : x.own()) mine = std::max(mine, std::abs(value - 1));
    MPI_Allreduce(&mine, &error_, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }

  void describe(Json* row) const {
    row->update(
        {{"steps", history_.size() - 1}, {"converged", converged_}, {"error", error_}, {"residuals", history_}});
    row->update(as_json(timing(slowest(step_seconds_))));
    (*row)["halo_time"] = timing(averaged(halo_seconds_)).median;
    (*row)["reduction_time"] = timing(averaged(reduction_seconds_)).median;
  }

 private:
  // out = A in, after the exchange of in's outermost planes.
  void product(Vector& in, Vector& out) {
    const double start = MPI_Wtime();
    const int below = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL, above = rank_ + 1 < size_ ? rank_ + 1 : MPI_PROC_NULL;
    const int plane = static_cast<int>(slab_.plane);
    double *first = in.own().data(), *last = first + slab_.points() - slab_.plane;
    std::array<MPI_Request, 4> requests{};
    MPI_Irecv(first - slab_.plane, plane, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(last + slab_.plane, plane, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(first, plane, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(last, plane, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    halo_seconds_.push_back(MPI_Wtime() - start);
    multiply(matrix_, in.data(), out.own().data());
  }

  // This rank's part: its points in order, plane by plane.
  double part_of_plane(const Vector& a, const Vector& b, int plane) const {
    const std::size_t from = static_cast<std::size_t>(plane) * slab_.plane;
    double sum = 0;
    for (std::size_t i = from; i < from + slab_.plane; ++i) sum += a.own()[i] * b.own()[i];
    return sum;
  }
  double part(const Vector& a, const Vector& b) const {
    double sum = 0;
    for (int plane = 0; plane < slab_.count; ++plane) sum += part_of_plane(a, b, plane);
    return sum;
  }

  double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    if (options_.form != Form::reproducible) {
      const double mine = part(a, b);
      const double start = MPI_Wtime();
      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      reduction_seconds_.push_back(MPI_Wtime() - start);
      return sum;
    }
    for (int plane = 0; plane < slab_.count; ++plane)
      planes_[static_cast<std::size_t>(slab_.first + plane)] = part_of_plane(a, b, plane);
    const double start = MPI_Wtime();
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, planes_.data(), counts_.data(), firsts_.data(), MPI_DOUBLE,
                   MPI_COMM_WORLD);
    reduction_seconds_.push_back(MPI_Wtime() - start);
    for (const double plane : planes_) sum += plane;
    return sum;
  }

  // Records the residual's norm. True: end, at the tolerance, or with a zero residual and no direction left.
  bool note(double square) {
    history_.push_back(std::sqrt(std::max(square, 0.0)));
    converged_ = history_.back() <= options_.tolerance * history_.front();
    return converged_;
  }

  void plain(Vector& x, const Vector& b) {
    Vector r = b, p = b, ap(slab_);
    double square = dot(r, r);
    if (note(square)) return;
    for (int step = 0; step < options_.steps; ++step) {
      const double start = MPI_Wtime();
      product(p, ap);
      const double alpha = square / dot(p, ap);
      add_scaled(x.own(), alpha, p.own());
      add_scaled(r.own(), -alpha, ap.own());
      const double next = dot(r, r);
      scale_add(p.own(), next / square, r.own());
      square = next;
      step_seconds_.push_back(MPI_Wtime() - start);
      if (note(square)) return;
    }
  }

  void pipelined(Vector& x, const Vector& b) {
    Vector r = b, w(slab_), q(slab_), z(slab_), s(slab_), p(slab_);
    product(r, w);
    halo_seconds_.clear();
    double before = 0, alpha = 0;
    for (int step = 0; step <= options_.steps; ++step) {
      const double start = MPI_Wtime();
      const std::array<double, 2> mine{part(r, r), part(w, r)};
      std::array<double, 2> sums{};
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Iallreduce(mine.data(), sums.data(), 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
      product(w, q);
      const double waits = MPI_Wtime();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      reduction_seconds_.push_back(MPI_Wtime() - waits);
      const auto [square, curvature] = sums;
      if (note(square) || step == options_.steps) return;
      const double beta = step == 0 ? 0 : square / before;
      alpha = step == 0 ? square / curvature : square / (curvature - beta * square / alpha);
      scale_add(z.own(), beta, q.own());
      scale_add(s.own(), beta, w.own());
      scale_add(p.own(), beta, r.own());
      add_scaled(x.own(), alpha, p.own());
      add_scaled(r.own(), -alpha, s.own());
      add_scaled(w.own(), -alpha, z.own());
      before = square;
      step_seconds_.push_back(MPI_Wtime() - start);
    }
  }

  const Options& options_;
  Slab slab_;
  Sparse matrix_;
  int rank_, size_;
  std::vector<int> counts_, firsts_;  // planes, by rank
  std::vector<double> planes_;        // sums of all planes
  std::vector<double> history_;       // norms of the residual, the first before any step
  std::vector<double> step_seconds_, halo_seconds_, reduction_seconds_;
  bool converged_ = false;
  double error_ = 0;
};

void run(const Options& options, Report& report) {
  const int p = size_of(MPI_COMM_WORLD);
  const int planes = options.weak ? options.side * p : options.side;
  if (p > planes) throw Refused(fmt::format("{} ranks are more than {} planes", p, planes));
  const Part part = part_of(planes, p, rank_of(MPI_COMM_WORLD));
  const auto side = static_cast<std::size_t>(options.side);
  const Slab slab{planes, options.side, part.first, part.count, options.stencil == 27 ? side * side : side};
  const auto most = static_cast<double>(slab.storage());
  const int vectors = 9;
  check_memory(bytes_of(slab, options.stencil) + most * 8 * vectors,
               fmt::format("a matrix of {} points in each row, side {},", options.stencil, options.side));
  if (most > std::numeric_limits<std::uint32_t>::max()) {
    throw Refused(fmt::format("{:.0f} points on a rank are more than columns are numbered for, {}", most,
                              std::numeric_limits<std::uint32_t>::max()));
  }
  Solver solver(options, slab);
  report.progress(0, 1);
  solver.solve();
  report.progress(1, 1);
  const auto form =
      std::find_if(kForms.begin(), kForms.end(), [&](const auto& one) { return one.second == options.form; })->first;
  Json row{{"side", options.side},
           {"planes", planes},
           {"stencil", options.stencil},
           {"form", form},
           {"plane_bytes", slab.plane * sizeof(double)}};
  solver.describe(&row);
  report.row(row);
}

}  // namespace
}  // namespace stretto::programs

int main(int argc, char** argv) {
  using namespace stretto::programs;
  Options options;
  return program(
      argc, argv, "cg", "Solves Poisson's equation by conjugate gradients on a sparse matrix.",
      [&](CLI::App& app) {
        app.add_option("--side", options.side, "points along each side, of a square or a cube")
            ->check(CLI::Range(2, 40000));
        app.add_flag("--weak", options.weak, "each rank has so many planes, of that side");
        app.add_option("--stencil", options.stencil, "points in a row of the matrix: 5 (a square) or 27 (a cube)")
            ->check(CLI::IsMember({5, 27}));
        app.add_option("--form", options.form, "blocking, pipelined or reproducible")
            ->transform(CLI::CheckedTransformer(kForms));
        app.add_option("--steps", options.steps, "at most")->check(CLI::Range(1, 100000000));
        app.add_option("--tolerance", options.tolerance,
                       "ends where the residual is this part of the first; 0: after all steps")
            ->check(CLI::NonNegativeNumber);
      },
      [&](Report& report) { run(options, report); });
}
