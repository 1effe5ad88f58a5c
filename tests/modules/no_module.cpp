// A library that is no module.
extern "C" int stretto_is_not_here() { return 0; }
