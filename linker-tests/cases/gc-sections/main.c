//# image: answer-x86_64.so,triple=x86_64-unknown-linux-gnu
//# beside: runtime.c
//# link-flag: -Wl,--gc-sections
//# link-flag-lld: -Wl,-z,nostart-stop-gc

/* The linker throws away what nothing refers to. Nothing refers to an offload entry by name: it lives because the wrapper
 * object refers to the bounds of its section. lld counts that reference only with a flag. */
#include "../../../fixtures/host.c"
