// Property: arbitrary bytes as a stream yield an error or values, and nothing outside the buffers is accessed. Streams
// that validate() accepts decode, equally on every instruction set.
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  const Stream s = blob.bytes(size);
  Info info;
  const bool readable = inspect(s, &info) == Status::ok, valid = validate(s) == Status::ok;
  require(readable || !valid, "what is no header is not valid");
  if (!readable || info.count > 140000) return 0;
  const std::size_t value = size_of(info.type);
  for (const std::uint32_t divisor : {1u, 3u}) {
    Stream y(info.count * value);
    const Status wanted = decompress(s, y.data(), info.count, with(Isa::reference), divisor);
    require(!valid || wanted == Status::ok || wanted == Status::overflow, "what validate accepts decodes");
    for (const Isa isa : fast_isas()) {
      Stream z(info.count * value);
      require(decompress(s, z.data(), info.count, in_parts(isa), divisor) == wanted,
              "the same status on every instruction set");
      require(wanted != Status::ok || y == z, "the same values on every instruction set");
    }
    const std::uint64_t first = info.count / 3;
    const auto n = static_cast<std::size_t>(info.count / 2);
    Stream part(n * value);
    const Status sliced = decompress_slice(s, first, n, part.data(), {}, divisor);
    require(wanted != Status::ok || sliced == Status::ok, "a part of what decodes does");
    require(wanted != Status::ok || n == 0 || std::memcmp(part.data(), y.data() + first * value, n * value) == 0,
            "a part decodes to that part");
  }
  return 0;
}
