#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define FUNCTIONS(X)                                                                                                         \
    X(cuInit, (unsigned))                                                                                                    \
    X(cuDriverGetVersion, (int *))                                                                                           \
    X(cuDeviceGetCount, (int *))                                                                                             \
    X(cuDeviceGet, (CUdevice *, int))                                                                                        \
    X(cuDeviceGetName, (char *, int, CUdevice))                                                                              \
    X(cuDeviceGetAttribute, (int *, int, CUdevice))                                                                          \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                                                     \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                                              \
    X(cuCtxSetCurrent, (CUcontext))                                                                                          \
    X(cuCtxSynchronize, (void))                                                                                              \
    X(cuModuleLoadData, (CUmodule *, const void *))                                                                          \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, int *, void **))                                              \
    X(cuModuleLoadFatBinary, (CUmodule *, const void *))                                                                     \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                                           \
    X(cuModuleUnload, (CUmodule))                                                                                            \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                                \
    X(cuMemFree_v2, (CUdeviceptr))                                                                                           \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                                                  \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                                                        \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,  \
                       void **))                                                                                             \
    X(cuGetErrorName, (CUresult, const char **))

#define DECLARE(name, parameters) static CUresult(*name) parameters;
FUNCTIONS(DECLARE)

/* Drivers before CUDA 12.0 do not have these. */
static CUresult (*cuLibraryLoadData)(CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned);
static CUresult (*cuLibraryGetKernel)(CUkernel *, CUlibrary, const char *);
static CUresult (*cuLibraryUnload)(CUlibrary);
/* Drivers before CUDA 12.4 do not have it. */

static void need(CUresult result, const char *call) {
    if (result == SUCCESS)
        return;
    printf("error %d in %s\n", result, call);
    exit(1);
}

static int without(const char *what) {
    printf("none %s\n", what);
    return NO_GPU;
}

static void print_error(CUresult result, const char *call, const char *log) {
    const char *name = NULL;
    cuGetErrorName(result, &name);
    printf("error %d %s in %s", result, name ? name : "unknown", call);
    /* The first line of the compiler's log. */
    if (*log)
        printf(": %.*s", (int)strcspn(log, "\n"), log);
    putchar('\n');
}

static void print_compiler_error(CUresult result, const void *bytes) {
    static char log[4096];
    int options[] = {JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module = NULL;
    log[0] = 0;
    if (cuModuleLoadDataEx(&module, bytes, 2, options, values) == SUCCESS)
        cuModuleUnload(module);
    print_error(result, "load", log);
}

static CUresult run(CUfunction function) {
    CUdeviceptr out = 0;
    uint32_t value = 0xffffffff;
    void *parameters[] = {&out};
    need(cuMemAlloc_v2(&out, sizeof value), "cuMemAlloc");
    need(cuMemcpyHtoD_v2(out, &value, sizeof value), "cuMemcpyHtoD");
    CUresult result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    if (result == SUCCESS)
        result = cuCtxSynchronize();
    if (result == SUCCESS)
        result = cuMemcpyDtoH_v2(&value, out, sizeof value);
    if (result == SUCCESS)
        printf("value %u\n", value);
    else
        print_error(result, "launch", "");
    cuMemFree_v2(out);
    return result;
}

static void try_module(const char *way, const void *bytes) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUresult result =
        strcmp(way, "fatbinary") == 0 ? cuModuleLoadFatBinary(&module, bytes) : cuModuleLoadData(&module, bytes);
    if (result != SUCCESS) {
        print_compiler_error(result, bytes);
        return;
    }
    result = cuModuleGetFunction(&function, module, KERNEL);
    if (result != SUCCESS)
        print_error(result, "cuModuleGetFunction", "");
    else
        run(function);
    cuModuleUnload(module);
}

static void try_library(const void *bytes) {
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    if (!cuLibraryLoadData || !cuLibraryGetKernel || !cuLibraryUnload) {
        printf("error 500 cuLibraryLoadData is missing\n");
        return;
    }
    CUresult result = cuLibraryLoadData(&library, bytes, NULL, NULL, 0, NULL, NULL, 0);
    if (result != SUCCESS) {
        print_compiler_error(result, bytes);
        return;
    }
    /* A kernel may be loaded only when it is requested or launched. cuLaunchKernel takes a CUkernel as well. */
    result = cuLibraryGetKernel(&kernel, library, KERNEL);
    if (result != SUCCESS)
        print_error(result, "cuLibraryGetKernel", "");
    else
        run((CUfunction)kernel);
    cuLibraryUnload(library);
}

void load(const char *way, const void *bytes) {
    struct wrapper wrapper = {WRAPPER_MAGIC, 1, bytes, NULL};
    if (strcmp(way, "library") == 0)
        try_library(bytes);
    else if (strcmp(way, "wrapper") == 0)
        try_library(&wrapper);
    else
        try_module(way, bytes);
}

static CUdevice device;

int open_device(char *text, size_t size) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int version = 0, devices = 0, major = 0, minor = 0;
    char name[128] = "";
    CUcontext context = NULL;
    if (!driver)
        return without("libcuda.so.1 not found");
#define RESOLVE(function, parameters)                     \
    *(void **)&function = dlsym(driver, #function);       \
    if (!function) {                                      \
        printf("error 0 libcuda has no " #function "\n"); \
        return 1;                                         \
    }
    FUNCTIONS(RESOLVE)
    *(void **)&cuLibraryLoadData = dlsym(driver, "cuLibraryLoadData");
    *(void **)&cuLibraryGetKernel = dlsym(driver, "cuLibraryGetKernel");
    *(void **)&cuLibraryUnload = dlsym(driver, "cuLibraryUnload");
    if (cuInit(0) != SUCCESS || cuDeviceGetCount(&devices) != SUCCESS || devices == 0)
        return without("device not found");
    need(cuDriverGetVersion(&version), "cuDriverGetVersion");
    need(cuDeviceGet(&device, 0), "cuDeviceGet");
    need(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    need(cuDeviceGetAttribute(&major, COMPUTE_CAPABILITY_MAJOR, device), "cuDeviceGetAttribute");
    need(cuDeviceGetAttribute(&minor, COMPUTE_CAPABILITY_MINOR, device), "cuDeviceGetAttribute");
    snprintf(text, size, "device sm_%d%d %d.%d %s", major, minor, version / 1000, version % 1000 / 10, name);
    need(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return 0;
}

void close_device(void) {
    cuCtxSetCurrent(NULL);
    cuDevicePrimaryCtxRelease_v2(device);
}

CUresult allocate(CUdeviceptr *address, size_t size) { return cuMemAlloc_v2(address, size); }

CUresult copy_to_device(CUdeviceptr target, const void *source, size_t size) { return cuMemcpyHtoD_v2(target, source, size); }

CUresult copy_to_host(void *target, CUdeviceptr source, size_t size) { return cuMemcpyDtoH_v2(target, source, size); }
