#include "model/walk/forms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stretto::model {

using schedule::Collective;
using schedule::Kind;

Extents::Extents(double bytes, std::int32_t blocks, double grain)
    : even_(blocks > 0 ? bytes / blocks : 0), grain_(grain), bytes_(bytes) {
  if (grain <= 0) return;
  const double units = std::ceil(bytes / grain), parts = std::max(blocks, 1);
  each_ = std::floor(units / parts);
  rest_ = units - each_ * parts;
  last_ = each_ > 0 ? parts - 1 : rest_ - 1;
}

// As engine::first_of.
double Extents::of(std::int32_t block) const noexcept {
  if (grain_ <= 0) return even_;
  const auto first = [&](std::int32_t b) {
    return std::min(bytes_, (each_ * b + std::min<double>(b, rest_)) * grain_);
  };
  return first(block + 1) - first(block);
}

// Blocks with an extra grain, without, and the last, which may end within a grain.
Extent Extents::of(std::int32_t first, std::int32_t count, const Cut& cut) const noexcept {
  Extent all;
  const auto add = [&](double blocks, double bytes) {
    if (blocks <= 0 || bytes <= 0) return;
    all.bytes += blocks * bytes;
    all.blocks += blocks;
    all.pieces += blocks * cut.pieces(bytes);
  };
  if (grain_ <= 0) {
    add(count, even_);
    return all;
  }
  const double end = std::min<double>(first + count, last_),
               longer = std::clamp<double>(rest_, first, std::max<double>(first, end));
  add(longer - first, (each_ + 1) * grain_);
  add(end - longer, each_ * grain_);
  if (first <= last_ && last_ < first + count) add(1, of(static_cast<std::int32_t>(last_)));
  return all;
}

double Cut::pieces(double bytes) const noexcept {
  return segment <= 0 || bytes <= segment ? 1 : std::ceil(bytes / segment);
}

Forms::Forms(const Programs& programs, const Program& program, const System& system, const Machine& machine,
             const Extents& extents, const Cut& cut)
    : program_(program),
      system_(system),
      machine_(machine),
      cut_(cut),
      from_streams_(system.agree && system.compression != Compression::raw && !system.raw_inside &&
                    system.raw_below <= 0 &&
                    (programs.collective == Collective::allreduce || programs.collective == Collective::allgather)),
      forms_(program.slots.size()),
      extents_(program.slots.size()),
      lengths_(program.acts.size()) {
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    forms_[i].raw = program.slots[i].held;
    forms_[i].contributions = program.slots[i].held ? 1 : 0;
    extents_[i] = extents.of(program.slots[i].block, program.slots[i].blocks, cut);
  }
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    const Act& act = program.acts[i];
    const std::int32_t first = act.kind == Kind::send ? act.src : act.dst;
    for (std::int32_t s = 0; s < act.slots; ++s) lengths_[i].bytes += extent(first + s).bytes;
    lengths_[i].pieces = cut_.pieces(lengths_[i].bytes);
  }
}

bool Forms::raw_travels(const Act& act) const noexcept {
  return system_.compression == Compression::raw ||
         (system_.raw_inside && act.distance != topology::Distance::network) || bytes(act) < system_.raw_below;
}

bool Forms::keeps_buffer(const Act& act) const noexcept {
  if (act.blocks == 0 || !raw_travels(act)) return false;
  return program_.slots[static_cast<std::size_t>(act.src)].buffer != schedule::Buffer::in;
}

double Forms::to_stream(Form& f, const Extent& n) const {
  if (f.stream) return 0;
  f.stream = true;
  return codec_cost(machine_.compress, n);
}

double Forms::to_raw(Form& f, const Extent& n) const {
  if (f.raw) return 0;
  f.raw = f.decoded = f.home = true;
  return codec_cost(machine_.decompress, n);
}

double Forms::up_front() {
  if (!system_.up_front) return 0;
  double work = 0;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    if (!program_.slots[i].held) continue;
    const Extent& n = extent(static_cast<std::int32_t>(i));
    if (n.bytes <= 0) continue;
    if (system_.combining == Combining::quantised) {
      forms_[i].codes = true;
      work += cost(machine_.quantise, n);
    } else {
      work += to_stream(forms_[i], n);
    }
  }
  return work;
}

