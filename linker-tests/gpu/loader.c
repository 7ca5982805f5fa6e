/* Loads images from files.
 *
 *   loader               prints the device and exits; status 77 without a driver or a device
 *   loader batch         reads lines WAY FILE, and prints the result of each */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

/* Returns the bytes of a file, aligned, and followed by NUL, as PTX needs it. */
static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        printf("error 0 cannot read %s\n", path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = aligned_alloc(64, (*size + 64) / 64 * 64);
    memset(bytes + *size, 0, (*size + 64) / 64 * 64 - *size);
    if (fread(bytes, 1, *size, file) != *size)
        exit(1);
    fclose(file);
    return bytes;
}

int main(int count, char **arguments) {
    char text[512] = "", line[4096];
    int status = open_device(text, sizeof text);
    if (status != 0)
        return status;
    puts(text);
    if (count < 2 || strcmp(arguments[1], "batch") != 0)
        return 0;
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin)) {
        char way[32], path[2048];
        size_t size = 0;
        if (sscanf(line, "%31s %2047[^\n]", way, path) != 2)
            return 1;
        void *bytes = read_file(path, &size);
        load(way, bytes);
        free(bytes);
    }
    close_device();
    return 0;
}
