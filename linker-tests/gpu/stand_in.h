/* What the parts of the stand-in for libcuda share: the state, the record of the calls, and the requirements of calls. */
#ifndef STAND_IN_H
#define STAND_IN_H
#include "driver.h"
#include "fat_binary.h"

#pragma GCC visibility push(hidden)

/* Type of a handle, stored in its first word. */
enum type { TYPE_MODULE = 0x4d4f4455, TYPE_FUNCTION = 0x46554e43, TYPE_CONTEXT = 0x43545854, TYPE_STREAM = 0x5354524d, TYPE_EVENT = 0x45564e54 };

struct CUctx_st {
    enum type type;
};
struct CUmod_st {
    enum type type;
    struct image image;
    uint32_t addend;
    int is_library;
};
struct CUfunc_st {
    enum type type;
    struct CUmod_st *module;
};

#define MAXIMUM 4096
/* The context of the calls, NULL before cuCtxSetCurrent. */
extern struct CUctx_st *current;
extern int is_initialized;
/* References to the context of the device. */
extern int retained;

/* The device and the driver that the environment describes. */
struct device device(void);

/* Appends a line to the log. */
void record(const char *format, ...);

/* Records a call that a driver must not get, and returns its result. */
CUresult violation(const char *call, const char *what, CUresult result);

/* Returns whether a range of bytes lies in one allocation or in the variable of a module. */
int is_device_memory(CUdeviceptr address, size_t size);
int is_variable(const char *start, size_t size);

#pragma GCC visibility pop

/* Requirements of most calls. */
#define NEED_INIT(call)                                                                  \
    if (!is_initialized)                                                                 \
    return violation(call, "before cuInit", NOT_INITIALIZED)
#define NEED_CONTEXT(call)                                                               \
    NEED_INIT(call);                                                                     \
    if (!current)                                                                        \
    return violation(call, "without a context", INVALID_CONTEXT)
#define NEED(condition, call, what, result)                                              \
    if (!(condition))                                                                    \
    return violation(call, what, result)
#endif
