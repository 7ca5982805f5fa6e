/* Packs two images into a CUDA fat binary, compresses it, and writes what an H100 runs: produce CUBIN PTX OUTPUT */
#include <fatbin.h>
#include <stdio.h>
#include <stdlib.h>

static fatbin_error *error;

static fatbin_source contents(const char *path) {
    fatbin_source source = {0};
    static unsigned char buffer[2][1 << 20];
    static int used;
    FILE *file = fopen(path, "rb");
    if (file == NULL || used == 2) {
        perror(path);
        exit(1);
    }
    source.data = buffer[used];
    source.size = fread(buffer[used++], 1, sizeof buffer[0], file);
    source.name = path;
    fclose(file);
    return source;
}

static fatbin_source made(fatbin_bytes *bytes) {
    fatbin_source source = {0};
    if (bytes == NULL) {
        fprintf(stderr, "%s\n", fatbin_error_message(error));
        exit(1);
    }
    source.data = fatbin_bytes_data(bytes, &source.size);
    return source;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const fatbin_source images[] = {contents(argv[1]), contents(argv[2])};
    const char *const devices[] = {"H100"}, *const forms[] = {"zstd"};
    fatbin_bytes *packed = fatbin_pack_cuda(NULL, false, images, 2, &error);
    const fatbin_source plain = made(packed);
    fatbin_bytes *smaller = fatbin_transcode(&plain, forms, 1, &error);
    const fatbin_source compressed = made(smaller);
    fatbin_bytes *pruned = fatbin_prune(&compressed, devices, 1, &error);
    const fatbin_source result = made(pruned);
    FILE *output = fopen(argv[3], "wb");
    if (output == NULL || fwrite(result.data, 1, result.size, output) != result.size || fclose(output) != 0)
        return 1;
    printf("%zu bytes, %zu compressed, %zu for the H100\n", plain.size, compressed.size, result.size);
    fatbin_bytes_free(packed);
    fatbin_bytes_free(smaller);
    fatbin_bytes_free(pruned);
    return 0;
}
