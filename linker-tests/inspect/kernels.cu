// Kernels that take something of everything, for HIP and CUDA alike. Neither is installed, so their words are defined here.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

#ifdef __HIP__
#define thread __builtin_amdgcn_workitem_id_x()
#define few_registers __attribute__((amdgpu_num_vgpr(16), amdgpu_flat_work_group_size(1, 256)))
#define of_this_size __attribute__((amdgpu_flat_work_group_size(128, 128)))
#else
#define thread __nvvm_read_ptx_sreg_tid_x()
#define few_registers __launch_bounds__(1024, 2)
#define of_this_size __launch_bounds__(128)
#endif

__constant__ int table[64];
__device__ int counter = 5;

__global__ void plain(int *out) { *out = 1; }

struct Large {
    double values[40];
};

__global__ void parameters(char c, short s, double *d, Large large, int last) {
    d[0] = c + s + large.values[last];
}

__global__ void of_this_size shared(float *values, int n) {
    __shared__ float buffer[256];
    buffer[(n + thread) & 255] = values[n];
    values[1] = buffer[(n + 1 + thread) & 255] + table[n & 63];
    counter++;
}

namespace inside {
// More values at once than there are registers for them.
template <int Stride, typename T>
__global__ void few_registers spills(volatile T *values) {
    T kept[64];
#pragma unroll
    for (int i = 0; i < 64; ++i)
        kept[i] = values[i * Stride + thread];
#pragma unroll
    for (int i = 0; i < 64; ++i)
        values[i * Stride + thread] = kept[63 - i];
}
} // namespace inside
template __global__ void inside::spills<64, float>(volatile float *);
template __global__ void inside::spills<3, double>(volatile double *);

__device__ __attribute__((noinline)) int frame(int *values, int n) {
    volatile int own[32];
    for (int i = 0; i < n; ++i)
        own[i & 31] = values[i];
    return own[n & 31];
}

__global__ void calls(int *values, int n) { values[0] = frame(values, n); }

__device__ __attribute__((noinline)) int again(int n) {
    volatile int own[10];
    own[n & 7] = n;
    return n ? again(n - 1) + own[n & 3] : 0;
}

__global__ void recurses(int *out) { *out = again(*out); }

#ifdef __CUDA__
// What the launch brings; HIP needs its headers for that.
extern __shared__ int brought[];
__global__ void dynamic(int *values) {
    brought[values[0]] = 1;
    values[1] = brought[values[2]];
}
#endif
