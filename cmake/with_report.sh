# with_report.sh FILE COMMAND...: runs the command, its messages into FILE; prints them if it fails, and warnings in any case.
report=$1
shift
if "$@" 2>"$report"; then
  grep -A3 -i 'warning' "$report" >&2 || true
else
  status=$?
  cat "$report" >&2
  rm -f "$report"
  exit "$status"
fi
