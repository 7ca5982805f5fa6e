/*
 * The interface of NVIDIA's nvFatbin 13.5, which libfatbin implements without a toolkit: programs that were written for nvFatbin
 * link with -lfatbin, or load it by the name libnvfatbin.so.13. Status codes and bytes are those of nvFatbin, except that LTO-IR is
 * not compressed, and that damaged cubins are refused.
 */
#ifndef FATBIN_NVFATBIN_H
#define FATBIN_NVFATBIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    NVFATBIN_SUCCESS = 0,
    NVFATBIN_ERROR_INTERNAL = 1,
    NVFATBIN_ERROR_ELF_ARCH_MISMATCH = 2,
    NVFATBIN_ERROR_ELF_SIZE_MISMATCH = 3,
    NVFATBIN_ERROR_MISSING_PTX_VERSION = 4,
    NVFATBIN_ERROR_NULL_POINTER = 5,
    NVFATBIN_ERROR_COMPRESSION_FAILED = 6,
    NVFATBIN_ERROR_COMPRESSED_SIZE_EXCEEDED = 7,
    NVFATBIN_ERROR_UNRECOGNIZED_OPTION = 8,
    NVFATBIN_ERROR_INVALID_ARCH = 9,
    NVFATBIN_ERROR_INVALID_NVVM = 10,
    NVFATBIN_ERROR_EMPTY_INPUT = 11,
    NVFATBIN_ERROR_MISSING_PTX_ARCH = 12,
    NVFATBIN_ERROR_PTX_ARCH_MISMATCH = 13,
    NVFATBIN_ERROR_MISSING_FATBIN = 14,
    NVFATBIN_ERROR_INVALID_INDEX = 15,
    NVFATBIN_ERROR_IDENTIFIER_REUSE = 16,
    NVFATBIN_ERROR_INTERNAL_PTX_OPTION = 17
} nvFatbinResult;

/* A container under construction. Its images are copied. */
typedef struct _nvFatbinHandle *nvFatbinHandle;

/* The message of a status; NULL for success. */
const char *nvFatbinGetErrorString(nvFatbinResult result);

/* Begins a container: -32, -64, -c, -compress=BOOL, -compress-all, -compress-mode=MODE (default, balance, size, speed, none),
 * -concat, -cuda, -g, -host=NAME (linux, mac, windows), -opencl. */
nvFatbinResult nvFatbinCreate(nvFatbinHandle *handle_indirect, const char **options, size_t optionsCount);

/* Frees a container, and sets the handle to NULL. */
nvFatbinResult nvFatbinDestroy(nvFatbinHandle *handle_indirect);

/* Adds PTX. The size may include the NUL. `arch` is a number with an optional suffix, such as "90a". */
nvFatbinResult nvFatbinAddPTX(nvFatbinHandle handle, const char *code, size_t size, const char *arch, const char *identifier,
                              const char *optionsCmdLine);

/* Adds a cubin. */
nvFatbinResult nvFatbinAddCubin(nvFatbinHandle handle, const void *code, size_t size, const char *arch, const char *identifier);

/* Adds LTO-IR. */
nvFatbinResult nvFatbinAddLTOIR(nvFatbinHandle handle, const void *code, size_t size, const char *arch, const char *identifier,
                                const char *optionsCmdLine);

/* NVFATBIN_ERROR_INVALID_INDEX: no tool writes an index. */
nvFatbinResult nvFatbinAddIndex(nvFatbinHandle handle, const void *code, size_t size, const char *identifier);

/* Adds the PTX of a host object, of the objects in a static library, or of a container, for the linker in the driver. */
nvFatbinResult nvFatbinAddReloc(nvFatbinHandle handle, const void *code, size_t size);

/* Adds Tile IR. */
nvFatbinResult nvFatbinAddTileIR(nvFatbinHandle handle, const void *code, size_t size, const char *identifier,
                                 const char *optionsCmdLine);

/* Writes the container, and returns its size in bytes. */
nvFatbinResult nvFatbinSize(nvFatbinHandle handle, size_t *size);

/* Copies the container, whose size nvFatbinSize has returned since the last addition. */
nvFatbinResult nvFatbinGet(nvFatbinHandle handle, void *buffer);

/* The release of nvFatbin with this interface. */
nvFatbinResult nvFatbinVersion(unsigned int *major, unsigned int *minor);

#ifdef __cplusplus
}
#endif

#endif
