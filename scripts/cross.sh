# Sourced by setup: what a build for another machine needs, ARCH=aarch64. The packages of that machine are unpacked into a directory. Installed
# beside this machine's own, they would upgrade those of the system, since versions of a library must be equal.
sysroot="$ROOT/.venv/sysroot-$ARCH"

# Lines `package program`.
cross_programs() {
  echo "g++-aarch64-linux-gnu aarch64-linux-gnu-g++"
  echo "qemu-user qemu-aarch64"
}

sysroot_packages() { library_headers test | cut -d' ' -f1 | sort | paste -sd ' '; }

has_sysroot() { [ "$(cat "$sysroot/unpacked" 2>/dev/null)" = "$(sysroot_packages)" ]; }

# Takes the packages, and all that they depend on, from the archive that this system's apt uses. Needs no rights.
make_sysroot() {
  has_sysroot && return
  local state log="$ROOT/build/setup/sysroot.log" archive packages
  packages=$(sysroot_packages)
  say "packages of arm64 in .venv/sysroot-$ARCH"
  rm -rf "$sysroot"
  state="$sysroot/apt"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  : >"$state/status"
  local options=(-q -o "Dir::State::status=$state/status" -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o Debug::NoLocking=1
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "APT::Sandbox::User=$(id -un)")
  { apt-get "${options[@]}" update && apt-get "${options[@]}" install -y --download-only --no-install-recommends $packages; } >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    die "the archives of /etc/apt have no $packages for arm64 (Debian's have)"
  }
  for archive in "$state"/cache/archives/*.deb; do dpkg-deb -x "$archive" "$sysroot"; done
  rm -rf "$state"
  echo "$packages" >"$sysroot/unpacked"
}
