/* The functions of libcuda that libomptarget's plugin needs beyond those of CUDA programs. It loads none of them if one is missing.
 * All work is done at once, so that streams and events have always ended.
 *
 * Source of the list: the symbols that Debian's libomptarget 22.1 looks up. */
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

/* Streams and events have no state. */
struct CUstream_st {
    enum type type;
};
struct CUevent_st {
    enum type type;
};

static const char *const NOT_IMITATED = "the stand-in does not imitate it";

CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == NO_BINARY_FOR_GPU ? "no kernel image is available for execution on the device" : "an error of the stand-in";
    return SUCCESS;
}

CUresult cuDeviceGetUuid(unsigned char uuid[16], CUdevice device) {
    NEED_INIT("cuDeviceGetUuid");
    NEED(device == 0, "cuDeviceGetUuid", "invalid device", INVALID_DEVICE);
    memset(uuid, 0x5a, 16);
    return SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice device) {
    NEED_INIT("cuDeviceTotalMem");
    NEED(device == 0, "cuDeviceTotalMem", "invalid device", INVALID_DEVICE);
    *size = (size_t)1 << 30;
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active) {
    NEED_INIT("cuDevicePrimaryCtxGetState");
    NEED(device == 0, "cuDevicePrimaryCtxGetState", "invalid device", INVALID_DEVICE);
    *flags = 0;
    *is_active = retained > 0;
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    (void)flags;
    NEED_INIT("cuDevicePrimaryCtxSetFlags");
    NEED(device == 0, "cuDevicePrimaryCtxSetFlags", "invalid device", INVALID_DEVICE);
    return SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    NEED_CONTEXT("cuCtxGetDevice");
    *device = 0;
    return SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, int limit) {
    (void)limit;
    NEED_CONTEXT("cuCtxGetLimit");
    *value = 1024;
    return SUCCESS;
}

CUresult cuCtxSetLimit(int limit, size_t value) {
    (void)limit, (void)value;
    NEED_CONTEXT("cuCtxSetLimit");
    return SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    (void)attribute;
    NEED_CONTEXT("cuFuncGetAttribute");
    NEED(function, "cuFuncGetAttribute", "null pointer for the function", INVALID_HANDLE);
    *value = 1024;
    return SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    (void)attribute, (void)value;
    NEED_CONTEXT("cuFuncSetAttribute");
    NEED(function, "cuFuncSetAttribute", "null pointer for the function", INVALID_HANDLE);
    return SUCCESS;
}

/* Target regions of the trials have two parameters: libomptarget's, and a pointer. */
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    NEED_CONTEXT("cuFuncGetParamInfo");
    NEED(device().driver >= 12040, "cuFuncGetParamInfo", "drivers before CUDA 12.4 do not have it", NOT_FOUND);
    NEED(function, "cuFuncGetParamInfo", "null pointer for the function", INVALID_HANDLE);
    if (index >= 2)
        return INVALID_VALUE;
    *offset = index * sizeof(CUdeviceptr);
    *size = sizeof(CUdeviceptr);
    return SUCCESS;
}

CUresult cuMemAllocHost_v2(void **address, size_t size) {
    NEED_CONTEXT("cuMemAllocHost");
    *address = malloc(size);
    return SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
    NEED_CONTEXT("cuMemFreeHost");
    free(address);
    return SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    (void)stream;
    return cuMemAlloc_v2(address, size);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    (void)stream;
    return cuMemFree_v2(address);
}

static CUresult need_stream(const char *call, CUstream stream) {
    NEED_CONTEXT(call);
    NEED(!stream || stream->type == TYPE_STREAM, call, "unknown stream", INVALID_HANDLE);
    return SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t size, CUstream stream) {
    CUresult result = need_stream("cuMemcpyHtoDAsync", stream);
    return result ? result : cuMemcpyHtoD_v2(target, source, size);
}

CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t size, CUstream stream) {
    CUresult result = need_stream("cuMemcpyDtoHAsync", stream);
    return result ? result : cuMemcpyDtoH_v2(target, source, size);
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    (void)flags;
    NEED_CONTEXT("cuStreamCreate");
    *stream = malloc(sizeof **stream);
    (*stream)->type = TYPE_STREAM;
    return SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    NEED_CONTEXT("cuStreamDestroy");
    NEED(stream && stream->type == TYPE_STREAM, "cuStreamDestroy", "unknown stream", INVALID_HANDLE);
    stream->type = 0;
    free(stream);
    return SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) { return need_stream("cuStreamSynchronize", stream); }

CUresult cuStreamQuery(CUstream stream) { return need_stream("cuStreamQuery", stream); }

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    (void)flags;
    NEED(event && event->type == TYPE_EVENT, "cuStreamWaitEvent", "unknown event", INVALID_HANDLE);
    return need_stream("cuStreamWaitEvent", stream);
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    (void)flags;
    NEED_CONTEXT("cuEventCreate");
    *event = malloc(sizeof **event);
    (*event)->type = TYPE_EVENT;
    return SUCCESS;
}

static CUresult need_event(const char *call, CUevent event) {
    NEED_CONTEXT(call);
    NEED(event && event->type == TYPE_EVENT, call, "unknown event", INVALID_HANDLE);
    return SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
    CUresult result = need_event("cuEventDestroy", event);
    if (result == SUCCESS) {
        event->type = 0;
        free(event);
    }
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    CUresult result = need_event("cuEventRecord", event);
    return result ? result : need_stream("cuEventRecord", stream);
}

CUresult cuEventQuery(CUevent event) { return need_event("cuEventQuery", event); }

CUresult cuEventSynchronize(CUevent event) { return need_event("cuEventSynchronize", event); }

/* Functions that no trial calls. */
#define UNUSED(name) \
    CUresult name(void) { return violation(#name, NOT_IMITATED, NOT_SUPPORTED); }
UNUSED(cuCtxEnablePeerAccess)
UNUSED(cuDeviceCanAccessPeer)
UNUSED(cuLaunchHostFunc)
UNUSED(cuMemAllocManaged)
UNUSED(cuMemcpyDtoDAsync_v2)
UNUSED(cuMemcpyPeerAsync)
UNUSED(cuMemsetD16Async)
UNUSED(cuMemsetD2D16Async)
UNUSED(cuMemsetD2D32Async)
UNUSED(cuMemsetD2D8Async)
UNUSED(cuMemsetD32Async)
UNUSED(cuMemsetD8Async)
UNUSED(cuOccupancyMaxPotentialBlockSize)
UNUSED(cuStreamAddCallback)
