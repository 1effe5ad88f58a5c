// Communicators of one machine share a model and its answers; others have models of their own.
#include "api/creation/choosers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stretto::api {
namespace {

std::shared_ptr<select::SharedChooser> chooser_of(Choosers& all, const std::string& key, std::size_t eager_limit = 0) {
  model::Profile profile = model::built_in();
  profile.eager_limit = eager_limit;
  return all.of(key, std::move(profile), topology::Topology::regular(3, 1), "messages of " + key);
}

TEST(Choosers, TheSameMachineHasOneModel) {
  Choosers all;
  const auto first = chooser_of(all, "a", 65536);
  EXPECT_EQ(chooser_of(all, "a", 65536), first);
  EXPECT_NE(chooser_of(all, "b"), first);
  EXPECT_EQ(first->eager_limit, 65536u);
  EXPECT_EQ(first->messages, "messages of a");
  EXPECT_EQ(first->chooser.topology().ranks(), 3);
}

TEST(Choosers, TheOldestModelIsForgottenAndStaysUsable) {
  Choosers all;
  const auto first = chooser_of(all, "0");
  for (std::size_t i = 1; i <= Choosers::kMost; ++i) chooser_of(all, std::to_string(i));
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_NE(chooser_of(all, "0"), first);
  EXPECT_EQ(first->messages, "messages of 0");
}

}  // namespace
}  // namespace stretto::api
