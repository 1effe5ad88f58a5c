# Sourced by scripts/install: installs files into the directory PREFIX, and removes them again. The user's own files there never change.
# The file $installed lists the installed files: one path in PREFIX per line; directories that were created end with /.
venv=libexec/stretto/python
command=bin/stretto
installed=libexec/stretto/installed.txt

# refuse_foreign <PATHS: fails with the name of the first existing path that no `make install` created.
refuse_foreign() {
  local path
  while read -r path; do
    { [ ! -e "$PREFIX/$path" ] && [ ! -L "$PREFIX/$path" ]; } || grep -qxF -- "$path" "$PREFIX/$installed" 2>/dev/null ||
      die "$PREFIX/$path is there already, and make install did not put it there: move it away, or choose another PREFIX"
  done
}

# check_prefix: refuses invalid prefixes before anything is built.
check_prefix() {
  [ ! -e "$PREFIX" ] || [ -d "$PREFIX" ] || die "PREFIX=$PREFIX is no directory"
  [ -f "$PREFIX/$installed" ] || [ ! -f "$PREFIX/pyvenv.cfg" ] || [ ! -f "$PREFIX/lib/libstretto.so" ] ||
    die "PREFIX=$PREFIX holds an installation by an older version, a Python environment as a whole: delete it, or choose another PREFIX"
  refuse_foreign < <(printf '%s\n' "$command" "$venv")
}

# claim STAGE: lists the files of STAGE and our own, unless one of them is the user's. Before they are copied: an installation that was cut off can be
# repeated, or taken away.
claim() {
  local path new
  new=$(cd "$1" && find . ! -type d -printf '%P\n' && printf '%s\n' "$command" "$venv")
  refuse_foreign <<<"$new"
  new+=$(cd "$1" && find . -mindepth 1 -type d -printf '%P\n' | while read -r path; do [ -d "$PREFIX/$path" ] || printf '\n%s/' "$path"; done)
  mkdir -p "$PREFIX/$(dirname "$installed")"
  { cat "$PREFIX/$installed" 2>/dev/null || true; } | LC_ALL=C sort -u - <(printf '%s\n' "$new") >"$PREFIX/$installed.new"
  mv "$PREFIX/$installed.new" "$PREFIX/$installed"
}

# remove_installed: removes the listed files, and their directories if empty.
remove_installed() {
  local path list="$PREFIX/$installed" paths
  [ -f "$list" ] || die "PREFIX=$PREFIX has no list of what make install put there ($installed)"
  ! grep -qE '^/|(^|/)\.\.(/|$)' "$list" || die "$list names what is not in PREFIX=$PREFIX"
  mapfile -t paths < <(LC_ALL=C sort -r "$list")  # what lies in a directory before the directory
  rm -rf "${PREFIX:?}/$venv" "$list"
  for path in "${paths[@]}"; do
    case $path in
      */) [ ! -d "$PREFIX/$path" ] || rmdir --ignore-fail-on-non-empty "$PREFIX/$path" ;;
      "$venv") ;;
      *) rm -f "$PREFIX/$path" ;;
    esac
  done
}
