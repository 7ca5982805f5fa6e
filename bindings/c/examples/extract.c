/* Writes the image for a processor to a file: extract FILE ARCH OUTPUT */
#include <fatbin.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: extract FILE ARCH OUTPUT\n");
        return 2;
    }
    fatbin_error *error;
    fatbin_file *file = fatbin_file_open(argv[1], FATBIN_OPEN_MAP, &error);
    int status = 1;
    for (size_t i = 0; i < fatbin_file_image_count(file); i++) {
        fatbin_image image;
        fatbin_file_image(file, i, &image, sizeof image);
        if (image.arch != NULL && strcmp(image.arch, argv[2]) == 0) {
            status = fatbin_file_extract(file, i, argv[3], &error) ? 0 : 2;
            break;
        }
    }
    if (error != NULL) {
        fprintf(stderr, "%s\n", fatbin_error_message(error));
        status = 2;
    } else if (status == 1) {
        fprintf(stderr, "%s: no image for %s\n", argv[1], argv[2]);
    }
    fatbin_error_free(error);
    fatbin_file_free(file);
    return status;
}
