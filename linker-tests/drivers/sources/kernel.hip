#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
typedef unsigned long size_t;
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
extern "C" unsigned __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
__global__ void kernel(int *to) { *to = 42; }
