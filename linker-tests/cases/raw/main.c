//# image: answer-x86_64.so
//# image: answer-sm_80.ptx
//# image: answer-sm_90.cubin
//# raw: yes
//# beside: runtime.c

/* The images as they are, with no offload binary around them: the form of the oldest runtimes, accepted by all. The text
 * in the middle has an odd length, so that the image behind it has to be aligned anew. */
#include "../../../fixtures/host.c"
