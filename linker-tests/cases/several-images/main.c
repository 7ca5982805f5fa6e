//# image: answer-gfx90a.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a
//# image: answer-x86_64.so,triple=x86_64-unknown-linux-gnu
//# image: answer-gfx90a-xnack+.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+
//# image: answer-sm_90.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90
//# image: answer-sm_80.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80
//# beside: runtime.c

/* One object with images for five targets. The runtime must see them all, in the order of the command line, and the one
 * that it can run is neither the first nor the last. The PTX text has a length that is no multiple of 8: what follows it
 * and the end that the runtime receives must not include the padding. */
#include "../../../fixtures/host.c"
