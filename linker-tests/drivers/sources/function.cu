#define __device__ __attribute__((device))
__device__ int f(int x) { return x + 1; }
