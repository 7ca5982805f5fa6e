//# image: answer-gfx90a.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a
//# image: answer-x86_64.so,triple=x86_64-unknown-linux-gnu
//# object-per-image: yes
//# beside: runtime.c

/* Two wrapper objects in one link, as when a program is made of parts that were wrapped apart. Their symbols must not
 * clash, both must register, and each of the two must see the entries of the whole program. */
#include "../../../fixtures/host.c"
