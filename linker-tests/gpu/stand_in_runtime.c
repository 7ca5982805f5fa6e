/* Stand-in for libcudart, on top of the driver interface, for runs against the stand-in for libcuda.
 *
 * NVIDIA's libcudart 11.8, 12.9 and 13.5 ask libcuda for a table of undocumented functions (cuGetExportTable with the ID
 * 6bd5fb6c5bf4e74a8987d93912fd9df9) and give up without it. That table is not imitated. This library takes what a program
 * registers, and gives it to the documented functions of the driver. On a GPU, programs use NVIDIA's library.
 *
 * RELEASE is the release of libcudart, such as 12. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { MAXIMUM = 64, INSUFFICIENT_DRIVER = 35, INVALID_SYMBOL = 13, INVALID_DEVICE_FUNCTION = 98 };

struct dim3 {
    unsigned x, y, z;
};

CUresult cuInit(unsigned);
CUresult cuDriverGetVersion(int *);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadFatBinary(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuModuleUnload(CUmodule);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
CUresult cuGetErrorName(CUresult, const char **);

struct binary {
    const struct wrapper *wrapper;
    CUmodule module;
    int is_complete;
};
struct symbol {
    struct binary *binary;
    const void *host;
    const char *name;
    size_t size;
};
static struct binary binaries[MAXIMUM];
static struct symbol functions[MAXIMUM], variables[MAXIMUM];
static size_t binary_count, function_count, variable_count;

static void reject(const char *what) {
    printf("stand-in for libcudart: %s\n", what);
    exit(1);
}

void **__cudaRegisterFatBinary(void *wrapper) {
    if (binary_count == MAXIMUM)
        reject("too many fat binaries");
    binaries[binary_count].wrapper = wrapper;
    return (void **)&binaries[binary_count++];
}

void __cudaRegisterFatBinaryEnd(void **handle) { ((struct binary *)handle)->is_complete = 1; }

void __cudaUnregisterFatBinary(void **handle) {
    struct binary *binary = (struct binary *)handle;
    if (binary < binaries || binary >= binaries + binary_count || !binary->wrapper)
        reject("unknown handle is unregistered");
    if (binary->module)
        cuModuleUnload(binary->module);
    *binary = (struct binary){0};
}

static void add(struct symbol *symbols, size_t *count, void **handle, const void *host, const char *name, size_t size) {
    struct binary *binary = (struct binary *)handle;
    if (*count == MAXIMUM || binary < binaries || binary >= binaries + binary_count || binary->is_complete || !host || !name)
        reject("invalid registration of a symbol");
    symbols[(*count)++] = (struct symbol){binary, host, name, size};
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
                            void *block, void *grid, int *warp) {
    (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    if (strcmp(device, name) != 0)
        reject("two names for a kernel");
    add(functions, &function_count, handle, host, name, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external, size_t size, int is_constant,
                       int is_global) {
    (void)device, (void)is_external, (void)is_constant, (void)is_global;
    add(variables, &variable_count, handle, host, name, size);
}

void __cudaRegisterManagedVar(void) { reject("managed variables are not implemented"); }
void __cudaRegisterSurface(void) { reject("surfaces are not implemented"); }
void __cudaRegisterTexture(void) { reject("textures are not implemented"); }

/* Stubs of compiled kernels refer to it; the programs launch kernels by their address. */
void __cudaPopCallConfiguration(void) { reject("a stub was called"); }

/* Creates the context at the first call that needs it, as libcudart does. */
static int start(void) {
    static int is_started;
    CUcontext context = NULL;
    int version = 0;
    if (is_started)
        return 0;
    if (cuDriverGetVersion(&version) != SUCCESS || version < RELEASE * 1000)
        return INSUFFICIENT_DRIVER;
    int result = cuInit(0);
    if (result == SUCCESS)
        result = cuDevicePrimaryCtxRetain(&context, 0);
    if (result == SUCCESS)
        result = cuCtxSetCurrent(context);
    is_started = result == SUCCESS;
    return result;
}

/* Returns the symbol for an address of the host, with its module loaded. */
static int find(struct symbol *symbols, size_t count, const void *host, struct symbol **found) {
    int result = start();
    if (result != SUCCESS)
        return result;
    for (size_t index = 0; index < count; index++)
        if (symbols[index].host == host) {
            struct binary *binary = symbols[index].binary;
            *found = &symbols[index];
            return binary->module ? SUCCESS : cuModuleLoadFatBinary(&binary->module, binary->wrapper->data);
        }
    return symbols == functions ? INVALID_DEVICE_FUNCTION : INVALID_SYMBOL;
}

int cudaMalloc(void **address, size_t size) {
    int result = start();
    return result == SUCCESS ? cuMemAlloc_v2((CUdeviceptr *)address, size) : result;
}

int cudaFree(void *address) { return cuMemFree_v2((CUdeviceptr)(uintptr_t)address); }

int cudaMemcpy(void *target, const void *source, size_t size, int kind) {
    if (kind == 1)
        return cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)target, source, size);
    return kind == 2 ? cuMemcpyDtoH_v2(target, (CUdeviceptr)(uintptr_t)source, size) : INVALID_VALUE;
}

int cudaMemcpyToSymbol(const void *host, const void *source, size_t size, size_t offset, int kind) {
    struct symbol *symbol = NULL;
    CUdeviceptr address = 0;
    size_t available = 0;
    int result = find(variables, variable_count, host, &symbol);
    if (result == SUCCESS)
        result = cuModuleGetGlobal_v2(&address, &available, symbol->binary->module, symbol->name);
    if (result != SUCCESS)
        return result;
    if (kind != 1 || available != symbol->size || offset > available || size > available - offset)
        return INVALID_VALUE;
    return cuMemcpyHtoD_v2(address + offset, source, size);
}

int cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream) {
    struct symbol *symbol = NULL;
    CUfunction function = NULL;
    int result = find(functions, function_count, host, &symbol);
    if (result == SUCCESS)
        result = cuModuleGetFunction(&function, symbol->binary->module, symbol->name);
    if (result != SUCCESS)
        return result;
    return cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream, arguments, NULL);
}

int cudaDeviceSynchronize(void) { return cuCtxSynchronize(); }

const char *cudaGetErrorName(int error) {
    const char *name = "unknown";
    if (error == INSUFFICIENT_DRIVER)
        return "cudaErrorInsufficientDriver";
    cuGetErrorName(error, &name);
    return name;
}
