#!/bin/sh
# Make the virtual environment and install usmp into it: install.sh PYTHON VENV EXTRA.
#
# EXTRA is what usmp is wanted for, one of the extras of pyproject.toml: demo, lint or test.
#
# A Debian or Ubuntu system may have python3 without its venv module, and a C compiler without a
# C++ compiler. What lacks is installed if we may; otherwise we say how.
set -eu

python=$1
venv=$2
extra=$3

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

# pip install, told as it goes: what is downloaded, and which file of C++ is compiled.
pip_install() {
  log=$(mktemp)
  if {
    "$venv/bin/python" -m pip install --verbose --progress-bar off --disable-pip-version-check \
      "$@" 2>&1 || echo "install.sh: pip failed"
  } | tee "$log" | awk '
    /^ *Downloading .*\.(whl|tar\.gz)/ {
      sub(/^ *Downloading ([^ ]*\/)?/, ""); print "  " $0; fflush()
    }
    /^ *\[[0-9]+\/[0-9]+\]/ {
      file = $NF; sub(/\.o$/, "", file); sub(/.*\//, "", file); print "  " $1 " " file; fflush()
    }
    /^install.sh: pip failed$/ { failed = 1 }
    END { exit failed }
  '; then
    rm -f "$log"
  else
    tail -n 30 "$log" >&2
    rm -f "$log"
    exit 1
  fi
}

"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"

if [ "$extra" = test ]; then
  # On Linux, PyPI has PyTorch with five gigabytes for GPUs. Where the index of PyTorch itself
  # cannot be reached, that is what the next step installs.
  echo "installing PyTorch for the tests ..."
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --timeout 15 --retries 0 \
    --no-deps --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 >/dev/null 2>&1 || true
fi

echo "installing Apache TVM and what else is needed into $venv ..."
# Before usmp itself: its build finds the libraries of TVM in the environment that it is made for.
pip_install "apache-tvm==0.27.*" "apache-tvm-ffi==0.1.14.post1" "scikit-build-core>=0.11" cmake ninja
# What this checkout installed when its distribution had that name.
if "$venv/bin/python" -m pip show --quiet usmp 2>/dev/null; then
  "$venv/bin/python" -m pip uninstall --quiet --yes usmp
fi
echo "building usmp, and installing what $extra needs ..."
pip_install --no-build-isolation -e ".[$extra]"
