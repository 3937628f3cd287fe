#!/bin/sh
# The pre-commit hook: words before `--` are what is meant, those after it are files. E.g. pre-commit.sh --to-version 1.37 -- kubelet.yaml
set -eu
# pre-commit gives the arguments of the configuration first, then files: `args` ends with --.
is_file=
for word in "$@"; do
  shift
  if [ -n "$is_file" ]; then
    set -- "$@" "--from=$word"
  elif [ "$word" = -- ]; then
    is_file=yes
  else
    set -- "$@" "$word"
  fi
done
[ -n "$is_file" ] || { echo "error: args of the hook end with --, e.g. args: [--to-version, '1.37', --]" >&2; exit 2; }
exec "${KUBECTL_FEATURES:-kubectl-features}" preflight "$@"
