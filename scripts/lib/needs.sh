# Finds and installs the tools that the scripts need. Sourced by bash scripts, which set `name` to their own name.
#
# A need is written `THING=PACKAGE`: a program or a path pattern, and the Debian package that provides it.
# shellcheck shell=bash disable=SC2034

# The LLVM release whose tools and runtime the tests use; see linker-tests/harness/tools.rs.
readonly llvm=22
readonly llvm_directory=/usr/lib/llvm-$llvm

# rustup adds its directory to PATH for login shells only.
[[ -d ${HOME:-}/.cargo/bin ]] && PATH=$PATH:$HOME/.cargo/bin

fail() {
    printf '%s: %s\n' "${name:?}" "$*" >&2
    exit 1
}

# Succeeds in strict mode, where leaving anything out is a failure.
strict() {
    [[ ${FATBIN_STRICT:-} == 1 ]]
}

# Prints what is skipped and why; fails in strict mode.
leave_out() {
    strict && fail "$* (FATBIN_STRICT=1 makes this an error)"
    printf '%s: left out: %s\n' "$name" "$*"
}

# Succeeds if a program exists, or any file that matches a pattern.
there() {
    case $1 in
    */*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# Prints the packages of the missing needs, one per line.
lacking() {
    local need
    for need; do
        there "${need%%=*}" || printf '%s\n' "${need#*=}"
    done | sort -u
}

# Installs Debian packages, or fails and sets `why_not`.
install_packages() {
    # The user's packages must stay: these conflict with the same packages of other LLVM releases.
    local get=(env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-remove --no-install-recommends)
    if [[ ${FATBIN_NO_INSTALL:-} == 1 ]]; then
        why_not='FATBIN_NO_INSTALL=1 forbids installing'
    elif ! there apt-get; then
        why_not='apt-get is not available'
    elif ((EUID != 0)); then
        why_not='only root can install them'
    else
        printf '%s: installing with apt-get: %s\n' "$name" "$*"
        apt-get -qq update && "${get[@]}" "$@" </dev/null && return
        why_not='apt-get failed'
    fi
    return 1
}
