// A program in several objects, for nvcc -rdc=true. Its kernel calls a function of another object.
//
// Prints "value 1" if the kernel ran, else "error CODE in CALL".
#include <cstdio>
#include <cuda_runtime.h>

extern __device__ unsigned part(unsigned);

__global__ void answer(unsigned *out, unsigned seed) { *out = part(seed); }

#define TRY(call)                                      \
    do {                                               \
        cudaError_t result = call;                     \
        if (result != cudaSuccess) {                   \
            printf("error %d in %s\n", result, #call); \
            return 0;                                  \
        }                                              \
    } while (0)

int main() {
    unsigned *out = nullptr, value = 0;
    TRY(cudaMalloc(&out, sizeof *out));
    answer<<<1, 1>>>(out, 5);
    TRY(cudaGetLastError());
    TRY(cudaDeviceSynchronize());
    TRY(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
    puts(value == 5006 ? "value 1" : "error 0 in the result");
    return 0;
}
