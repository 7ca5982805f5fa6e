//# openmp-target: x86_64-pc-linux-gnu
//# device-flag: -DMARKER=42
//# image: device.so,triple=x86_64-pc-linux-gnu
//# environment: OMP_TARGET_OFFLOAD=MANDATORY

/* A real OpenMP program with its real runtime, libomptarget, which runs the image on the host's own architecture.
 *
 * The marker is defined only where the device half is compiled. Code that falls back to the host writes 0, and
 * omp_is_initial_device() does not help: it returns 1 inside the region with this plugin.
 *
 * `weights` is an entry of the other sort, a variable: the runtime finds it in the image by its name and size. The
 * host's copy is changed and sent over, so that the sum is right only when the two are one variable. */
#include <stdio.h>

#ifndef MARKER
#define MARKER 0
#endif

#pragma omp declare target
int weights[4] = {9, 9, 9, 9};
#pragma omp end declare target

int main(void) {
    int marker = -1, sum = 0;
    for (int i = 0; i < 4; i++)
        weights[i] = i + 1;
#pragma omp target update to(weights)

#pragma omp target map(tofrom : marker, sum)
    {
        marker = MARKER;
        for (int i = 0; i < 4; i++)
            sum += weights[i] * MARKER;
    }
    printf("device wrote %d, sum %d\n", marker, sum);
    return 0;
}
