/* A CUDA program without CUDA's compiler: its kernel and variables come from `fatbin wrap --entry`.
 *
 * The constructor has registered everything with libcudart before `main` runs. Then the runtime is asked something, which
 * makes it go through what was registered; where there is no driver it answers just that. */
#include <stdio.h>

int cudaGetDeviceCount(int *count);

char kernel_stub, plain[16], constant[16], managed[16];
void *managed_pointer;

int main(void) {
    int count = 0;
    int answer = cudaGetDeviceCount(&count);
    /* Success, insufficient driver, no device. */
    if (answer != 0 && answer != 35 && answer != 100) {
        printf("cudaGetDeviceCount answers %d\n", answer);
        return 1;
    }
    printf("runs\n");
    return 0;
}
