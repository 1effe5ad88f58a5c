#include "carrier/rendezvous_text.hpp"

#include <algorithm>
#include <charconv>

namespace stretto::carrier {
namespace {

constexpr std::string_view kMagic = "stretto rendezvous 1";
constexpr std::size_t kShortest = 3;

bool is_status(long number) noexcept { return number >= 0 && number <= static_cast<long>(Status::internal); }

bool is_secret(std::string_view text) noexcept {
  return text.size() == kSecretDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

void put(std::string* to, std::string_view text) {
  to->append(fmt::format("{}:", text.size()));
  to->append(text);
  to->push_back(',');
}

void put(std::string* to, long number) { put(to, fmt::format("{}", number)); }

bool take(std::string_view* from, std::string* text) {
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(from->data(), from->data() + from->size(), n);
  const auto head = static_cast<std::size_t>(end - from->data()) + 1;
  if (error != std::errc{} || head >= from->size() || *end != ':' || n >= from->size() - head ||
      (*from)[head + n] != ',')
    return false;
  *text = from->substr(head, n);
  from->remove_prefix(head + n + 1);
  return true;
}

bool take(std::string_view* from, long* number) {
  std::string text;
  if (!take(from, &text)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string Hello::text() const {
  std::string t;
  put(&t, kMagic);
  put(&t, version);
  put(&t, nonce);
  put(&t, failure);
  put(&t, rank);
  put(&t, size);
  put(&t, member.host);
  put(&t, member.pid);
  put(&t, member.address);
  return t;
}

bool Hello::read(std::string_view from, Hello* h) {
  std::string first;
  return take(&from, &first) && first == kMagic && take(&from, &h->version) && take(&from, &h->nonce) &&
         take(&from, &h->failure) && take(&from, &h->rank) && take(&from, &h->size) && take(&from, &h->member.host) &&
         take(&from, &h->member.pid) && take(&from, &h->member.address);
}

std::string SessionReply::text() const {
  std::string t;
  put(&t, kMagic);
  put(&t, id);
  put(&t, secret);
  put(&t, static_cast<long>(status));
  put(&t, why);
  put(&t, static_cast<long>(hellos.size()));
  for (const Hello& h : hellos) put(&t, h.nonce.empty() ? std::string() : h.text());
  return t;
}

bool SessionReply::read(std::string_view from, SessionReply* v) {
  std::string first, one;
  long n = 0, number = 0;
  if (!take(&from, &first) || first != kMagic || !take(&from, &v->id) || !take(&from, &v->secret) ||
      !is_secret(v->secret) || !take(&from, &number) || !is_status(number) || !take(&from, &v->why) || !take(&from, &n))
    return false;
  if (n < 0 || static_cast<std::size_t>(n) > from.size() / kShortest) return false;
  v->status = static_cast<Status>(number);
  v->hellos.assign(static_cast<std::size_t>(n), {});
  return std::all_of(v->hellos.begin(), v->hellos.end(),
                     [&](Hello& h) { return take(&from, &one) && (one.empty() || Hello::read(one, &h)); });
}

}  // namespace stretto::carrier
