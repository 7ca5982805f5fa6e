//# image: answer-x86_64.so,triple=x86_64-unknown-linux-gnu
//# beside: runtime.c

/* The plainest case: one image, one entry, and a runtime that prints what it is told. */
#include "../../../fixtures/host.c"
