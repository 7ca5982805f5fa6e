# What the scripts need of the system, and how they get it. Sourced by bash scripts, which set `name` to their own.
#
# A need is written `THING=PACKAGE`: a program, or a pattern of a file's path, and the Debian package that has it.
# shellcheck shell=bash disable=SC2034

# The release whose tools and runtime are compared with and run against; see linker-tests/tools.rs.
readonly llvm=22
readonly llvm_folder=/usr/lib/llvm-$llvm

# rustup puts its folder into PATH for login shells only.
[[ -d ${HOME:-}/.cargo/bin ]] && PATH=$PATH:$HOME/.cargo/bin

fail() {
    printf '%s: %s\n' "${name:?}" "$*" >&2
    exit 1
}

# Whether this machine is to prove something, so that leaving anything out is a failure.
strict() {
    [[ ${FATBIN_STRICT:-} == 1 ]]
}

# Says that something is not done and why; in strict mode that is the end.
leave_out() {
    strict && fail "$* (and FATBIN_STRICT=1 lets nothing be left out)"
    printf '%s: left out: %s\n' "$name" "$*"
}

# Whether a program or a file is there. A pattern stands for any file that it matches.
there() {
    case $1 in
    */*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# The packages of those needs that are not there, one a line.
lacking() {
    local need
    for need; do
        there "${need%%=*}" || printf '%s\n' "${need#*=}"
    done | sort -u
}

# Sets `why_not` and fails where packages cannot be installed at all.
may_install() {
    if [[ ${FATBIN_NO_INSTALL:-} == 1 ]]; then
        why_not='FATBIN_NO_INSTALL=1 forbids installing'
    elif ! there apt-get; then
        why_not='there is no apt-get to install them with'
    elif ((EUID != 0)); then
        why_not='only root can install them'
    else
        return 0
    fi
    return 1
}

# Installs Debian packages. Where that cannot be done, sets `why_not` and fails.
install_packages() {
    may_install || return 1
    printf '%s: installing with apt-get: %s\n' "$name" "$*"
    apt-get -qq update || { why_not='apt-get update failed'; return 1; }
    # Nothing of the user's may go: these packages conflict with the same ones of other LLVM releases.
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-remove --no-install-recommends "$@" </dev/null ||
        { why_not='apt-get install failed'; return 1; }
}
