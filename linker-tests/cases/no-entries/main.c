//# image: answer-x86_64.so,triple=x86_64-unknown-linux-gnu
//# beside: runtime.c

/* A program without a single offload entry. The bounds of the entry section must exist all the same, or the link fails:
 * the wrapper object has to bring an empty section of that name. */
#include <stdio.h>

int main(void) {
    printf("no entries here\n");
    return 0;
}
