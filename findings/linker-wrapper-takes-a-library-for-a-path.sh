#!/usr/bin/env bash
# clang-linker-wrapper 19.1.7, 22.1.8; GNU ld 2.40
#
# Expected: clang-linker-wrapper passes options of the linker on; `--library=NAME` is the long form of `-lNAME`.
# Seen: the wrapper reads `--library` as the long form of -L. The linker gets `-L NAME` and never sees the library: neither
# its host code nor its device code is linked. Without the wrapper, the same line is right.
# Why it matters: a link line that works turns wrong once a program has device code. A program fails to link with undefined
# symbols that the library on the line defines; a shared library links with status 0, and lacks the dependency.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 19 clang-tools
fetch_llvm 22 clang-tools

echo 'int offered(void) { return 7; }' | gcc -x c -fPIC -shared -Wl,-soname,liboffered.so -o liboffered.so -
echo 'int offered(void); int use(void) { return offered(); }' | gcc -x c -fPIC -c -o use.o -

needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

ld -shared use.o -L. --library=offered -o direct.so
expect 'the dependency without the wrapper' liboffered.so "$(needed direct.so)"
for release in 19 22; do
    for option in -loffered --library=offered '--library offered'; do
        read -ra words <<<"$option"
        run_status wrapped llvm $release clang-linker-wrapper --host-triple=x86_64-unknown-linux-gnu \
            --linker-path=/usr/bin/ld -shared use.o -L. "${words[@]}" -o wrapped.so
        dependencies+=" $status:$(needed wrapped.so)"
    done
    llvm $release clang-linker-wrapper --host-triple=x86_64-unknown-linux-gnu --linker-path=/usr/bin/ld --dry-run \
        -shared use.o -L. --library=offered -o wrapped.so >line$release 2>&1
    expect_line "the line of $release" '"?/usr/bin/ld"? .*-L offered' line$release
done
expect 'the statuses and dependencies with -l and with --library' \
    ' 0:liboffered.so 0: 0: 0:liboffered.so 0: 0:' "$dependencies"
holds 'clang-linker-wrapper turns --library=NAME into -L NAME'
