/* The part of the CUDA driver interface that the trials use. Source: CUDA 13.5, cuda.h; the trials are built without it. */
#ifndef DRIVER_H
#define DRIVER_H
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    UNSUPPORTED_PTX_VERSION = 222,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_SUPPORTED = 801,
};

enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
/* Attributes of devices. */
enum {
    MAX_THREADS_PER_BLOCK = 1,
    MAX_BLOCK_DIM_X = 2,
    MAX_GRID_DIM_X = 5,
    MAX_SHARED_MEMORY_PER_BLOCK = 8,
    WARP_SIZE = 10,
    MULTIPROCESSOR_COUNT = 16,
    MAX_THREADS_PER_MULTIPROCESSOR = 39,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
};

#define LAUNCH_PARAM_END ((void *)0)
#define LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

/* A fat binary as a compiler registers it. Source: CUDA 13.5, fatbinary_section.h. */
struct wrapper {
    uint32_t magic;
    uint32_t version;
    const void *data;
    const void *filename_or_fatbins;
};
#define WRAPPER_MAGIC 0x466243b1u

/* Each image of the trials has a variable of this name with the magic number and the number that its kernel stores. */
#define MARKER_MAGIC 0x52454b52414d4246ull
#define KERNEL "answer"
#define VARIABLE "addend"
#endif
