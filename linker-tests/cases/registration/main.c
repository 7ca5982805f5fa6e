//# image: answer-x86_64.so,triple=x86_64-unknown-linux-gnu
//# beside: runtime.c

/* The simplest case: one image, one entry, and a runtime that prints its arguments. */
#include "../../../fixtures/host.c"
