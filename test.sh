#!/usr/bin/env bash
# One command that sets everything up in a new environment and passes the tests.
#   ./test.sh             python3, an environment that is thrown away
#   PYTHON=python3.13 ./test.sh -k passes     another interpreter, arguments for pytest
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
env=$(mktemp -d "${TMPDIR:-/tmp}/trtc-test-XXXXXX")
trap 'rm -rf "$env"' EXIT
"$python" -m venv "$env/venv"
"$env/venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".[rtx,dev]"
export PATH="$env/venv/bin:$PATH"
ruff check .
ruff format --check .
pyright
exec_status=0
python -m pytest -n auto "$@" || exec_status=$?
exit "$exec_status"
