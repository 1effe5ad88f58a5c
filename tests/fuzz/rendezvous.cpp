// Property: any bytes in a store are a hello or a verdict, or refused. Accepted bytes are reproduced by writing, and
// take no more memory than they could describe.
#include "carrier/rendezvous_text.hpp"
#include "require.hpp"

using namespace stretto;
using namespace stretto::carrier;

namespace {

template <class T>
void read(std::string_view bytes) {
  T value, again;
  if (!T::read(bytes, &value)) return;
  const std::string text = value.text();
  require(T::read(text, &again), "what was written is read");
  require(again.text() == text, "what is read is written alike");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read<Hello>(bytes);
  read<SessionReply>(bytes);
  SessionReply reply;
  if (SessionReply::read(bytes, &reply)) {
    require(reply.secret.size() == kSecretDigits, "a secret has all its digits");
    require(reply.hellos.size() <= size, "no more ranks than bytes");
  }
  return 0;
}
