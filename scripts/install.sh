#!/bin/sh
# Make the virtual environment and install usmp into it: install.sh PYTHON VENV EXTRA.
#
# EXTRA is the purpose of the install, an extra in pyproject.toml: demo, docs, lint or test.
#
# Debian and Ubuntu may have python3 without its venv module, and a C compiler without a C++ compiler.
# This script changes nothing outside of VENV: it prints the command that installs what is missing.
set -eu

python=$1
venv=$2
extra=$3

# need DEBIAN FEDORA MACOS: record a missing package by its names on these systems.
debian="" fedora="" macos=""
need() {
  debian="$debian $1" fedora="$fedora $2" macos="$macos $3"
}
command -v "$python" >/dev/null 2>&1 || need python3 python3 python
[ -n "$debian" ] || "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || need python3-venv python3 python
command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || need g++ gcc-c++ gcc
command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || need gcc gcc gcc

if [ -n "$debian" ]; then
  if command -v apt-get >/dev/null 2>&1; then
    command="apt-get install --no-install-recommends$debian"
  elif command -v dnf >/dev/null 2>&1; then
    command="dnf install$fedora"
  elif command -v brew >/dev/null 2>&1; then
    command="brew install$macos"
  else
    command="the package manager of this system"
  fi
  case $command in
    apt-get* | dnf*) [ "$(id -u)" = 0 ] || command="sudo $command" ;;
  esac
  printf 'usmp needs system packages that are missing:%s. Install them, then run make again:\n\n    %s\n\n' \
    "$debian" "$command" >&2
  exit 1
fi

"$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))' || {
  echo "usmp needs Python 3.10 to 3.13; $python is $("$python" --version). Try: make PYTHON=python3.12" >&2
  exit 1
}

# Print the downloads and the compiled C++ files among the lines of pip and ninja. Not with awk,
# because awk may read 4 kB before it processes the first line.
show_progress() {
  failed=0
  while IFS= read -r line; do
    line=${line#"${line%%[! ]*}"}
    case $line in
      "Downloading "*.whl" "* | "Downloading "*.tar.gz" "*)
        line=${line#Downloading }
        echo "  ${line##*/}"
        ;;
      "["[0-9]*/[0-9]*"] "*)
        file=${line##*[ /]}
        echo "  ${line%% *} ${file%.o}"
        ;;
      "install.sh: pip failed") failed=1 ;;
    esac
  done
  return $failed
}

# Show the progress of pip, and its whole output only if it fails. Nothing is compiled in advance,
# because that would take a minute and most modules are never imported.
pip_install() {
  log=$(mktemp)
  if {
    "$venv/bin/python" -m pip install --no-compile --verbose --progress-bar off --disable-pip-version-check \
      "$@" 2>&1 || echo "install.sh: pip failed"
  } | tee "$log" | show_progress; then
    rm -f "$log"
  else
    tail -n 30 "$log" >&2
    rm -f "$log"
    exit 1
  fi
}

"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"

if [ "$extra" = test ]; then
  # Prefer PyTorch's index, because on Linux PyTorch from PyPI includes five gigabytes for GPUs. If
  # the index cannot be reached, the next step installs PyTorch from PyPI.
  echo "installing PyTorch for the tests ..."
  "$venv/bin/python" -m pip install --no-compile --quiet --disable-pip-version-check --timeout 15 --retries 0 \
    --no-deps --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 >/dev/null 2>&1 || true
fi

echo "installing Apache TVM and what else is needed into $venv ..."
# Install TVM before usmp, because the build of usmp finds TVM's libraries in the environment.
pip_install "apache-tvm==0.27.*" "apache-tvm-ffi==0.1.14.post1" "setuptools>=77" "cmake>=3.20" ninja
# Remove what this checkout installed when its distribution was named usmp.
if "$venv/bin/python" -m pip show --quiet usmp 2>/dev/null; then
  "$venv/bin/python" -m pip uninstall --quiet --yes usmp
fi
echo "building usmp, and installing what $extra needs ..."
pip_install --no-build-isolation -e ".[$extra]"
if [ "$extra" = test ]; then
  # Some tests build with a later apache-tvm-ffi, which is installed in a separate folder.
  "$venv/bin/python" -m pip install --no-compile --quiet --disable-pip-version-check --no-deps --upgrade \
    --target "$venv/later-tvm-ffi" apache-tvm-ffi==0.1.15.post2 ||
    echo "apache-tvm-ffi 0.1.15.post2 is not there: tests of builds with it will skip" >&2
fi
