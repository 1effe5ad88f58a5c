#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "codec/group_io.hpp"
#include "codec/shape/view.hpp"
#include "golden.hpp"

namespace stretto::codec {
namespace {

const std::filesystem::path kFolder = STRETTO_GOLDEN_DIR, kFormat = STRETTO_FORMAT_TEXT;

Stream content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Stream s(text.size());
  if (!s.empty()) std::memcpy(s.data(), text.data(), s.size());
  return s;
}

std::map<std::string, Stream> stored(const char* folder) {
  std::map<std::string, Stream> all;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder / folder))
    if (entry.path().extension() == ".str") all[entry.path().stem().string()] = content(entry.path());
  return all;
}

TEST(Golden, AcceptedStreamsDecodeToStoredBitsOnAllInstructionSets) {
  const auto all = stored("accept");
  ASSERT_GT(all.size(), 80u);
  for (const auto& [name, s] : all) {
    SCOPED_TRACE(name);
    ASSERT_EQ(validate(s), Status::ok) << message();
    const Info info = info_of(s);
    Stream wanted(size_of(info.type) * info.count);
    if (const auto file = kFolder / "accept" / (name + ".bin"); std::filesystem::exists(file)) wanted = content(file);
    for (const Isa isa : isas()) {
      Stream y(size_of(info.type) * info.count);
      ASSERT_EQ(decompress(s, y.data(), info.count, with(isa), divisor_of(name)), Status::ok) << message();
      ASSERT_TRUE(y == wanted) << codec::name(isa);
    }
  }
}

TEST(Golden, RefusedStreamsAreCorrupt) {
  const auto all = stored("refuse");
  ASSERT_GT(all.size(), 60u);
  for (const auto& [name, s] : all) {
    ASSERT_EQ(validate(s), Status::corrupt_stream) << name;
    ASSERT_NE(std::string(message()), "") << name;
    Info info;
    if (inspect(s, &info) != Status::ok || info.count > 100000) continue;
    for (const Isa isa : isas()) {
      Stream y(size_of(info.type) * info.count);
      (void)decompress(s, y.data(), info.count, with(isa));
    }
  }
}

TEST(Golden, TheFormatIsFrozen) {
  const Golden g = golden();
  EXPECT_TRUE(g.accept == stored("accept"));
  EXPECT_TRUE(g.refuse == stored("refuse"));
  for (const auto& [name, s] : stored("accept")) EXPECT_TRUE(g.accept.contains(name) && g.accept.at(name) == s) << name;
}

TEST(Golden, StreamsCoverEveryPartOfTheFormat) {
  std::set<std::string> seen;
  for (const auto& [name, s] : stored("accept")) {
    if (shaped::is_shaped(s)) {
      shaped::View view;
      ASSERT_EQ(shaped::open(s, &view), Status::ok) << name;
      seen.insert("shaped, differences of " + std::to_string(std::popcount(view.code_axes)));
      if (view.info.exceptions) seen.insert(view.one_value ? "shaped, one exact value" : "shaped, exact values");
      continue;
    }
    StreamView view;
    ASSERT_EQ(open_stream(s, &view, true), Status::ok) << name;
    seen.insert(std::string("type ") + codec::name(view.info.type));
    if (view.info.checksum) seen.insert("checksum");
    if (view.layout.chunks > 1) seen.insert("chunks");
    GroupSource source(view, *find_kernels(Isa::reference), 0);
    for (std::uint64_t k = 0; k < view.layout.groups; ++k) {
      GroupView group;
      if (k % kChunk == 0 && view.layout.coding == Coding::dense)
        seen.insert(view.dense(k / kChunk) ? "dense chunk" : "fixed chunk");
      ASSERT_EQ(source.read(k), Status::ok) << name;
      ASSERT_TRUE(source.view(&group)) << name;
      if (source.words() == 0) {
        seen.insert("zero group");
        continue;
      }
      const auto* p = source.data();
      const auto word = load<std::uint32_t>(p);
      seen.insert("form " + std::to_string(word >> 4 & 7));
      if (group.verbatim) continue;
      seen.insert("predictor " + std::to_string(word & 3) + (group.wide ? " wide" : ""));
      if ((word & 3) >= 2 && !group.wide) seen.insert(word & kShortBaseBit ? "short base" : "long base");
      if (!group.exceptions) continue;
      const std::size_t kind = 4 + ((word & 3) >= 2 && !(word & kShortBaseBit) ? (group.wide ? 8 : 4) : 0) +
                               ((word & 3) == 3 ? (group.wide ? 8 : 4) : 0);
      seen.insert("kind " + std::to_string(p[kind]));
    }
  }
  for (const char* part : {"type float32",
                           "type float64",
                           "type int32",
                           "type int64",
                           "type float16",
                           "type bfloat16",
                           "checksum",
                           "chunks",
                           "zero group",
                           "form 0",
                           "form 1",
                           "form 2",
                           "form 3",
                           "form 4",
                           "form 7",
                           "predictor 0",
                           "predictor 1",
                           "predictor 2",
                           "predictor 3",
                           "predictor 1 wide",
                           "predictor 2 wide",
                           "short base",
                           "long base",
                           "kind 0",
                           "kind 1",
                           "kind 2",
                           "kind 4",
                           "kind 5",
                           "kind 6",
                           "kind 7",
                           "kind 13",
                           "dense chunk",
                           "fixed chunk",
                           "shaped, differences of 1",
                           "shaped, differences of 2",
                           "shaped, one exact value",
                           "shaped, exact values"})
    EXPECT_TRUE(seen.contains(part)) << part;
}

// The hex of docs/format.md's last section: in a fenced block, an offset, bytes, two spaces or more, and a remark on
// each line.
TEST(Golden, TheWorkedExampleOfTheTextIsWhatIsWritten) {
  std::ifstream in(kFormat);
  std::string line;
  while (std::getline(in, line) && line.find("A worked example") == std::string::npos) {
  }
  ASSERT_TRUE(in) << "no worked example in " << kFormat;
  Stream shown;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line.starts_with("```")) {
      if (inside) break;
      inside = true;
      continue;
    }
    if (!inside) continue;
    std::istringstream bytes(line.substr(0, line.find("  ", 4)));
    std::string offset, byte;
    bytes >> offset;
    EXPECT_EQ(std::stoul(offset), shown.size()) << line;
    while (bytes >> byte) shown.push_back(static_cast<std::byte>(std::stoul(byte, nullptr, 16)));
  }
  const std::vector<float> x(std::begin(kExample), std::end(kExample));
  EXPECT_TRUE(shown == compressed(x, kExampleEps, with(Isa::reference)));
}

}  // namespace
}  // namespace stretto::codec
