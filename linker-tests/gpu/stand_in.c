/* Stand-in for libcuda: one device of a stated architecture under a driver of a stated version, without a GPU.
 *
 * Each call is checked and recorded. A call that a driver must not get (wrong order, unknown handle, memory out of bounds,
 * damaged fat binary) is recorded as a violation. A kernel "runs" by storing the number in the marker of its image, plus the
 * value of the variable `addend`, as its code would. The stand-in does not show what a driver does beyond the documents.
 *
 *   GPU_STAND_IN_DEVICE   architecture, such as sm_90
 *   GPU_STAND_IN_DRIVER   version of CUDA, such as 12.8
 *   GPU_STAND_IN_LOG      file to which the calls are appended */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stand_in.h"

static struct CUctx_st context = {TYPE_CONTEXT};
struct CUctx_st *current;
int is_initialized, retained;
static struct CUmod_st *modules[MAXIMUM];
static size_t module_count;

void record(const char *format, ...) {
    const char *path = getenv("GPU_STAND_IN_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (!log)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(log, format, arguments);
    va_end(arguments);
    fputc('\n', log);
    fclose(log);
}

CUresult violation(const char *call, const char *what, CUresult result) {
    record("violation %s: %s", call, what);
    return result;
}

struct device device(void) {
    const char *name = getenv("GPU_STAND_IN_DEVICE"), *driver = getenv("GPU_STAND_IN_DRIVER");
    int major = 0, minor = 0, sm = 0;
    if (!name || sscanf(name, "sm_%d", &sm) != 1 || !driver || sscanf(driver, "%d.%d", &major, &minor) != 2) {
        fputs("stand-in for libcuda: GPU_STAND_IN_DEVICE=sm_90 and GPU_STAND_IN_DRIVER=12.8 are needed\n", stderr);
        exit(3);
    }
    return (struct device){sm, major * 1000 + minor * 10};
}

CUresult cuInit(unsigned flags) {
    NEED(flags == 0, "cuInit", "flags must be 0", INVALID_VALUE);
    is_initialized = 1;
    record("cuInit");
    return SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    NEED(version, "cuDriverGetVersion", "null pointer", INVALID_VALUE);
    *version = device().driver;
    return SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    NEED_INIT("cuDeviceGetCount");
    *count = 1;
    return SUCCESS;
}

CUresult cuDeviceGet(CUdevice *handle, int ordinal) {
    NEED_INIT("cuDeviceGet");
    NEED(ordinal == 0, "cuDeviceGet", "no such device", INVALID_DEVICE);
    *handle = 0;
    return SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice handle) {
    NEED_INIT("cuDeviceGetName");
    NEED(handle == 0 && length > 0, "cuDeviceGetName", "invalid device or length", INVALID_VALUE);
    snprintf(name, (size_t)length, "stand-in for sm_%d", device().sm);
    return SUCCESS;
}

/* Limits that libomptarget asks for, as all devices since sm_75 have them. Source: CUDA 13.5, cuda.h, CUdevice_attribute. */
static const struct {
    int attribute, value;
} ATTRIBUTES[] = {
    {MAX_THREADS_PER_BLOCK, 1024}, {MAX_BLOCK_DIM_X, 1024},
    {MAX_GRID_DIM_X, 2147483647},  {MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {WARP_SIZE, 32},               {MULTIPROCESSOR_COUNT, 100},
    {MAX_THREADS_PER_MULTIPROCESSOR, 2048},
};

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice handle) {
    NEED_INIT("cuDeviceGetAttribute");
    NEED(handle == 0, "cuDeviceGetAttribute", "invalid device", INVALID_DEVICE);
    for (size_t index = 0; index < sizeof ATTRIBUTES / sizeof *ATTRIBUTES; index++)
        if (ATTRIBUTES[index].attribute == attribute) {
            *value = ATTRIBUTES[index].value;
            return SUCCESS;
        }
    if (attribute == COMPUTE_CAPABILITY_MAJOR)
        *value = device().sm / 10;
    else if (attribute == COMPUTE_CAPABILITY_MINOR)
        *value = device().sm % 10;
    else
        return violation("cuDeviceGetAttribute", "attribute not implemented", INVALID_VALUE);
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice ordinal) {
    NEED_INIT("cuDevicePrimaryCtxRetain");
    NEED(ordinal == 0, "cuDevicePrimaryCtxRetain", "invalid device", INVALID_DEVICE);
    retained++;
    *handle = &context;
    record("cuDevicePrimaryCtxRetain");
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
    NEED_INIT("cuDevicePrimaryCtxRelease");
    NEED(ordinal == 0 && retained > 0, "cuDevicePrimaryCtxRelease", "not retained", INVALID_CONTEXT);
    retained--;
    record("cuDevicePrimaryCtxRelease");
    return SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    NEED_INIT("cuCtxSetCurrent");
    NEED(!handle || (handle == &context && retained > 0), "cuCtxSetCurrent", "unknown context", INVALID_CONTEXT);
    current = handle;
    record("cuCtxSetCurrent");
    return SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    NEED_CONTEXT("cuCtxSynchronize");
    return SUCCESS;
}

static int is_live(struct CUmod_st *module) {
    for (size_t index = 0; index < module_count; index++)
        if (modules[index] == module)
            return 1;
    return 0;
}

static CUresult load(const char *call, struct CUmod_st **handle, const void *pointer, int is_library) {
    struct image *images = NULL;
    size_t count = 0;
    const char *what = NULL;
    NEED(handle, call, "null pointer for the handle", INVALID_VALUE);
    NEED(module_count < MAXIMUM, call, "too many modules", INVALID_VALUE);
    /* Measured with driver 580.159.04: only cuLibraryLoadData takes the wrapper of a fat binary. */
    if (!is_library && pointer && ((const struct wrapper *)pointer)->magic == WRAPPER_MAGIC) {
        record("%s wrapper -> error %d", call, INVALID_IMAGE);
        return INVALID_IMAGE;
    }
    const char *damage = read_images(pointer, &images, &count, &what);
    if (damage) {
        free_images(images, count);
        return violation(call, damage, INVALID_IMAGE);
    }
    int error = 0, chosen = choose_image(images, count, device(), &error);
    if (chosen < 0) {
        record("%s %s images=%zu -> error %d", call, what, count, error);
        free_images(images, count);
        return error;
    }
    struct CUmod_st *module = calloc(1, sizeof *module);
    *module = (struct CUmod_st){.type = TYPE_MODULE, .image = images[chosen], .is_library = is_library};
    images[chosen].bytes = NULL;
    record("%s %s images=%zu -> image %d (%s sm_%d%.1s)", call, what, count, chosen,
           module->image.form == FORM_PTX ? "PTX" : "cubin", module->image.sm, &module->image.suffix);
    free_images(images, count);
    modules[module_count++] = module;
    *handle = module;
    return SUCCESS;
}

static CUresult unload(const char *call, struct CUmod_st *module, int is_library) {
    NEED(is_live(module) && module->is_library == is_library, call, "unknown handle", INVALID_HANDLE);
    for (size_t index = 0; index < module_count; index++)
        if (modules[index] == module)
            modules[index] = modules[--module_count];
    free(module->image.bytes);
    free(module);
    record("%s", call);
    return SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    NEED_CONTEXT("cuModuleLoadData");
    return load("cuModuleLoadData", module, image, 0);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
    NEED_CONTEXT("cuModuleLoadDataEx");
    NEED(count == 0 || (options && values), "cuModuleLoadDataEx", "options without values", INVALID_VALUE);
    for (unsigned index = 0; index < count; index++)
        if (options[index] == JIT_ERROR_LOG_BUFFER)
            *(char *)values[index] = 0;
    return load("cuModuleLoadDataEx", module, image, 0);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    NEED_CONTEXT("cuModuleLoadFatBinary");
    return load("cuModuleLoadFatBinary", module, image, 0);
}

CUresult cuModuleUnload(CUmodule module) {
    NEED_CONTEXT("cuModuleUnload");
    return unload("cuModuleUnload", module, 0);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit, void **jit_values, unsigned jit_count, int *options,
                           void **values, unsigned count) {
    NEED_INIT("cuLibraryLoadData");
    NEED(device().driver >= 12000, "cuLibraryLoadData", "drivers before CUDA 12.0 do not have it", NOT_FOUND);
    NEED((jit_count == 0 || (jit && jit_values)) && (count == 0 || (options && values)), "cuLibraryLoadData",
         "options without values", INVALID_VALUE);
    return load("cuLibraryLoadData", (struct CUmod_st **)library, code, 1);
}

CUresult cuLibraryUnload(CUlibrary library) {
    NEED_INIT("cuLibraryUnload");
    return unload("cuLibraryUnload", (struct CUmod_st *)library, 1);
}

static CUresult function(const char *call, struct CUfunc_st **handle, struct CUmod_st *module, const char *name) {
    NEED(is_live(module), call, "unknown module", INVALID_HANDLE);
    if (!has_kernel(&module->image, name)) {
        record("%s %s -> error %d", call, name, NOT_FOUND);
        return NOT_FOUND;
    }
    struct CUfunc_st *function = calloc(1, sizeof *function);
    *function = (struct CUfunc_st){TYPE_FUNCTION, module};
    *handle = function;
    record("%s %s", call, name);
    return SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *handle, CUmodule module, const char *name) {
    NEED_CONTEXT("cuModuleGetFunction");
    return function("cuModuleGetFunction", handle, module, name);
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    NEED_INIT("cuLibraryGetKernel");
    return function("cuLibraryGetKernel", (struct CUfunc_st **)kernel, (struct CUmod_st *)library, name);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name) {
    NEED_CONTEXT("cuModuleGetGlobal");
    NEED(is_live(module), "cuModuleGetGlobal", "unknown module", INVALID_HANDLE);
    if (strcmp(name, VARIABLE) != 0 || !has_variable(&module->image, name)) {
        record("cuModuleGetGlobal %s -> error %d", name, NOT_FOUND);
        return NOT_FOUND;
    }
    *address = (CUdeviceptr)(uintptr_t)&module->addend;
    *size = sizeof module->addend;
    record("cuModuleGetGlobal %s", name);
    return SUCCESS;
}

int is_variable(const char *start, size_t size) {
    for (size_t index = 0; index < module_count; index++)
        if (start == (char *)&modules[index]->addend && size <= sizeof modules[index]->addend)
            return 1;
    return 0;
}

/* Reads a parameter from the buffer by which libomptarget passes them. Returns whether there is one. */
static int buffer_parameter(void **extra, size_t number, CUdeviceptr *parameter) {
    char *buffer = NULL;
    size_t size = 0;
    for (; *extra != LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        if (extra[0] == LAUNCH_PARAM_BUFFER_SIZE)
            size = *(size_t *)extra[1];
    }
    if (!buffer || size < (number + 1) * sizeof *parameter)
        return 0;
    memcpy(parameter, buffer + number * sizeof *parameter, sizeof *parameter);
    return 1;
}

/* Kernels of CUDA store their number plus the variable. Those of OpenMP, whose first parameter is libomptarget's, add their number
 * to what the host has stored. */
CUresult cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **parameters, void **extra) {
    NEED_CONTEXT("cuLaunchKernel");
    (void)shared, (void)stream;
    NEED(handle && handle->type == TYPE_FUNCTION && is_live(handle->module), "cuLaunchKernel", "unknown function", INVALID_HANDLE);
    NEED(gx && gy && gz && bx && by && bz && bx * by * bz <= 1024, "cuLaunchKernel", "invalid grid or block", INVALID_VALUE);
    CUdeviceptr out = 0;
    uint32_t addend = handle->module->addend;
    int is_openmp = extra != NULL;
    if (is_openmp) {
        NEED(buffer_parameter(extra, 1, &out), "cuLaunchKernel", "missing parameter", INVALID_VALUE);
    } else {
        NEED(parameters && parameters[0], "cuLaunchKernel", "missing parameter", INVALID_VALUE);
        out = *(CUdeviceptr *)parameters[0];
    }
    long number = marker_of(&handle->module->image);
    NEED(number >= 0, "cuLaunchKernel", "image without a marker", INVALID_IMAGE);
    NEED(out % 4 == 0 && is_device_memory(out, 4), "cuLaunchKernel", "parameter is not memory of the device", INVALID_VALUE);
    if (is_openmp)
        memcpy(&addend, (void *)(uintptr_t)out, sizeof addend);
    uint32_t value = (uint32_t)number + addend;
    memcpy((void *)(uintptr_t)out, &value, sizeof value);
    record("cuLaunchKernel -> %u", value);
    return SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == NO_BINARY_FOR_GPU         ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : error == UNSUPPORTED_PTX_VERSION ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
            : error == INVALID_IMAGE           ? "CUDA_ERROR_INVALID_IMAGE"
            : error == NOT_FOUND               ? "CUDA_ERROR_NOT_FOUND"
                                               : "an error of the stand-in";
    return SUCCESS;
}

/* libcudart asks for these. Its tables of undocumented functions are not imitated: see stand_in_runtime.c. */
CUresult cuGetExportTable(const void **table, const unsigned char *id) {
    char text[33];
    for (int index = 0; index < 16; index++)
        snprintf(text + index * 2, 3, "%02x", id[index]);
    record("cuGetExportTable %s -> error %d", text, NOT_FOUND);
    *table = NULL;
    return NOT_FOUND;
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    char suffixed[128];
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    (void)flags;
    snprintf(suffixed, sizeof suffixed, "%s_v2", name);
    /* Before CUDA 12.0 the function of this name had no parameter for the status. */
    int is_own = strcmp(name, "cuGetProcAddress") == 0 && version < 12000;
    *function = self && !is_own ? dlsym(self, suffixed) : NULL;
    if (self && !*function)
        *function = dlsym(self, name);
    if (status)
        *status = *function ? 0 : 1;
    record("cuGetProcAddress %s %d -> %s", name, version, *function ? "found" : "not found");
    return *function ? SUCCESS : NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
