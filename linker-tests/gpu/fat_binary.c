/* CUDA images: layout of fat binaries, decompression, and the driver's choice.
 *
 * Sources: cuobjdump and fatbinary 13.5 (layout), CUDA C Programming Guide, section Application Compatibility, and the
 * Blackwell Compatibility Guide (which code runs where), CUDA Compatibility, section Minor Version Compatibility, the manual of
 * nvcc, option --compress-mode, and NVIDIA's cuda-bindings 13.5 (oldest driver). */
#define _GNU_SOURCE
#include "fat_binary.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define CONTAINER_MAGIC 0xba55ed50u
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define FLAG_SPECIFIC 0x100000u
#define FLAG_FAMILY 0x200000u
#define KIND_GROUP 0x100

static uint16_t u16(const unsigned char *at) { return (uint16_t)(at[0] | at[1] << 8); }
static uint32_t u32(const unsigned char *at) { return u16(at) | (uint32_t)u16(at + 2) << 16; }
static uint64_t u64(const unsigned char *at) { return u32(at) | (uint64_t)u32(at + 4) << 32; }

/* First release of CUDA that knows a version of the PTX ISA. */
static int ptx_floor(int version) {
    static const int table[][2] = {
        {60, 9000},  {61, 9010},  {62, 9020},  {63, 10000}, {64, 10010}, {65, 10020}, {70, 11000}, {71, 11010}, {72, 11020},
        {73, 11030}, {74, 11040}, {75, 11050}, {76, 11060}, {77, 11070}, {78, 11080}, {80, 12000}, {81, 12010}, {82, 12020},
        {83, 12030}, {84, 12040}, {85, 12050}, {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}, {91, 13010}, {92, 13020},
        {93, 13030}, {94, 13040}, {95, 13050},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++)
        if (table[row][0] == version)
            return table[row][1];
    return version < 60 ? 0 : 1000000;
}

/* First release of CUDA with an architecture. */
static int sm_floor(int sm, char suffix) {
    if (sm == 90 && suffix == 'a')
        return 12000;
    if (sm == 100 || sm == 101 || sm == 120)
        return suffix == 'f' ? 12090 : 12080;
    if (sm == 103 || sm == 121)
        return 12090;
    return sm == 110 || sm == 88 ? 13000 : sm == 107 ? 13040 : sm >= 89 ? 11080 : sm >= 80 ? 11000 : 0;
}

/* First release of the major version of the toolkit, from the note with the version of ptxas. */
static int noted_toolkit(const unsigned char *bytes, size_t size) {
    const char *text = memmem(bytes, size, "Cuda compilation tools, release ", 32);
    return text ? atoi(text + 32) * 1000 : 0;
}

/* Oldest driver for a cubin: the first one of the major release of its toolkit, and the first one with the architecture. */
static int cubin_floor(const struct image *image) {
    int floor = sm_floor(image->sm, image->suffix), toolkit = 0;
    if (image->bytes[7] == 0x33)
        toolkit = (int)u32(image->bytes + 20) / 10 * 1000;
    else
        toolkit = image->sm < 100 ? 13000 : noted_toolkit(image->bytes, image->size);
    return toolkit > floor ? toolkit : floor;
}

/* Decompresses an LZ4 block. Source: LZ4 Block Format Description. */
static int unpack_lz4(const unsigned char *in, size_t size, unsigned char *out, size_t length) {
    size_t at = 0, done = 0;
    while (at < size) {
        unsigned token = in[at++];
        size_t run = token >> 4, match = token & 15;
        for (unsigned char more = 255; run >= 15 && more == 255 && at < size;)
            run += more = in[at++];
        if (run > size - at || run > length - done)
            return 0;
        memcpy(out + done, in + at, run);
        done += run;
        at += run;
        if (at >= size)
            break;
        if (size - at < 2)
            return 0;
        size_t distance = u16(in + at);
        at += 2;
        for (unsigned char more = 255; match >= 15 && more == 255 && at < size;)
            match += more = in[at++];
        match += 4;
        if (distance == 0 || distance > done || match > length - done)
            return 0;
        for (; match > 0; match--, done++)
            out[done] = out[done - distance];
    }
    return done == length;
}

