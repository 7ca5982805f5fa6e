/* A CUDA program without CUDA's compiler: `fatbin wrap --entry` has registered its kernel and its variable with libcudart.
 * With -DCOMPILED they are those of compiled.cu, and `fatbin link` has registered them.
 *
 * Prints the number that the kernel stores, which names the image that the driver has taken: "value N", or "error CODE NAME". */
#include <stdio.h>

struct dim3 {
    unsigned x, y, z;
};

int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);
int cudaDeviceSynchronize(void);
const char *cudaGetErrorName(int);

enum { TO_DEVICE = 1, TO_HOST = 2 };

/* Addresses by which the program names the kernel and the variable of the image. */
#ifdef COMPILED
/* Those of compiled.cu. */
void __device_stub__answer(unsigned *);
extern unsigned addend;
#define KERNEL_ADDRESS ((const void *)__device_stub__answer)
#define VARIABLE_ADDRESS (&addend)
#else
char answer_stub;
unsigned addend_shadow;
#define KERNEL_ADDRESS (&answer_stub)
#define VARIABLE_ADDRESS (&addend_shadow)
#endif

#define TRY(call)                                                     \
    do {                                                              \
        int result = call;                                            \
        if (result != 0) {                                            \
            printf("error %d %s\n", result, cudaGetErrorName(result)); \
            return 0;                                                 \
        }                                                             \
    } while (0)

int main(void) {
    unsigned *out = NULL, first = 0, second = 0, addend_value = 1000;
    void *arguments[] = {&out};
    struct dim3 one = {1, 1, 1};
    TRY(cudaMalloc((void **)&out, sizeof *out));
    TRY(cudaLaunchKernel(KERNEL_ADDRESS, one, one, arguments, 0, NULL));
    TRY(cudaDeviceSynchronize());
    TRY(cudaMemcpy(&first, out, sizeof first, TO_HOST));
    TRY(cudaMemcpyToSymbol(VARIABLE_ADDRESS, &addend_value, sizeof addend_value, 0, TO_DEVICE));
    TRY(cudaLaunchKernel(KERNEL_ADDRESS, one, one, arguments, 0, NULL));
    TRY(cudaDeviceSynchronize());
    TRY(cudaMemcpy(&second, out, sizeof second, TO_HOST));
    TRY(cudaFree(out));
    if (second != first + addend_value)
        printf("the variable is not registered: %u, then %u\n", first, second);
    else
        printf("value %u\n", first);
    return 0;
}