double Forms::pack(const Act& act, Parcel* parcel) {
  *parcel = {};
  double work = 0;
  for (std::int32_t i = 0; i < act.slots; ++i) {
    Form& f = forms_[static_cast<std::size_t>(act.src + i)];
    const Extent& n = extent(act.src + i);
    if (n.bytes <= 0) continue;
    parcel->contributions = std::max(parcel->contributions, f.contributions);
    if (raw_travels(act)) {
      work += to_raw(f, n);
      parcel->wire += n.bytes;
    } else {
      work += system_.compression == Compression::every_hop ? codec_cost(machine_.compress, n) : to_stream(f, n);
      parcel->wire += n.bytes / machine_.ratio_of(f.contributions);
    }
  }
  return work;
}

double Forms::combine_forms(Form& dst, const Form& src, const Extent& n) {
  double work = 0;
  const double contributions = dst.contributions + src.contributions;
  const bool raw_only = dst.raw && src.raw && !dst.stream && !src.stream;
  if (raw_only || system_.combining == Combining::raw) {
    Form other = src;
    work = to_raw(dst, n) + to_raw(other, n) + n.bytes * machine_.combine.byte;
    sums_raw_ = true;
    dst = {};
    dst.raw = dst.home = true;
    dst.contributions = contributions;
    return work;
  }
  const int streams = (dst.stream ? 1 : 0) + (src.stream ? 1 : 0);
  const bool has_codes = dst.stream ? src.codes : dst.codes;
  switch (system_.combining) {
    case Combining::raw: break;
    case Combining::streams:
      work = (2 - streams) * codec_cost(machine_.compress, n) + codec_cost(machine_.add, n);
      break;
    case Combining::quantised:
      if (streams == 2)
        work = codec_cost(machine_.add, n);
      else
        work = (has_codes ? 0 : cost(machine_.quantise, n)) + codec_cost(machine_.add_codes, n);
      break;
    case Combining::fused: work = codec_cost(streams == 2 ? machine_.add : machine_.fused, n); break;
  }
  dst = {};
  dst.stream = true;
  dst.contributions = contributions;
  return work;
}

double Forms::raw_sum_calls(const Act& act) {
  return std::exchange(sums_raw_, false) ? pieces(act) * machine_.combine.call : 0;
}

double Forms::take(const Act& act, double contributions) {
  double work = 0;
  for (std::int32_t i = 0; i < act.slots; ++i) {
    Form& f = forms_[static_cast<std::size_t>(act.dst + i)];
    const Extent& n = extent(act.dst + i);
    if (n.bytes <= 0) continue;
    Form arrived;
    arrived.contributions = contributions;
    if (raw_travels(act)) {
      arrived.raw = arrived.home = true;
    } else if (system_.compression == Compression::every_hop) {
      arrived.raw = arrived.decoded = arrived.home = true;
      work += codec_cost(machine_.decompress, n);
    } else {
      arrived.stream = true;
    }
    if (act.kind == Kind::recv_combine)
      work += combine_forms(f, arrived, n);
    else
      f = arrived;
  }
  return work + raw_sum_calls(act);
}

double Forms::local(const Act& act) {
  double work = 0;
  for (std::int32_t i = 0; i < act.slots; ++i) {
    Form& dst = forms_[static_cast<std::size_t>(act.dst + i)];
    const Form& src = forms_[static_cast<std::size_t>(act.src + i)];
    const Extent& n = extent(act.dst + i);
    if (n.bytes <= 0) continue;
    if (act.kind == Kind::combine) {
      work += combine_forms(dst, src, n);
    } else {
      dst = src;
      dst.home = false;
    }
  }
  return work + raw_sum_calls(act);
}

double Forms::deliver(std::int32_t slot) {
  Form& f = forms_[static_cast<std::size_t>(slot)];
  const Extent& n = extent(slot);
  if (n.bytes <= 0) return 0;
  double work = 0;
  if (f.stream || (from_streams_ && !f.decoded)) {
    if (f.raw && !from_streams_) return f.home ? 0 : cost(machine_.copy, n);
    if (f.decoded) return 0;
    work = to_stream(f, n) + codec_cost(machine_.decompress, n) + system_.sums_after * codec_cost(machine_.add, n);
    f.raw = f.decoded = f.home = true;
    return work;
  }
  return f.home ? 0 : cost(machine_.copy, n);
}

}  // namespace stretto::model
