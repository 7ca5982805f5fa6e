/* A program with an OpenMP image, which the wrapper object registers, and a bundle as data. */
#include <stdio.h>

#include "bundle.h"

int region(void);

int main(void) {
    printf("device wrote %d, bundle of %llu bytes\n", region(), (unsigned long long)bundle_size);
    return 0;
}
