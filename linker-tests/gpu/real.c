/* Launches a kernel of a real library, and compares its result with one that needs no GPU.
 *
 *   real curand LIBRARY         uniform numbers, compared with the library's generator on the host
 *   real nvjpeg LIBRARY         a picture of one colour
 *   real bitsandbytes LIBRARY   codes looked up in a table, and scaled
 *
 * Prints "value 1" if the results are equal, else "error CODE in CALL". */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static void *library;

#define FUNCTION(name, ...)                           \
    int (*name)(__VA_ARGS__) = NULL;                  \
    *(void **)&name = dlsym(library, #name);          \
    if (!name) {                                      \
        printf("error 0 in dlsym of " #name "\n");    \
        return 0;                                     \
    }
#define TRY(call)                                     \
    do {                                              \
        int result = call;                            \
        if (result != 0) {                            \
            printf("error %d in %s\n", result, #call); \
            return 0;                                 \
        }                                             \
    } while (0)

static int report(int is_equal) {
    puts(is_equal ? "value 1" : "error 0 in the result");
    return 0;
}

/* Source of the numbers: curand.h of CUDA 12. */
static int curand(void) {
    enum { PHILOX4_32_10 = 161, COUNT = 4096 };
    typedef struct curandGenerator_st *generator;
    FUNCTION(curandCreateGenerator, generator *, int)
    FUNCTION(curandCreateGeneratorHost, generator *, int)
    FUNCTION(curandSetPseudoRandomGeneratorSeed, generator, unsigned long long)
    FUNCTION(curandGenerate, generator, unsigned *, size_t)
    static unsigned on_device[COUNT], on_host[COUNT];
    generator device = NULL, host = NULL;
    uint64_t memory = 0;
    TRY(curandCreateGenerator(&device, PHILOX4_32_10));
    TRY(curandCreateGeneratorHost(&host, PHILOX4_32_10));
    TRY(curandSetPseudoRandomGeneratorSeed(device, 42));
    TRY(curandSetPseudoRandomGeneratorSeed(host, 42));
    TRY(allocate(&memory, sizeof on_device));
    TRY(curandGenerate(device, (unsigned *)memory, COUNT));
    TRY(copy_to_host(on_device, memory, sizeof on_device));
    TRY(curandGenerate(host, on_host, COUNT));
    return report(memcmp(on_device, on_host, sizeof on_host) == 0);
}

/* A grey picture of 8 x 8 pixels: one block whose only coefficient is 5 * 8, so that each pixel is 128 + 40 / 8. */
static const unsigned char PICTURE[] = {
    0xff, 0xd8,
    /* Table of quantization 0: 8 for all coefficients. */
    0xff, 0xdb, 0, 67, 0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
    8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
    /* Frame: 8 bits, 8 x 8, one component. */
    0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0,
    /* Codes of DC: two of two bits, for the categories 0 and 3. Codes of AC: one of one bit, for the end of the block. */
    0xff, 0xc4, 0, 21, 0x00, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3,
    0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* Scan: the category 3, the difference 5, the end of the block. */
    0xff, 0xda, 0, 8, 1, 1, 0x00, 0, 63, 0, 0x6b, 0xff, 0xd9,
};

/* Source of the numbers: nvjpeg.h of CUDA 12. */
static int nvjpeg(void) {
    enum { OUTPUT_RGBI = 5, WIDTH = 8, COUNT = WIDTH * WIDTH * 3 };
    struct picture {
        unsigned char *channels[4];
        size_t pitches[4];
    } picture = {{0}, {WIDTH * 3}};
    FUNCTION(nvjpegCreateSimple, void **)
    FUNCTION(nvjpegJpegStateCreate, void *, void **)
    FUNCTION(nvjpegDecode, void *, void *, const unsigned char *, size_t, int, struct picture *, void *)
    unsigned char pixels[COUNT];
    void *handle = NULL, *state = NULL;
    uint64_t memory = 0;
    int is_equal = 1;
    TRY(nvjpegCreateSimple(&handle));
    TRY(nvjpegJpegStateCreate(handle, &state));
    TRY(allocate(&memory, COUNT));
    picture.channels[0] = (unsigned char *)memory;
    TRY(nvjpegDecode(handle, state, PICTURE, sizeof PICTURE, OUTPUT_RGBI, &picture, NULL));
    TRY(copy_to_host(pixels, memory, COUNT));
    for (int index = 0; index < COUNT; index++)
        is_equal &= pixels[index] == 128 + 40 / 8;
    return report(is_equal);
}

/* Each byte is looked up in a table of 256 numbers, and multiplied by the scale of its block. */
static int bitsandbytes(void) {
    enum { COUNT = 4096, BLOCK = 256 };
    FUNCTION(cdequantize_blockwise_fp32, float *, unsigned char *, float *, float *, int, int, void *)
    static float table[256], scales[COUNT / BLOCK], output[COUNT];
    static unsigned char codes[COUNT];
    uint64_t tables = 0, inputs = 0, factors = 0, outputs = 0;
    int is_equal = 1;
    for (int index = 0; index < 256; index++)
        table[index] = (float)(index * 3 + 1);
    for (int index = 0; index < COUNT; index++)
        codes[index] = (unsigned char)(index * 7 + index / BLOCK);
    for (int index = 0; index < COUNT / BLOCK; index++)
        scales[index] = (float)(index + 2);
    TRY(allocate(&tables, sizeof table) || allocate(&inputs, sizeof codes));
    TRY(allocate(&factors, sizeof scales) || allocate(&outputs, sizeof output));
    TRY(copy_to_device(tables, table, sizeof table) || copy_to_device(inputs, codes, sizeof codes));
    TRY(copy_to_device(factors, scales, sizeof scales));
    /* Nothing is returned: an error of the launch ends the program. */
    cdequantize_blockwise_fp32((float *)tables, (unsigned char *)inputs, (float *)factors, (float *)outputs, BLOCK, COUNT, NULL);
    TRY(copy_to_host(output, outputs, sizeof output));
    for (int index = 0; index < COUNT; index++)
        is_equal &= output[index] == table[codes[index]] * scales[index / BLOCK];
    return report(is_equal);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(void);
    } LIBRARIES[] = {{"curand", curand}, {"nvjpeg", nvjpeg}, {"bitsandbytes", bitsandbytes}};
    char text[512] = "";
    int status = open_device(text, sizeof text);
    if (status != 0 || count != 3)
        return status ? status : 2;
    library = dlopen(arguments[2], RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        printf("error 0 in dlopen: %s\n", dlerror());
        return 0;
    }
    for (size_t index = 0; index < sizeof LIBRARIES / sizeof *LIBRARIES; index++)
        if (strcmp(arguments[1], LIBRARIES[index].name) == 0)
            return LIBRARIES[index].run();
    return 2;
}
