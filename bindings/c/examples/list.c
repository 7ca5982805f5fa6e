/* Lists the device images of files: list FILE... */
#include <fatbin.h>

#include <stdio.h>

static const char *or_dash(const char *text) {
    return text != NULL ? text : "-";
}

static int list(const char *path) {
    fatbin_error *error;
    fatbin_file *file = fatbin_file_open(path, FATBIN_OPEN_HASH, &error);
    if (file == NULL) {
        fprintf(stderr, "%s\n", fatbin_error_message(error));
        fatbin_error_free(error);
        return 1;
    }
    for (size_t i = 0; i < fatbin_file_image_count(file); i++) {
        fatbin_image image;
        const uint8_t *data;
        size_t size;
        fatbin_file_image(file, i, &image, sizeof image);
        if (!fatbin_file_read(file, i, &data, &size, &error)) {
            fprintf(stderr, "%s\n", fatbin_error_message(error));
            fatbin_error_free(error);
            fatbin_file_free(file);
            return 1;
        }
        printf("%s: %s %s %s %s: %zu bytes%s, SHA-256 %02x%02x...\n", image.path, image.container_type,
               or_dash(image.offload_kind), or_dash(image.triple), or_dash(image.arch), size,
               image.compressed ? ", compressed" : "", (unsigned)image.sha256[0], (unsigned)image.sha256[1]);
    }
    for (size_t i = 0; i < fatbin_file_problem_count(file); i++)
        fprintf(stderr, "%s\n", fatbin_file_problem(file, i));
    fatbin_file_free(file);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= list(argv[i]);
    return failed;
}
