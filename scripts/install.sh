#!/bin/sh
# Make the virtual environment and install usmp into it: install.sh PYTHON VENV.
#
# A Debian or Ubuntu system may have python3 without its venv module, and a C compiler without a
# C++ compiler. What lacks is installed if we may; otherwise we say how.
set -eu

python=$1
venv=$2

missing=""
command -v "$python" >/dev/null 2>&1 || missing="$missing python3"
"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || missing="$missing g++"

if [ -n "$missing" ]; then
  become=""
  if [ "$(id -u)" != 0 ]; then
    become="sudo -n"
  fi
  echo "installing$missing with apt-get ..."
  log=$(mktemp)
  packages="$become apt-get install -y --no-install-recommends$missing"
  if ! { $become apt-get update && $packages; } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    echo "usmp needs packages that could not be installed; try: apt-get install$missing" >&2
    exit 1
  fi
  rm -f "$log"
fi

"$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))' || {
  echo "usmp needs Python 3.10 to 3.13; $python is $("$python" --version). Try: make PYTHON=python3.12" >&2
  exit 1
}

pip() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
echo "installing Apache TVM and the tools into $venv ..."
# Before usmp itself: its build finds the libraries of TVM in the environment that it is made for.
pip "apache-tvm==0.27.*" "apache-tvm-ffi==0.1.14.post1" "scikit-build-core>=0.11" cmake ninja
echo "building usmp ..."
pip --no-build-isolation -e '.[test,lint]'
