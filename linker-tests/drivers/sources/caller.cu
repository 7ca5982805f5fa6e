#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
typedef unsigned long size_t;
struct dim3 { unsigned x, y, z; };
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
extern "C" unsigned __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
__device__ int f(int);
__global__ void calls(int *to) { *to = f(41); }