static int unpack_zstd(const unsigned char *in, size_t size, unsigned char *out, size_t length) {
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    size_t (*decompress)(void *, size_t, const void *, size_t) =
        library ? (size_t(*)(void *, size_t, const void *, size_t))dlsym(library, "ZSTD_decompress") : NULL;
    return decompress && decompress(out, length, in, size) == length;
}

/* Returns the bytes of an entry, decompressed; NULL if they are invalid. */
static unsigned char *unpack(const unsigned char *entry, uint64_t flags, size_t *size) {
    const unsigned char *stored = entry + u32(entry + 4);
    size_t length = u64(entry + 8), packed = u32(entry + 16), full = u64(entry + 56);
    int is_packed = (flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
    if (is_packed && packed > length)
        return NULL;
    *size = is_packed ? full : length;
    unsigned char *bytes = calloc(1, *size + 1);
    if (!is_packed) {
        memcpy(bytes, stored, length);
        return bytes;
    }
    int is_valid = flags & FLAG_ZSTD ? unpack_zstd(stored, packed, bytes, full) : unpack_lz4(stored, packed, bytes, full);
    if (!is_valid) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static void describe(struct image *image, const unsigned char *entry, int kind, uint64_t flags) {
    image->form = kind == 1 ? FORM_PTX : kind == 2 ? FORM_CUBIN : FORM_OTHER;
    image->sm = (int)u32(entry + 28);
    image->suffix = flags & FLAG_SPECIFIC ? 'a' : flags & FLAG_FAMILY ? 'f' : 0;
    if (image->form == FORM_PTX)
        image->floor = ptx_floor(u16(entry + 26) * 10 + u16(entry + 24));
    else if (image->form == FORM_CUBIN && image->size >= 64)
        image->floor = cubin_floor(image);
    if (flags & FLAG_ZSTD && image->floor < 12040)
        image->floor = 12040;
}

/* Size of the header of a member: 64 bytes, and the strings for options and identifier, each with its NUL. */
static size_t member_header(const unsigned char *header) {
    uint32_t options = u32(header + 20), name = u32(header + 32), end = 64;
    if (options)
        end = u32(header + options) + u32(header + options + 4) + 1;
    if (name && name + u32(header + 36) + 1 > end)
        end = name + u32(header + 36) + 1;
    return (end + 7) / 8 * 8;
}

/* A group: images compressed as one, with a header for each at the start. */
static const char *read_group(const unsigned char *entry, uint64_t flags, struct image **images, size_t *count) {
    size_t size = 0;
    const unsigned char *table = entry + 64, *header = table + 8;
    unsigned char *blob = unpack(entry, flags, &size);
    if (!blob)
        return "group: cannot be decompressed";
    uint32_t members = u32(table);
    for (uint32_t member = 0; member < members; member++, header += member_header(header)) {
        size_t offset = u32(header + 4), length = u64(header + 8);
        if (header >= entry + u32(entry + 4) || offset > size || length > size - offset)
            return "group: member out of bounds";
        *images = realloc(*images, (*count + 1) * sizeof **images);
        struct image *image = &(*images)[(*count)++];
        *image = (struct image){.size = length, .bytes = calloc(1, length + 1)};
        memcpy(image->bytes, blob + offset, length);
        describe(image, header, u16(header), u64(header + 40) | (flags & FLAG_ZSTD));
        /* Driver 580.159.04, of CUDA 13.0, ignores groups. */
        image->is_grouped = 1;
    }
    free(blob);
    return NULL;
}

static const char *read_container(const unsigned char *bytes, struct image **images, size_t *count) {
    if (u16(bytes + 4) != 1 || u16(bytes + 6) != 16)
        return "fat binary: invalid version or size of the header";
    const unsigned char *entry = bytes + 16, *end = entry + u64(bytes + 8);
    while (entry < end) {
        if ((size_t)(end - entry) < 64)
            return "fat binary: truncated entry";
        size_t header = u32(entry + 4), stored = u64(entry + 8);
        if (header < 64 || header > (size_t)(end - entry) || stored > (size_t)(end - entry) - header || stored % 8)
            return "fat binary: invalid size of an entry";
        uint64_t flags = u64(entry + 40);
        if (!(flags & 1))
            return "fat binary: entry not for 64-bit programs";
        if (u16(entry) == KIND_GROUP) {
            const char *violation = read_group(entry, flags, images, count);
            if (violation)
                return violation;
        } else {
            *images = realloc(*images, (*count + 1) * sizeof **images);
            struct image *image = &(*images)[(*count)++];
            *image = (struct image){0};
            image->bytes = unpack(entry, flags, &image->size);
            if (!image->bytes)
                return "fat binary: entry cannot be decompressed";
            describe(image, entry, u16(entry), flags);
            if (image->form == FORM_CUBIN && memcmp(image->bytes, "\177ELF", 4) != 0)
                return "fat binary: entry for a cubin holds none";
            if (image->form == FORM_PTX && !memmem(image->bytes, image->size, ".version", 8))
                return "fat binary: entry for PTX holds none";
        }
        entry += header + stored;
    }
    return NULL;
}

static const char *read_cubin(const unsigned char *bytes, struct image *image) {
    uint64_t sections = u64(bytes + 40), programs = u64(bytes + 32);
    size_t of_sections = sections + (size_t)u16(bytes + 58) * u16(bytes + 60);
    size_t of_programs = programs + (size_t)u16(bytes + 54) * u16(bytes + 56);
    if (bytes[4] != 2 || u16(bytes + 18) != 190)
        return "cubin: not an ELF file for CUDA of 64 bits";
    image->form = FORM_CUBIN;
    image->size = of_sections > of_programs ? of_sections : of_programs;
    image->bytes = calloc(1, image->size + 1);
    memcpy(image->bytes, bytes, image->size);
    uint32_t flags = u32(bytes + 48);
    image->sm = bytes[7] == 0x33 ? (int)(flags & 0xff) : (int)(flags >> 8 & 0xff);
    if (bytes[7] == 0x33 ? flags & 0x800 : flags & 8)
        image->suffix = 'a';
    /* The tools of CUDA 13 state the suffix in the attribute 9 of .nv.compat only. */
    if (bytes[7] == 0x41 && memmem(image->bytes, image->size, "\002\011\001\000", 4))
        image->suffix = 'a';
    image->floor = cubin_floor(image);
    return NULL;
}

static const char *read_ptx(const char *text, struct image *image) {
    const char *version = strstr(text, ".version "), *target = strstr(text, ".target sm_");
    if (!version || !target)
        return "neither wrapper, fat binary, cubin nor PTX";
    const char *point = strchr(version + 9, '.');
    int major = atoi(version + 9), minor = point ? atoi(point + 1) : 0;
    image->form = FORM_PTX;
    image->sm = atoi(target + 11);
    const char *suffix = target + 11 + strspn(target + 11, "0123456789");
    image->suffix = *suffix == 'a' || *suffix == 'f' ? *suffix : 0;
    image->floor = ptx_floor(major * 10 + minor);
    image->size = strlen(text);
    image->bytes = (unsigned char *)strdup(text);
    return NULL;
}

const char *read_images(const void *pointer, struct image **images, size_t *count, const char **what) {
    *images = NULL;
    *count = 0;
    *what = "nothing";
    if (!pointer)
        return "null pointer";
    const struct wrapper *wrapper = pointer;
    *what = "fat binary";
    if (wrapper->magic == WRAPPER_MAGIC) {
        *what = "wrapper";
        if ((uintptr_t)pointer % 8)
            return "wrapper: not aligned to 8 bytes";
        if (wrapper->version != 1 && wrapper->version != 2)
            return "wrapper: unknown version";
        pointer = wrapper->data;
        if (!pointer || (uintptr_t)pointer % 8)
            return "wrapper: invalid pointer to the fat binary";
    }
    const unsigned char *bytes = pointer;
    if (u32(bytes) == CONTAINER_MAGIC)
        return read_container(bytes, images, count);
    *images = calloc(1, sizeof **images);
    *count = 1;
    *what = memcmp(bytes, "\177ELF", 4) == 0 ? "cubin" : "PTX";
    return **what == 'c' ? read_cubin(bytes, *images) : read_ptx((const char *)bytes, *images);
}

static int is_embedded(int sm) { return sm == 53 || sm == 62 || sm == 72 || sm == 87 || sm == 101 || sm == 110; }

/* Family of an architecture, by its first member. */
static int family(int sm) {
    switch (sm) {
    case 103:
    case 107:
        return 100;
    case 121:
        return 120;
    default:
        return sm;
    }
}

static int is_family(int one, int other) { return family(one) == family(other); }

static int runs(const struct image *image, int sm) {
    if (image->form == FORM_OTHER || image->sm > sm)
        return 0;
    /* CUDA 13 renamed sm_101 to sm_110. */
    if (image->sm == 101 && sm == 110)
        return 1;
    if (image->suffix == 'a')
        return image->sm == sm;
    if (image->suffix == 'f')
        return is_family(image->sm, sm);
    return image->form == FORM_PTX || (image->sm / 10 == sm / 10 && is_embedded(image->sm) == is_embedded(sm));
}

/* Suffixes restrict where code runs: the more restricted image is taken to be the closer one. */
static int rank(const struct image *image) {
    return image->sm * 4 + (image->suffix == 'a' ? 2 : image->suffix == 'f');
}

int choose_image(const struct image *images, size_t count, struct device device, int *error) {
    int cubin = -1, ptx = -1;
    *error = NO_BINARY_FOR_GPU;
    for (size_t index = 0; index < count; index++) {
        const struct image *image = &images[index];
        if (!runs(image, device.sm) || (image->is_grouped && device.driver <= 13000))
            continue;
        if (image->form == FORM_CUBIN && image->floor > device.driver) {
            *error = INVALID_IMAGE;
            continue;
        }
        int *best = image->form == FORM_PTX ? &ptx : &cubin;
        if (*best < 0 || rank(image) > rank(&images[*best]))
            *best = (int)index;
    }
    if (cubin >= 0 || ptx < 0)
        return cubin;
    /* The version of PTX has no part in the choice. */
    if (images[ptx].floor > device.driver) {
        *error = UNSUPPORTED_PTX_VERSION;
        return -1;
    }
    return ptx;
}

long marker_of(const struct image *image) {
    if (image->form == FORM_PTX) {
        const char *marker = memmem(image->bytes, image->size, "image_marker", 12);
        marker = marker ? strchr(marker, ',') : NULL;
        return marker ? strtol(marker + 1, NULL, 10) : -1;
    }
    const uint64_t magic = MARKER_MAGIC;
    const unsigned char *marker = memmem(image->bytes, image->size, &magic, 8);
    return marker && marker + 16 <= image->bytes + image->size ? (long)u64(marker + 8) : -1;
}

static int has(const struct image *image, const char *before, const char *name, char after) {
    char text[128];
    size_t length = strlen(before) + strlen(name) + 1;
    if (length > sizeof text)
        return 0;
    strcpy(text, before);
    strcat(text, name);
    text[length - 1] = after;
    return memmem(image->bytes, image->size, text, length) != NULL;
}

int has_kernel(const struct image *image, const char *name) {
    return image->form == FORM_PTX ? has(image, ".entry ", name, '(') : has(image, ".text.", name, 0);
}

int has_variable(const struct image *image, const char *name) {
    if (image->form == FORM_PTX)
        return has(image, ".u32 ", name, ' ');
    return memmem(image->bytes, image->size, name, strlen(name) + 1) != NULL;
}

void free_images(struct image *images, size_t count) {
    for (size_t index = 0; index < count; index++)
        free(images[index].bytes);
    free(images);
}
