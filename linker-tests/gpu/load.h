/* Loading of images by the driver interface. */
#ifndef LOAD_H
#define LOAD_H
#include "driver.h"

/* Exit status without a driver or a device. */
#define NO_GPU 77

/* Opens the first device and writes a line about it: "device sm_90 13.0 NAME". Returns 0, or an exit status after a message. */
int open_device(char *text, size_t size);
void close_device(void);

/* Loads an image, launches its kernel, and prints the number that the kernel stores, which names the image that the driver
 * has taken: "value N", or "error CODE NAME". WAY is the function that gets the bytes: module, library or fatbinary; wrapper is
 * cuLibraryLoadData with a wrapper as compilers write it. */
void load(const char *way, const void *bytes);

/* Memory of the device. */
CUresult allocate(CUdeviceptr *address, size_t size);
CUresult copy_to_device(CUdeviceptr target, const void *source, size_t size);
CUresult copy_to_host(void *target, CUdeviceptr source, size_t size);
#endif
