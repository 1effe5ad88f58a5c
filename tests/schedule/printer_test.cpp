#include "schedule/check/printer.hpp"

#include <gtest/gtest.h>

#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

TEST(Printer, ASchedulePrintsALineAStep) {
  const Schedule s = find(Collective::allreduce, "ring")->build({.ranks = 3, .rank = 0});
  EXPECT_EQ(text(s),
            "allreduce ring: rank 0 of 3, 3 blocks, any order\n"
            "    0  L0    copy out[2] = in[2]\n"
            "    1  L0    copy out[1] = in[1]\n"
            "    2  L0    copy out[0] = in[0]\n"
            "    3  L0    send out[2] -> 1\n"
            "    4  L0    recv_combine out[1] <- 2, incoming first\n"
            "    5  L1    send out[1] -> 1\n"
            "    6  L1    recv_combine out[0] <- 2, incoming first\n"
            "    7  L2    send out[0] -> 1\n"
            "    8  L2    recv_replace out[2] <- 2\n"
            "    9  L3    send out[2] -> 1\n"
            "   10  L3    recv_replace out[1] <- 2\n");
}

TEST(Printer, RootsRangesAndSignalsAreShown) {
  const Schedule gather = find(Collective::gather, "binomial")->build({.ranks = 8, .rank = 4, .root = 1});
  EXPECT_EQ(text(gather),
            "gather binomial: rank 4 of 8, root 1, 8 blocks, keeps order\n"
            "    0  L0    copy tmp[4] = in[4]\n"
            "    1  L0    recv_replace tmp[5] <- 5\n"
            "    2  L1    recv_replace tmp[6-7] <- 6\n"
            "    3  L2    send tmp[4-7] -> 1\n");
  const Schedule barrier = find(Collective::barrier, "dissemination")->build({.ranks = 2, .rank = 1});
  EXPECT_EQ(text(barrier),
            "barrier dissemination: rank 1 of 2, 0 blocks, keeps order\n"
            "    0  L0    send signal -> 0\n"
            "    1  L0    recv_replace signal <- 0\n");
}

TEST(Printer, ALocalCombinationShowsBothBuffers) {
  EXPECT_EQ(text(Step{.kind = Kind::combine, .dst = {Buffer::out, 1, 1}, .src = {Buffer::tmp, 1, 1}}),
            "combine out[1] += tmp[1]");
}

TEST(Printer, APictureShowsAllRanksSideBySide) {
  EXPECT_EQ(picture(build_all(*find(Collective::allreduce, "rabenseifner"), {.ranks = 3})),
            "allreduce rabenseifner: 3 ranks, 2 blocks\n"
            "level | 0         1         2\n"
            "    0 | <1+0-1    >0:0-1    .\n"
            "    1 | >2:1 <2+0 .         >0:0 <0+1\n"
            "    2 | >2:0 <2:1 .         >0:1 <0:0\n"
            "    3 | >1:0-1    <0:0-1    .\n");
  EXPECT_EQ(picture({}), "");
}

}  // namespace
}  // namespace stretto::schedule
