/* Every function of fatbin.h, with valid and invalid arguments: interface ARCHIVE HOST_OBJECT IMAGE OUTPUT_DIRECTORY
 *
 * HOST_OBJECT has an uncompressed image, ARCHIVE several members with compressed ones. Compiled as C and as C++. */
#include <fatbin.h>
#include <nvFatbin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

/* Frees an error after comparing its status and a part of its message. */
static void expect(fatbin_error *error, fatbin_status status, const char *part) {
    CHECK(error != NULL);
    if (fatbin_error_status(error) != status || strstr(fatbin_error_message(error), part) == NULL) {
        fprintf(stderr, "status %d: %s\nexpected %d: %s\n", (int)fatbin_error_status(error), fatbin_error_message(error),
                (int)status, part);
        exit(1);
    }
    fatbin_error_free(error);
}

static fatbin_file *open_file(const char *path, uint32_t flags) {
    fatbin_error *error;
    fatbin_file *file = fatbin_file_open(path, flags, &error);
    if (file == NULL) {
        fprintf(stderr, "%s\n", fatbin_error_message(error));
        exit(1);
    }
    CHECK(error == NULL && fatbin_file_problem_count(file) == 0);
    return file;
}

static unsigned char *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    unsigned char *bytes = (unsigned char *)malloc(*size + 1);
    CHECK(bytes != NULL && fseek(file, 0, SEEK_SET) == 0);
    CHECK(fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void errors(const char *host_object) {
    fatbin_error *error;
    CHECK(fatbin_file_open(NULL, 0, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "path: is NULL");
    CHECK(fatbin_file_open("/nowhere/at/all", 0, &error) == NULL);
    CHECK(fatbin_error_offset(error) == FATBIN_NONE);
    expect(error, FATBIN_STATUS_IO, "/nowhere/at/all: cannot open");
    CHECK(fatbin_file_open(host_object, 1u << 31, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "unknown flag 0x80000000");
    CHECK(fatbin_file_open("-", 0, NULL) == NULL);
    CHECK(fatbin_file_open_memory(NULL, 1, 0, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "data: is NULL");
    CHECK(fatbin_error_status(NULL) == FATBIN_STATUS_OK && fatbin_error_offset(NULL) == FATBIN_NONE);

    CHECK(fatbin_file_image_count(NULL) == 0 && fatbin_file_container_count(NULL) == 0);
    CHECK(fatbin_file_problem_count(NULL) == 0 && fatbin_file_problem(NULL, 0) == NULL);
    CHECK(!fatbin_file_read(NULL, 0, NULL, NULL, &error));
    expect(error, FATBIN_STATUS_ARGUMENT, "data: is NULL");
    fatbin_file_free(NULL);
    fatbin_wrapper_free(NULL);
    fatbin_selection_free(NULL);
    fatbin_verdict_free(NULL);
    fatbin_error_free(NULL);

    fatbin_file *file = open_file(host_object, 0);
    const uint8_t *data;
    size_t size;
    CHECK(!fatbin_file_read(file, 7, &data, &size, &error) && data == NULL && size == 0);
    expect(error, FATBIN_STATUS_ARGUMENT, "index: 7 is out of range (1 images)");
    CHECK(!fatbin_file_image(file, 7, NULL, 0) && !fatbin_file_image(file, 0, NULL, 0));
    CHECK(fatbin_file_select(file, "sm_nothing", &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "unknown device");
    CHECK(!fatbin_file_extract(file, 0, "/nowhere/at/all", &error));
    expect(error, FATBIN_STATUS_IO, "/nowhere/at/all");
    fatbin_file_free(file);

    /* The magic of an offload binary, and a size that is too large for the bytes. */
    const uint8_t damaged[32] = {0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0, 255};
    file = fatbin_file_open_memory(damaged, sizeof damaged, 0, &error);
    CHECK(file != NULL && fatbin_file_problem_count(file) == 1);
    CHECK(strstr(fatbin_file_problem(file, 0), "memory: offload binary") != NULL);
    CHECK(fatbin_file_problem(file, 1) == NULL);
    fatbin_file_free(file);
}

/* Members of an archive whose images are compressed; the buffer of one read is used for the next. */
static void archive(const char *path, const unsigned char *image, size_t image_size) {
    fatbin_file *file = open_file(path, FATBIN_OPEN_MAP | FATBIN_OPEN_HASH);
    CHECK(fatbin_file_image_count(file) == 2 && fatbin_file_container_count(file) == 2);
    for (size_t i = 0; i < 2; i++) {
        fatbin_image record;
        fatbin_container container;
        const uint8_t *data;
        size_t size;
        CHECK(fatbin_file_image(file, i, &record, sizeof record));
        CHECK(fatbin_file_container(file, record.container, &container, sizeof container));
        CHECK(strstr(record.path, i == 0 ? "!one" : "!two") != NULL && strcmp(container.path, record.path) == 0);
        CHECK(record.compressed && strcmp(record.codec, "zstd") == 0 && record.sha256 != NULL);
        CHECK(record.offset == FATBIN_NONE && container.offset != FATBIN_NONE && container.parent == FATBIN_NO_INDEX);
        CHECK(strcmp(record.container_type, "ccob") == 0 && container.version == 3);
        CHECK(strcmp(record.offload_kind, "hip") == 0 && strcmp(record.arch, "gfx90a") == 0);
        CHECK(fatbin_file_read(file, i, &data, &size, NULL));
        CHECK(size == image_size && memcmp(data, image, size) == 0 && record.size == size);
    }
    fatbin_file_free(file);
}

/* An image that is stored uncompressed is a part of the bytes of the caller. */
static void memory(const char *path, const unsigned char *image, size_t image_size) {
    size_t size, read_size;
    unsigned char *bytes = contents(path, &size);
    fatbin_file *file = fatbin_file_open_memory(bytes, size, FATBIN_OPEN_FAST, NULL);
    fatbin_image record;
    const uint8_t *data;
    CHECK(fatbin_file_image(file, 0, &record, sizeof record) && !record.compressed && record.sha256 == NULL);
    CHECK(strcmp(record.image_type, "elf") == 0 && strcmp(record.extension, "hsaco") == 0);
    CHECK(fatbin_file_read(file, 0, &data, &read_size, NULL) && data == bytes + record.offset);
    CHECK(read_size == image_size && memcmp(data, image, read_size) == 0);

    /* The records of another release may be shorter or longer. */
    struct {
        fatbin_image record;
        unsigned char more[16];
    } longer;
    memset(&longer, 0xff, sizeof longer);
    CHECK(fatbin_file_image(file, 0, &longer.record, sizeof longer));
    CHECK(longer.record.path == record.path && longer.more[0] == 0 && longer.more[15] == 0);
    fatbin_image shorter;
    memset(&shorter, 0xff, sizeof shorter);
    CHECK(fatbin_file_image(file, 0, &shorter, sizeof shorter.path));
    CHECK(shorter.path == record.path && shorter.size == UINT64_MAX);
    fatbin_file_free(file);
    free(bytes);
}

static void select_image(const char *path) {
    fatbin_file *file = open_file(path, 0);
    fatbin_selection *selection = fatbin_file_select(file, "gfx90a:sramecc+:xnack-", NULL);
    fatbin_selection *none = fatbin_file_select(file, "gfx1100", NULL);
    fatbin_file_free(file);
    fatbin_answer answer;
    CHECK(fatbin_selection_count(selection) == 1 && fatbin_selection_answer(selection, 0, &answer, sizeof answer));
    CHECK(answer.image == 0 && answer.container == 0 && answer.certain);
    CHECK(strcmp(answer.runtime, "libomptarget") == 0 && strlen(answer.reason) > 0);
    CHECK(!fatbin_selection_answer(selection, 1, &answer, sizeof answer));
    CHECK(fatbin_selection_answer(none, 0, &answer, sizeof answer) && answer.image == FATBIN_NO_INDEX);
    CHECK(strstr(answer.reason, "image 0: ") != NULL);
    fatbin_selection_free(selection);
    fatbin_selection_free(none);
}

static void wrap(const char *image_path, const unsigned char *image, size_t image_size, const char *directory) {
    char path[4096];
    fatbin_error *error;
    CHECK(fatbin_wrapper_new("opencl", NULL, NULL, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "unknown kind \"opencl\"");
    CHECK(fatbin_wrapper_new("openmp", "z80", NULL, &error) == NULL);
    expect(error, FATBIN_STATUS_UNSUPPORTED, "z80: unsupported host");
    CHECK(fatbin_wrapper_new("openmp", NULL, "llvm1", &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "unknown ABI \"llvm1\" (available: llvm10,");

    /* The same object from a file and from memory. */
    const uint8_t *data[2];
    size_t size[2];
    fatbin_wrapper *wrappers[2];
    for (int i = 0; i < 2; i++) {
        wrappers[i] = fatbin_wrapper_new("hip", "aarch64-linux-gnu", "llvm19", NULL);
        CHECK(wrappers[i] != NULL);
        if (i == 0)
            CHECK(fatbin_wrapper_add_file(wrappers[i], image_path, NULL, NULL, NULL));
        else
            CHECK(fatbin_wrapper_add_memory(wrappers[i], "kernels", image, image_size, NULL, "gfx90a", NULL));
        CHECK(fatbin_wrapper_add_entry(wrappers[i], "saxpy", "saxpy_stub", 0, 0, NULL));
        CHECK(fatbin_wrapper_object(wrappers[i], &data[i], &size[i], NULL));
    }
    CHECK(size[0] == size[1] && memcmp(data[0], data[1], size[0]) == 0);
    snprintf(path, sizeof path, "%s/wrapped.o", directory);
    CHECK(fatbin_wrapper_write(wrappers[1], path, &error) && error == NULL);
    size_t written_size;
    unsigned char *written = contents(path, &written_size);
    CHECK(written_size == size[0] && memcmp(written, data[0], written_size) == 0);
    free(written);
    snprintf(path, sizeof path, "%s/wrapped.ll", directory);
    CHECK(fatbin_wrapper_write(wrappers[1], path, NULL));
    written = contents(path, &written_size);
    written[written_size] = '\0';
    CHECK(strstr((const char *)written, "saxpy_stub") != NULL);
    free(written);

    CHECK(!fatbin_wrapper_add_file(wrappers[0], "/nowhere/at/all", NULL, NULL, &error));
    expect(error, FATBIN_STATUS_IO, "cannot open");
    CHECK(fatbin_wrapper_add_memory(wrappers[0], "twice", image, image_size, NULL, NULL, NULL));
    CHECK(!fatbin_wrapper_object(wrappers[0], &data[0], &size[0], &error) && data[0] == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "twice: duplicate image for gfx90a");
    fatbin_wrapper_free(wrappers[0]);
    fatbin_wrapper_free(wrappers[1]);
}

static void check(const char *path) {
    fatbin_error *error;
    const char *const paths[] = {path};
    CHECK(fatbin_check("[archs]\nrequire = 1\n", paths, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_POLICY, "policy:2:");
    CHECK(fatbin_check("[archs]\nrequire = [\"gfx90a\"]\n", NULL, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "paths: is NULL");
    fatbin_verdict *verdict = fatbin_check("[archs]\nrequire = [\"gfx90a\"]\n", paths, 1, NULL);
    CHECK(fatbin_verdict_outcome(verdict) == FATBIN_OUTCOME_PASSED);
    CHECK(strstr(fatbin_verdict_json(verdict), "\"schema\": \"fatbin.check/1\"") != NULL);
    fatbin_verdict_free(verdict);
    verdict = fatbin_check("[archs]\nrequire = [\"gfx942\"]\n", paths, 1, NULL);
    CHECK(fatbin_verdict_outcome(verdict) == FATBIN_OUTCOME_VIOLATED);
    CHECK(strstr(fatbin_verdict_json(verdict), "no code for gfx942") != NULL);
    fatbin_verdict_free(verdict);
}

static fatbin_source source_of(const void *data, size_t size, const char *name) {
    fatbin_source source = {NULL, 0, NULL, NULL, NULL, NULL};
    source.data = (const uint8_t *)data;
    source.size = size;
    source.name = name;
    return source;
}

/* Returns the bytes of a producer as a source, and its handle for the caller to free. */
static fatbin_source made(fatbin_bytes *bytes, fatbin_error *error) {
    if (bytes == NULL)
        fprintf(stderr, "%s\n", fatbin_error_message(error));
    CHECK(bytes != NULL && error == NULL);
    fatbin_source source = source_of(NULL, 0, "made");
    source.data = fatbin_bytes_data(bytes, &source.size);
    CHECK(source.data != NULL && source.size > 0);
    return source;
}

static size_t images_of(const fatbin_source *source) {
    fatbin_file *file = fatbin_file_open_memory(source->data, source->size, 0, NULL);
    const size_t count = fatbin_file_image_count(file);
    CHECK(fatbin_file_problem_count(file) == 0);
    fatbin_file_free(file);
    return count;
}

static const char ptx[] = ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.sync 0; ret; }\n";

static void produce(const unsigned char *image, size_t size) {
    fatbin_error *error;
    const fatbin_source hip = source_of(image, size, "hip-amdgcn-amd-amdhsa--gfx90a");
    const fatbin_source cuda = source_of(ptx, sizeof ptx - 1, "a.cu");
    const fatbin_source entries[] = {source_of("host", 4, "host-x86_64-unknown-linux-gnu"), hip};

    fatbin_bytes *packed = fatbin_pack("hip", NULL, NULL, &hip, 1, &error);
    const fatbin_source binary = made(packed, error);
    CHECK(images_of(&binary) == 1);
    CHECK(fatbin_pack("hip", "llvm1", NULL, &hip, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "llvm1");
    CHECK(fatbin_pack("hip", NULL, "xz", &hip, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "unknown codec");
    CHECK(fatbin_pack("hip", NULL, "zlib-10", &hip, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "zlib has levels 1 to 9");
    fatbin_bytes *weak = fatbin_pack("hip", NULL, "zstd-1", &hip, 1, &error);
    fatbin_bytes *strong = fatbin_pack("hip", NULL, "zstd-19", &hip, 1, &error);
    CHECK(made(strong, error).size < made(weak, error).size);
    CHECK(fatbin_pack("hip", NULL, NULL, NULL, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "images: is NULL");
    const fatbin_source damaged = source_of(image, size / 2, NULL);
    CHECK(fatbin_pack("hip", NULL, NULL, &damaged, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_MALFORMED, "memory: ");

    const fatbin_source both[] = {cuda, cuda};
    fatbin_bytes *fat = fatbin_pack_cuda("zstd", true, both, 2, &error);
    const fatbin_source container = made(fat, error);
    CHECK(images_of(&container) == 2);

    fatbin_bytes *bundle = fatbin_bundle("bc", "zstd", 2, entries, 2, &error);
    const fatbin_source bundled = made(bundle, error);
    fatbin_bytes *file = fatbin_unbundle(&bundled, hip.name, &error);
    const fatbin_source unbundled = made(file, error);
    CHECK(unbundled.size == size && memcmp(unbundled.data, image, size) == 0);
    CHECK(fatbin_unbundle(&bundled, "hip", &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "available: host-x86_64-unknown-linux-gnu, hip-");

    fatbin_bytes *object = fatbin_embed("x86_64-linux-gnu", &damaged, 1, &error);
    CHECK(object == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "name: is NULL");
    const fatbin_source named = source_of(image, size, "kernel");
    object = fatbin_embed("x86_64-linux-gnu", &named, 1, &error);
    const fatbin_source embedded = made(object, error);
    CHECK(images_of(&embedded) == 1);

    const char *const devices[] = {"gfx90a", "H100"}, *const unknown[] = {"v9"};
    const char *const forms[] = {"v3", "zstd", "best", "level-23"};
    fatbin_bytes *pruned = fatbin_prune(&binary, devices, 2, &error);
    const fatbin_source kept = made(pruned, error);
    CHECK(kept.size == binary.size && memcmp(kept.data, binary.data, kept.size) == 0);
    CHECK(fatbin_prune(&binary, devices + 1, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "nothing would be left");
    CHECK(fatbin_drop_archs(&binary, devices, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "nothing would be left");
    fatbin_bytes *dropped = fatbin_drop_archs(&binary, devices + 1, 1, &error);
    const fatbin_source left = made(dropped, error);
    CHECK(left.size == binary.size && memcmp(left.data, binary.data, left.size) == 0);
    fatbin_bytes *transcoded = fatbin_transcode(&binary, forms, 2, &error);
    const fatbin_source smaller = made(transcoded, error);
    CHECK(smaller.size < binary.size && images_of(&smaller) == 1);
    fatbin_bytes *smallest = fatbin_transcode(&binary, forms, 3, &error);
    CHECK(made(smallest, error).size < smaller.size);
    CHECK(fatbin_transcode(&binary, forms, 4, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "level 23");
    CHECK(fatbin_transcode(&binary, unknown, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "unknown form");
    const size_t first = 0, second = 1;
    fatbin_bytes *replaced = fatbin_replace(&binary, &first, &hip, 1, &error);
    const fatbin_source same = made(replaced, error);
    CHECK(same.size == binary.size && memcmp(same.data, binary.data, same.size) == 0);
    CHECK(fatbin_replace(&binary, &second, &hip, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "made: ");
    CHECK(fatbin_replace(&binary, NULL, &hip, 1, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "indexes: is NULL");
    fatbin_bytes *const all[] = {packed, weak,    strong,     fat,      bundle,   file, object,
                                 pruned, dropped, transcoded, smallest, replaced, NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fatbin_bytes_free(all[i]);
}

static void nvfatbin(void) {
    const char *options[] = {"-compress=false"}, *mistake[] = {"-bogus"};
    nvFatbinHandle handle = NULL;
    size_t size = 0;
    CHECK(nvFatbinCreate(&handle, mistake, 1) == NVFATBIN_ERROR_UNRECOGNIZED_OPTION);
    CHECK(nvFatbinDestroy(&handle) == NVFATBIN_SUCCESS && handle == NULL);
    CHECK(nvFatbinDestroy(&handle) == NVFATBIN_ERROR_NULL_POINTER);
    CHECK(nvFatbinCreate(&handle, options, 1) == NVFATBIN_SUCCESS);
    CHECK(nvFatbinAddPTX(handle, ptx, sizeof ptx, "90a", "a.cu", "-v") == NVFATBIN_SUCCESS);
    CHECK(nvFatbinAddPTX(handle, ptx, sizeof ptx, "sm_90", NULL, NULL) == NVFATBIN_ERROR_INVALID_ARCH);
    CHECK(nvFatbinAddCubin(handle, ptx, sizeof ptx, "90", NULL) == NVFATBIN_ERROR_ELF_SIZE_MISMATCH);
    CHECK(nvFatbinAddLTOIR(handle, ptx, 4, "90", NULL, NULL) == NVFATBIN_ERROR_INVALID_NVVM);
    CHECK(nvFatbinAddTileIR(handle, ptx, sizeof ptx, NULL, NULL) == NVFATBIN_ERROR_INTERNAL);
    CHECK(nvFatbinAddIndex(handle, ptx, sizeof ptx, NULL) == NVFATBIN_ERROR_INVALID_INDEX);
    CHECK(nvFatbinAddReloc(handle, ptx, 0) == NVFATBIN_ERROR_EMPTY_INPUT);
    CHECK(nvFatbinGet(handle, &size) == NVFATBIN_ERROR_INTERNAL);
    CHECK(nvFatbinSize(handle, &size) == NVFATBIN_SUCCESS && size > 100);
    void *buffer = malloc(size);
    CHECK(nvFatbinGet(handle, buffer) == NVFATBIN_SUCCESS);
    const fatbin_source container = source_of(buffer, size, NULL);
    CHECK(images_of(&container) == 1);
    free(buffer);
    CHECK(nvFatbinDestroy(&handle) == NVFATBIN_SUCCESS);
    unsigned major, minor;
    CHECK(nvFatbinVersion(&major, &minor) == NVFATBIN_SUCCESS && major == 13);
    CHECK(nvFatbinGetErrorString(NVFATBIN_SUCCESS) == NULL);
    CHECK(strcmp(nvFatbinGetErrorString(NVFATBIN_ERROR_EMPTY_INPUT), "empty input") == 0);
}

static void source_index(const char *directory, const char *without) {
    char path[4096];
    fatbin_error *error;
    snprintf(path, sizeof path, "%s/debug", directory);
    fatbin_file *file = open_file(path, 0);
    fatbin_source_index *index = fatbin_file_source_index(file, 0, &error);
    CHECK(index != NULL && error == NULL);
    CHECK(fatbin_file_source_index(file, 9, &error) == NULL);
    expect(error, FATBIN_STATUS_ARGUMENT, "out of range");
    fatbin_file_free(file);
    const uint64_t address = fatbin_source_index_address(index, "answer_kernel", 0);
    CHECK(address != FATBIN_NONE && fatbin_source_index_address(index, "nothing", 0) == FATBIN_NONE);
    CHECK(fatbin_source_index_find(index, address) >= 1);
    fatbin_frame frame;
    CHECK(fatbin_source_index_frame(index, 0, &frame, sizeof frame));
    CHECK(strcmp(frame.function, "answer_kernel") == 0 && strstr(frame.file, "answer.c") != NULL && frame.line > 0);
    CHECK(!fatbin_source_index_frame(index, 9, &frame, sizeof frame));
    CHECK(fatbin_source_index_find(index, UINT64_MAX) == 0 && fatbin_source_index_find(NULL, 0) == 0);
    fatbin_source_index_free(index);
    file = open_file(without, 0);
    index = fatbin_file_source_index(file, 0, NULL);
    /* Without a line table, the symbols name the function. */
    CHECK(fatbin_source_index_find(index, fatbin_source_index_address(index, "answer_kernel", 0)) == 1);
    CHECK(fatbin_source_index_frame(index, 0, &frame, sizeof frame) && frame.file == NULL && frame.line == 0);
    fatbin_source_index_free(index);
    fatbin_file_free(file);
}

int main(int argc, char **argv) {
    CHECK(argc == 5 && fatbin_abi_version() == FATBIN_ABI_VERSION && strcmp(fatbin_version(), "0.1.0") == 0);
    size_t size;
    unsigned char *image = contents(argv[3], &size);
    errors(argv[2]);
    archive(argv[1], image, size);
    memory(argv[2], image, size);
    select_image(argv[2]);
    wrap(argv[3], image, size, argv[4]);
    check(argv[2]);
    produce(image, size);
    nvfatbin();
    source_index(argv[4], argv[2]);

    char path[4096];
    fatbin_file *file = open_file(argv[2], 0);
    snprintf(path, sizeof path, "%s/extracted", argv[4]);
    CHECK(fatbin_file_extract(file, 0, path, NULL));
    fatbin_file_free(file);
    size_t extracted_size;
    unsigned char *extracted = contents(path, &extracted_size);
    CHECK(extracted_size == size && memcmp(extracted, image, size) == 0);
    free(extracted);
    free(image);
    printf("passed\n");
    return 0;
}
