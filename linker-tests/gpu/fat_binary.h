/* Reader of CUDA images for the stand-in of the driver. It shares no code with fatbin: both follow the documents. */
#ifndef FAT_BINARY_H
#define FAT_BINARY_H
#include <stddef.h>
#include <stdint.h>

enum form { FORM_PTX = 1, FORM_CUBIN = 2, FORM_OTHER = 0 };

/* An image, decompressed. */
struct image {
    enum form form;
    int sm;
    /* 'a', 'f' or 0. */
    char suffix;
    /* Version of the driver's interface that first loads it, such as 12040; 0 for any. */
    int floor;
    unsigned char *bytes;
    size_t size;
    int is_grouped;
};

struct device {
    int sm;
    int driver;
};

/* Reads the images behind a pointer that a program passes to the driver: a wrapper, a fat binary, a cubin or PTX. Returns NULL
 * if the pointer is valid, and otherwise the violation. */
const char *read_images(const void *pointer, struct image **images, size_t *count, const char **what);

/* Returns the index of the image that the driver loads, or -1 with an error code. */
int choose_image(const struct image *images, size_t count, struct device device, int *error);

/* Returns the number that the kernel of an image stores, or -1. */
long marker_of(const struct image *image);

/* Returns whether an image has a kernel or a variable of this name. */
int has_kernel(const struct image *image, const char *name);
int has_variable(const struct image *image, const char *name);

void free_images(struct image *images, size_t count);
#endif
