// The table behind a choice, and the choice by size.
#pragma once

#include "../arguments.hpp"
#include "../write.hpp"

namespace stretto::app {

Json predict(const Arguments& arguments);
Json choose(const Arguments& arguments);
Json explain(const Arguments& arguments);
Json profiles(const std::string& one);  // empty: all shipped profiles

// The results as text.
std::string predict_text(const Json& result);
std::string choose_text(const Json& result);
std::string explain_text(const Json& result);
std::string profiles_text(const Json& result);

}  // namespace stretto::app
