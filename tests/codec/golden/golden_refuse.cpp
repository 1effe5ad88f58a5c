#include <array>
#include <cstring>

#include "codec/stream/format.hpp"
#include "golden.hpp"

namespace stretto::codec {
namespace {

using Words = std::vector<std::uint32_t>;

// A stream of one group, put together by hand.
Stream handmade(const Words& group, std::uint64_t count, std::uint64_t exceptions = 0, Type type = Type::f32) {
  Stream s(80 + 4 * group.size());
  auto* p = reinterpret_cast<std::uint8_t*>(s.data());
  store<std::uint64_t>(p + 64, 80);
  store<std::uint64_t>(p + 72, group.size());
  if (!group.empty()) std::memcpy(p + 80, group.data(), 4 * group.size());
  Info info;
  info.type = type;
  info.count = count;
  info.eps = is_integer(type) ? 0 : 0.5;
  info.width = 1;
  info.contributions = 1;
  info.code_bound = 1000;
  info.exceptions = exceptions;
  info.bytes = s.size();
  write_header(p, info);
  return s;
}

template <class T>
Stream changed(Stream s, std::size_t at, T v) {
  std::memcpy(s.data() + at, &v, sizeof v);
  return s;
}

}  // namespace

void add_refused(Golden* g) {
  auto& accept = g->accept;
  auto& no = g->refuse;
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;

  // Predictor 2, short base 5, block 0 of width 1, in masked nibbles.
  const Stream plain = accept["handmade_plain"] = handmade({0x53a | 0u, 0x2, 0x1, 0x1}, 40);
  no["header_short"] = Stream(plain.begin(), plain.begin() + 63);
  no["magic"] = changed(plain, 0, u8{'s'});
  no["version_3"] = changed(plain, 4, u8{3});
  no["type_0"] = changed(plain, 5, u8{0});
  no["type_7"] = changed(plain, 5, u8{7});
  no["flag_2"] = changed(plain, 6, u8{2});
  no["byte_7"] = changed(plain, 7, u8{1});
  no["count_above_2_48"] = changed(plain, 8, (u64{1} << 48) + 1);
  no["count_beyond_the_index"] = changed(plain, 8, u64{5120});
  no["eps_zero"] = changed(plain, 16, 0.0);
  no["eps_negative"] = changed(plain, 16, -1.0);
  no["eps_nan"] = changed(plain, 16, u64{0x7ff8000000000000});
  no["eps_infinite"] = changed(plain, 16, u64{0x7ff0000000000000});
  no["width_zero"] = changed(plain, 24, 0.0);
  no["width_infinite"] = changed(plain, 24, u64{0x7ff0000000000000});
  no["width_no_float32"] = changed(plain, 24, 0.1);
  no["width_beyond_float32"] = changed(plain, 24, 1e39);
  no["contributions_zero"] = changed(plain, 32, u32{0});
  no["checksum_without_flag"] = changed(plain, 36, u32{1});
  no["checksum_wrong"] = changed(plain, 6, u8{1});
  no["code_bound_above_2_63"] = changed(plain, 40, (u64{1} << 63) + 1);
  accept["handmade_code_at_the_bound"] = changed(plain, 40, u64{5});
  no["code_beyond_the_bound"] = changed(plain, 40, u64{4});
  no["length_beyond_the_end"] = changed(plain, 48, u64{plain.size() + 4});
  no["length_short"] = changed(plain, 48, u64{plain.size() - 4});
  no["length_below_the_index"] = changed(plain, 48, u64{72});
  no["exceptions_above_count"] = changed(plain, 56, u64{41});
  no["exceptions_miscounted"] = changed(plain, 56, u64{1});
  no["offset_wrong"] = changed(plain, 64, u64{84});
  no["group_length_too_small"] = changed(plain, 72, u16{3});
  no["group_length_too_large"] = changed(plain, 72, u16{5});

  const Stream integers = accept["handmade_integers"] = handmade({0x53a, 0x2, 0x1, 0x1}, 40, 0, Type::i32);
  no["integers_with_eps"] = changed(integers, 16, 0.5);
  no["integers_with_width_2"] = changed(integers, 24, 2.0);
  no["integers_verbatim"] = handmade({0x70, 1, 2}, 2, 2, Type::i32);
  no["integers_with_exceptions"] = handmade({0x80, 0x0105, 0x7fc00000}, 2, 2, Type::i32);

  no["widths_form_5"] = changed(plain, 80, u32{0x55a});
  no["widths_form_6"] = changed(plain, 80, u32{0x56a});
  no["base_not_announced"] = changed(plain, 80, u32{0x532});
  no["short_base_without_differences"] = changed(plain, 80, u32{0x538});
  no["short_base_in_a_wide_group"] = changed(plain, 80, u32{0x53e});
  no["planes_missing"] = changed(plain, 88, u32{2});
  no["planes_left_over"] = changed(plain, 88, u32{0});
  no["mask_zero"] = changed(plain, 92, u32{0});
  no["group_of_one_word_too_few_for_its_base"] = handmade({0x2}, 40);
  no["group_without_its_slope"] = handmade({0x50b}, 40);
  no["group_without_its_widths"] = handmade({0x52a}, 40);
  // Widths of all blocks, those of no width too.
  accept["handmade_nibbles"] = handmade({0x11, 0x2, 0x1, 0, 0, 0}, 40);
  accept["handmade_bytes"] = handmade({0x21, 0x2, 0x1, 0, 0, 0, 0, 0, 0, 0}, 40);
  Words bytes(1 + 32 + 1 + 1);
  bytes[0] = 0x41;
  bytes[33] = 32;
  bytes[34] = 1;
  accept["handmade_width_32"] = handmade(bytes, 40);
  bytes[0] = 0x40;
  no["width_32_unsigned"] = handmade(bytes, 40);
  bytes.insert(bytes.begin() + 1, 0);
  bytes[0] = 0x41;
  bytes[34] = 33;
  no["width_33"] = handmade(bytes, 40);
  Words wide(1 + 65 + 1 + 1);
  wide[0] = 0x45;
  wide[66] = 65;
  wide[67] = 1;
  no["width_65_wide"] = handmade(wide, 40);

  // A dense chunk at 72, and a fixed one.
  const Stream dense = accept["dense_walk_float32"], small = accept["dense_one_value_float32"];
  const auto low_words = load<u32>(reinterpret_cast<const std::uint8_t*>(dense.data()) + 72);
  no["dense_read_as_version_1"] = changed(dense, 4, u8{1});
  no["dense_chunk_elsewhere"] = changed(dense, 64, u64{76} | kDenseBit);
  no["dense_chunk_called_fixed"] = changed(dense, 64, u64{72});
  no["dense_chunk_of_unknown_bit"] = changed(dense, 72, low_words | 1u << 25);
  no["dense_low_bits_beyond_the_chunk"] = changed(dense, 72, u32{0xffffff});
  no["dense_low_bits_too_few"] = changed(dense, 72, low_words - 1);
  no["dense_low_bits_too_many"] = changed(dense, 72, low_words + 1);
  no["dense_widest_127"] = changed(dense, 76 + 4 * low_words, u8{0x7f});
  no["dense_state_below_4096"] =
      changed(changed(changed(dense, dense.size() - 64, std::array<u32, 16>{}), dense.size() - 16, u64{0}),
              dense.size() - 8, u64{0});
  no["dense_state_wrong"] = changed(dense, dense.size() - 112, u32{0x5a5a5a5a});
  Stream cut = dense;
  cut.resize(cut.size() - 4);
  no["dense_chunk_cut"] = changed(cut, 48, u64{cut.size()});
  cut.resize(80);
  no["dense_chunk_of_two_words"] = changed(cut, 48, u64{80});
  no["fixed_chunk_called_dense"] = changed(small, 64, u64{72} | kDenseBit);
  no["fixed_chunk_of_other_lengths"] = changed(small, 72, u16{9});

  // Axes at 64; extents 4, 20, 33 at 72; codes at 96.
  const Stream shaped = accept["shaped_one_exact_value_float32"], plane = accept["shaped_rows_float32"];
  u64 codes = 0, map = 0;
  std::memcpy(&codes, shaped.data() + 96 + 48, 8);
  std::memcpy(&map, shaped.data() + 96 + codes + 48, 8);
  no["shaped_of_no_axes"] = changed(shaped, 64, u8{0});
  no["shaped_of_nine_axes"] = changed(shaped, 64, u8{9});
  no["shaped_of_another_number_of_axes"] = changed(shaped, 64, u8{2});
  no["shaped_along_the_last_axis"] = changed(shaped, 65, u8{4});
  no["shaped_along_an_axis_beyond_the_last"] = changed(shaped, 65, u8{0x80});
  no["shaped_along_three_axes"] = changed(accept["shaped_exact_values_float32"], 65, u8{7});
  no["shaped_map_along_the_last_axis"] = changed(shaped, 66, u8{4});
  no["shaped_of_unknown_form"] = changed(shaped, 67, u8{3});
  no["shaped_many_exact_values_of_one"] = changed(shaped, 67, u8{0});
  no["shaped_map_of_none"] = changed(plane, 66, u8{1});
  no["shaped_value_of_none"] = changed(plane, 67, u8{1});
  no["shaped_word_68"] = changed(shaped, 68, u32{1});
  no["shaped_extent_of_zero"] = changed(shaped, 72, u64{0});
  no["shaped_extents_of_more"] = changed(shaped, 72, u64{5});
  no["shaped_extents_beyond_64_bits"] = changed(changed(shaped, 72, u64{1} << 62), 80, u64{1} << 62);
  no["shaped_codes_of_version_1"] = changed(shaped, 96 + 4, u8{1});
  no["shaped_codes_of_version_3"] = changed(shaped, 96 + 4, u8{3});
  no["shaped_codes_of_int64"] = changed(shaped, 96 + 5, u8{4});
  no["shaped_codes_of_fewer"] = changed(shaped, 96 + 8, u64{2639});
  no["shaped_codes_too_short"] = changed(shaped, 96 + 48, codes - 4);
  no["shaped_map_too_long"] = changed(shaped, 96 + codes + 48, map + 4);
  no["shaped_without_a_map"] = changed(shaped, 56, u64{0});
  no["shaped_miscounted"] = changed(shaped, 56, u64{719});
  no["shaped_map_of_other_axes"] = changed(shaped, 66, u8{static_cast<u8>(static_cast<u8>(shaped[66]) ^ 1)});
  no["shaped_beyond_its_code_bound"] = changed(plane, 40, u64{10});
  no["shaped_code_bound_above_2_31"] = changed(plane, 40, (u64{1} << 31) + 1);
  no["shaped_empty"] = changed(plane, 8, u64{0});
  no["shaped_integers_with_exceptions"] = changed(accept["shaped_wrapped_int32"], 56, u64{1});
  no["shaped_checksum"] = changed(accept["shaped_planes_checksum_float32"], 100, u8{0xff});
  Stream shorter = plane;
  shorter.resize(shorter.size() - 4);
  no["shaped_cut"] = changed(shorter, 48, u64{shorter.size()});
  shorter.resize(76);
  no["shaped_header_alone"] = changed(shorter, 48, u64{76});

  accept["handmade_verbatim"] = handmade({0x70, 0x3f800000, 0x7f800001}, 2, 2);
  no["verbatim_with_other_bits"] = handmade({0x71, 0x3f800000, 0x7f800001}, 2, 2);
  no["verbatim_short"] = handmade({0x70, 0x3f800000}, 2, 2);
  no["verbatim_long"] = handmade({0x70, 0x3f800000, 0, 0}, 2, 2);

  // 40 values; exceptions at places 3 and 4 in runs, with kind, n, map and values.
  const Stream runs = accept["handmade_runs"] = handmade({0x80, 0x02030204, 0x3f800000, 0x40000000}, 40, 2);
  no["kind_16"] = changed(runs, 84, u8{0x14});
  no["quiet_nan_not_uniform"] = handmade({0x80, 0x0203020c}, 40, 2);
  no["quiet_nan_of_sums"] = handmade({0x80, 0x0203020f}, 40, 2);
  no["runs_none"] = handmade({0x80, 0x00000005, 0x3f800000}, 40);
  no["runs_without_end"] = handmade({0x80, 0xff000204, 0x3f800000, 0x40000000}, 700, 2);
  no["runs_beyond_the_group"] = changed(runs, 86, u8{38});
  no["runs_up_to_the_end"] = handmade({0x80, 0x26020205, 0x3f800000}, 40, 38);
  no["runs_one_empty"] = handmade({0x80, 0x00030205, 0x3f800000}, 40, 37);
  no["runs_padded_with_ones"] = handmade({0x80, 0x01030105, 0x3f800000}, 40, 37);
  no["exceptions_without_values"] = handmade({0x80, 0x02030204, 0x3f800000}, 40, 2);
  no["exceptions_with_values_left_over"] = handmade({0x80, 0x02030204, 0x3f800000, 0x40000000, 0}, 40, 2);
  no["exceptions_announced_only"] = handmade({0x80}, 40);

  const Stream lanes = accept["handmade_lanes"] = handmade({0x80, 0x1, 0x3, 0x2, 0x5, 0x3f800000}, 40, 10);
  no["lanes_with_runs"] = changed(lanes, 85, u8{1});
  no["lanes_padded_with_ones"] = changed(lanes, 86, u8{1});
  no["lanes_none"] = handmade({0x80, 0x1, 0x0, 0x0, 0x3f800000}, 40);
  no["lanes_all_without_some"] = handmade({0x80, 0x1, 0x1, 0x2, 0x5, 0x3f800000}, 40, 2);
  no["lanes_of_a_block_none"] = changed(lanes, 96, u32{0});
  no["lanes_beyond_the_group"] = handmade({0x80, 0x1, 0x2, 0x0, 0x100, 0x3f800000}, 40, 1);
  no["lanes_in_a_block_beyond_the_group"] = handmade({0x80, 0x1, 0x4, 0x4, 0x3f800000}, 40, 0);
  no["lanes_cut"] = handmade({0x80, 0x1, 0x3, 0x2}, 40, 10);

  const Stream sum = accept["handmade_sum"] = handmade({0x80, 0x02030207, 0x10203, 1, 0, 2}, 40, 2);
  no["sum_with_unknown_flag"] = changed(sum, 88, u32{0x100203});
  no["sum_too_long"] = changed(sum, 88, u32{0x10903});
  no["sum_with_first_word_zero"] = changed(sum, 92, u32{0});
  no["sum_with_last_word_zero"] = changed(sum, 100, u32{0});
  no["sum_cut"] = changed(sum, 88, u32{0x10204});
  accept["handmade_sum_of_nothing"] = handmade({0x80, 0x02030207, 0}, 40, 2);
  no["sum_of_nothing_negative"] = handmade({0x80, 0x02030207, 0x10000}, 40, 2);
  no["sum_of_nothing_with_a_place"] = handmade({0x80, 0x02030207, 0x100}, 40, 2);
}

}  // namespace stretto::codec
