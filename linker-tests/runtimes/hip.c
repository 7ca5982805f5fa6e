/* A HIP program without a HIP compiler: its kernel and variables come from `fatbin wrap --entry`.
 *
 * The constructor has registered everything with libamdhip64 before `main` runs. Then the runtime is asked something, which
 * makes it go through what was registered; where there is no driver it answers just that. */
#include <stdio.h>

int hipGetDeviceCount(int *count);

char kernel_stub, plain[16], constant[16];
char surface[16], texture[16];

int main(void) {
    int count = 0;
    int answer = hipGetDeviceCount(&count);
    /* Success, insufficient driver, no device. */
    if (answer != 0 && answer != 35 && answer != 100) {
        printf("hipGetDeviceCount answers %d\n", answer);
        return 1;
    }
    printf("runs\n");
    return 0;
}
