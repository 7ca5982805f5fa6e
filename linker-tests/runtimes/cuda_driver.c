/* Stand-in for libcuda under libomptarget: one device of a stated architecture, which loads every image that it gets and prints the
 * architecture in the image's header. It shows which image the runtime selects, and nothing about a driver.
 *
 *   CUDA_DEVICE   architecture, such as 86 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULT __attribute__((visibility("default"))) int

static char memory[1 << 20];

static int device(void) {
    const char *name = getenv("CUDA_DEVICE");
    return name ? atoi(name) : 0;
}

/* Calls of which the runtime needs nothing but success. */
#define SUCCEEDS(name) RESULT name(void) { return 0; }
SUCCEEDS(cuInit)
SUCCEEDS(cuCtxSetCurrent)
SUCCEEDS(cuCtxEnablePeerAccess)
SUCCEEDS(cuCtxSetLimit)
SUCCEEDS(cuDevicePrimaryCtxRelease_v2)
SUCCEEDS(cuDevicePrimaryCtxSetFlags_v2)
SUCCEEDS(cuEventDestroy)
SUCCEEDS(cuEventDestroy_v2)
SUCCEEDS(cuEventQuery)
SUCCEEDS(cuEventRecord)
SUCCEEDS(cuEventSynchronize)
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuMemFreeAsync)
SUCCEEDS(cuMemFreeHost)
SUCCEEDS(cuMemFree_v2)
SUCCEEDS(cuModuleUnload)
SUCCEEDS(cuStreamAddCallback)
SUCCEEDS(cuStreamDestroy_v2)
SUCCEEDS(cuStreamQuery)
SUCCEEDS(cuStreamSynchronize)
SUCCEEDS(cuStreamWaitEvent)
SUCCEEDS(cuMemcpyPeerAsync)
SUCCEEDS(cuMemsetD8Async)
SUCCEEDS(cuMemsetD16Async)
SUCCEEDS(cuMemsetD32Async)
SUCCEEDS(cuMemsetD2D8Async)
SUCCEEDS(cuMemsetD2D16Async)
SUCCEEDS(cuMemsetD2D32Async)
SUCCEEDS(cuMemAddressFree)
SUCCEEDS(cuMemMap)
SUCCEEDS(cuMemUnmap)
SUCCEEDS(cuMemRelease)
SUCCEEDS(cuMemSetAccess)
SUCCEEDS(cuMemGetAllocationGranularity)
SUCCEEDS(cuMemCreate)
SUCCEEDS(cuMemAddressReserve)
SUCCEEDS(cuLaunchHostFunc)
SUCCEEDS(cuPointerGetAttribute)
SUCCEEDS(cuPointerGetAttributes)
SUCCEEDS(cuMemPrefetchAsync)
SUCCEEDS(cuMemHostRegister_v2)
SUCCEEDS(cuMemHostUnregister)

/* Calls that answer with a handle, which is never used as an address. */
#define GIVES(name) RESULT name(void **handle) { *handle = memory; return 0; }
GIVES(cuStreamCreate)
GIVES(cuEventCreate)
GIVES(cuDevicePrimaryCtxRetain)

RESULT cuDriverGetVersion(int *version) { *version = 12000; return 0; }
RESULT cuDeviceGetCount(int *count) { *count = 1; return 0; }
RESULT cuDeviceGet(int *handle, int number) { *handle = number; return 0; }
RESULT cuCtxGetDevice(int *handle) { *handle = 0; return 0; }
RESULT cuCtxGetCurrent(void **context) { *context = memory; return 0; }
RESULT cuDeviceGetName(char *name, int size, int handle) { (void)handle; snprintf(name, size, "sm_%d", device()); return 0; }
RESULT cuDeviceGetUuid(char *id) { memset(id, 0, 16); return 0; }
RESULT cuDeviceGetUuid_v2(char *id) { memset(id, 0, 16); return 0; }
RESULT cuDeviceTotalMem_v2(size_t *size) { *size = 1 << 30; return 0; }
RESULT cuDeviceTotalMem(size_t *size) { return cuDeviceTotalMem_v2(size); }
RESULT cuMemGetInfo_v2(size_t *available, size_t *total) { *available = *total = 1 << 30; return 0; }
RESULT cuDevicePrimaryCtxGetState(int handle, unsigned *flags, int *is_active) { (void)handle; *flags = *is_active = 0; return 0; }
RESULT cuDeviceCanAccessPeer(int *can) { *can = 0; return 0; }
RESULT cuCtxGetLimit(size_t *value) { *value = 1024; return 0; }
RESULT cuFuncGetAttribute(int *value) { *value = 1024; return 0; }
RESULT cuOccupancyMaxPotentialBlockSize(int *blocks, int *threads) { *blocks = *threads = 32; return 0; }
RESULT cuGetErrorString(int error, const char **text) { (void)error; *text = "error of the stand-in"; return 0; }
RESULT cuGetErrorName(int error, const char **text) { return cuGetErrorString(error, text); }

/* Attributes by their numbers in cuda.h. */
RESULT cuDeviceGetAttribute(int *value, int attribute, int handle) {
    (void)handle;
    switch (attribute) {
    case 1: /* threads of a block */
    case 2: case 3: case 4: *value = 1024; break;
    case 5: case 6: case 7: *value = 65535; break;
    case 10: *value = 32; break; /* threads of a warp */
    case 39: *value = 2048; break; /* threads of a multiprocessor */
    case 75: *value = device() / 10; break;
    case 76: *value = device() % 10; break;
    default: *value = 1;
    }
    return 0;
}

RESULT cuMemAlloc_v2(uint64_t *address, size_t size) { *address = (uintptr_t)calloc(1, size); return 0; }
RESULT cuMemAllocAsync(uint64_t *address, size_t size) { return cuMemAlloc_v2(address, size); }
RESULT cuMemAllocManaged(uint64_t *address, size_t size) { return cuMemAlloc_v2(address, size); }
RESULT cuMemAllocHost_v2(void **address, size_t size) { *address = calloc(1, size); return 0; }
RESULT cuMemAllocHost(void **address, size_t size) { return cuMemAllocHost_v2(address, size); }
RESULT cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size) { memcpy(to, (void *)(uintptr_t)from, size); return 0; }
RESULT cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t size) { memcpy((void *)(uintptr_t)to, from, size); return 0; }
RESULT cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size) { memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size); return 0; }
RESULT cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { return cuMemcpyDtoHAsync_v2(to, from, size); }
RESULT cuMemcpyHtoD_v2(uint64_t to, void *from, size_t size) { return cuMemcpyHtoDAsync_v2(to, from, size); }

/* The architecture is byte 0x30 of the ELF header in code of CUDA 12, and byte 0x31 in code with ABI version 8. */
RESULT cuModuleLoadDataEx(void **module, const unsigned char *image) {
    printf("sm_%d\n", image[8] < 8 ? image[0x30] : image[0x31]);
    fflush(stdout);
    *module = memory;
    return 0;
}
RESULT cuModuleLoadData(void **module, const unsigned char *image) { return cuModuleLoadDataEx(module, image); }

RESULT cuModuleGetFunction(void **function) { *function = memory; return 0; }

/* Variables of the runtime in an image; the size that it expects is the size of each. */
RESULT cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name) {
    (void)module;
    if (address)
        *address = (uintptr_t)memory;
    if (size)
        *size = strstr(name, "exec_mode") ? 1 : strstr(name, "device_environment") ? 16 : 8;
    return 0;
}

/* No function has parameters. */
RESULT cuFuncGetParamInfo(void) { return 1; }
RESULT cuLaunchKernel(void) { return 0; }
