#!/bin/sh
# Runs `kubectl features preflight` on configuration files in CI; the templates of this folder call it.
# Reads the environment, so that no text of others becomes a command:
#   INTENTION         what is meant, e.g. "--to-version 1.37" or "--disable GATE"; words, split at spaces
#   FILES             configuration files or folders, one a line
#   SUPPRESSIONS      a list of accepted findings; empty for none
#   SUPPRESSIONS_REF  the revision that it is read from: the base of a pull request, never its head
#   FAIL_ON           error (default), warning or never
#   FORMAT            what is printed: table (default), github, markdown
#   REPORTS           the folder for preflight.xml (JUnit), preflight.sarif, preflight.md and preflight.json
# Ends as preflight does: 0, 3 findings, 4 warnings, 5 incomplete, 1 and 2 where it could not run.
set -eu
# No name of a file is a pattern.
set -f

reports=${REPORTS:-preflight-reports}
mkdir -p "$reports"
set -- preflight --fail-on="${FAIL_ON:-error}" --output="${FORMAT:-table}" \
  --report="junit=$reports/preflight.xml" \
  --report="sarif=$reports/preflight.sarif" \
  --report="markdown=$reports/preflight.md" \
  --report="json=$reports/preflight.json"
for word in ${INTENTION:?say what is meant, e.g. --to-version 1.37}; do
  set -- "$@" "$word"
done
count=0
while IFS= read -r file; do
  [ -n "$file" ] || continue
  set -- "$@" "--from=$file"
  count=$((count + 1))
done <<LIST
${FILES:-}
LIST
# Without a file it would ask the cluster that the runner happens to know.
[ "$count" -gt 0 ] || { echo "error: name configuration files in FILES, one a line" >&2; exit 2; }
if [ -n "${SUPPRESSIONS:-}" ]; then
  set -- "$@" "--suppressions=$SUPPRESSIONS"
  [ -z "${SUPPRESSIONS_REF:-}" ] || set -- "$@" "--suppressions-ref=$SUPPRESSIONS_REF"
fi
exec "${KUBECTL_FEATURES:-kubectl-features}" "$@"
