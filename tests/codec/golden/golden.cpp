#include "golden.hpp"

namespace stretto::codec {

void add_accepted(std::map<std::string, Stream>* all);  // golden_accept.cpp
void add_refused(Golden* g);                            // golden_refuse.cpp

Golden golden() {
  Golden g;
  add_accepted(&g.accept);
  add_refused(&g);
  return g;
}

std::uint32_t divisor_of(const std::string& name) {
  const auto at = name.find(".mean");
  return at == std::string::npos ? 1 : static_cast<std::uint32_t>(std::stoul(name.substr(at + 5)));
}

Stream golden_values(const std::string& name, const Stream& s) {
  const Info info = info_of(s);
  Stream y(size_of(info.type) * info.count);
  EXPECT_EQ(decompress(s, y.data(), info.count, with(Isa::reference), divisor_of(name)), Status::ok)
      << name << ": " << message();
  return y;
}

}  // namespace stretto::codec
