/* Memory of the stand-in for libcuda: memory of the host, whose bounds each copy must keep. */
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

static struct {
    char *address;
    size_t size;
} allocations[MAXIMUM];
static size_t allocation_count;

int is_device_memory(CUdeviceptr address, size_t size) {
    char *start = (char *)(uintptr_t)address;
    for (size_t index = 0; index < allocation_count; index++)
        if (start >= allocations[index].address && size <= allocations[index].size &&
            (size_t)(start - allocations[index].address) <= allocations[index].size - size)
            return 1;
    return is_variable(start, size);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    NEED_CONTEXT("cuMemAlloc");
    NEED(size > 0 && allocation_count < MAXIMUM, "cuMemAlloc", "invalid size", INVALID_VALUE);
    char *memory = malloc(size);
    memset(memory, 0xa5, size);
    allocations[allocation_count].address = memory;
    allocations[allocation_count++].size = size;
    *address = (CUdeviceptr)(uintptr_t)memory;
    record("cuMemAlloc %zu", size);
    return SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    NEED_CONTEXT("cuMemFree");
    for (size_t index = 0; index < allocation_count; index++)
        if (allocations[index].address == (char *)(uintptr_t)address) {
            free(allocations[index].address);
            allocations[index] = allocations[--allocation_count];
            record("cuMemFree");
            return SUCCESS;
        }
    return violation("cuMemFree", "unknown address", INVALID_VALUE);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size) {
    NEED_CONTEXT("cuMemcpyHtoD");
    NEED(is_device_memory(target, size), "cuMemcpyHtoD", "out of bounds", INVALID_VALUE);
    memcpy((void *)(uintptr_t)target, source, size);
    record("cuMemcpyHtoD %zu", size);
    return SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size) {
    NEED_CONTEXT("cuMemcpyDtoH");
    NEED(is_device_memory(source, size), "cuMemcpyDtoH", "out of bounds", INVALID_VALUE);
    memcpy(target, (const void *)(uintptr_t)source, size);
    record("cuMemcpyDtoH %zu", size);
    return SUCCESS;
}
