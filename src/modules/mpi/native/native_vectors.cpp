#include "modules/mpi/native/native_vectors.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace stretto::modules {

bool make_vectors(const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs, std::size_t element,
                  Vectors* v, bool always) {
  v->counts.resize(counts.size());
  v->displs.resize(counts.size());
  std::transform(counts.begin(), counts.end(), v->counts.begin(), to_int);
  const bool staged = always || !std::all_of(displs.begin(), displs.end(), fits_int);
  if (displs.empty() || staged)
    std::exclusive_scan(v->counts.begin(), v->counts.end(), v->displs.begin(), 0);
  else
    std::transform(displs.begin(), displs.end(), v->displs.begin(), to_int);
  if (!staged) return false;
  v->places = displs;
  if (displs.empty()) v->places.assign(v->displs.begin(), v->displs.end());
  v->staging.resize((static_cast<std::size_t>(v->displs.back()) + static_cast<std::size_t>(v->counts.back())) *
                    element);
  return true;
}

void move_blocks(Vectors& v, std::byte* apart, std::size_t element, bool gather) noexcept {
  std::byte* staged = v.staging.data();
  for (std::size_t r = 0; r < v.counts.size(); ++r) {
    const std::size_t bytes = static_cast<std::size_t>(v.counts[r]) * element;
    std::byte* place = apart + v.places[r] * element;
    if (bytes > 0) std::memcpy(gather ? staged : place, gather ? place : staged, bytes);
    staged += bytes;
  }
}

}  // namespace stretto::modules
