/* parca-dev/opentelemetry-ebpf-profiler#300: the functions and lines of PC samples, each a kernel and an offset in it. The line
 * table is read once. Usage: source-lines CUBIN < SAMPLES */
#include <fatbin.h>
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv) {
    fatbin_file *file = argc > 1 ? fatbin_file_open(argv[1], 0, NULL) : NULL;
    fatbin_source_index *index = fatbin_file_source_index(file, 0, NULL);
    char kernel[4096];
    uint64_t offset;
    fatbin_frame frame;
    while (scanf("%4095s %" SCNx64, kernel, &offset) == 2) {
        size_t count = fatbin_source_index_find(index, fatbin_source_index_address(index, kernel, offset));
        printf("%s %" PRIx64 "\n", kernel, offset);
        for (size_t i = 0; i < count && fatbin_source_index_frame(index, i, &frame, sizeof frame); i++)
            printf("  %s %s %u\n", frame.function ? frame.function : "?", frame.file ? frame.file : "?", frame.line);
    }
    fatbin_source_index_free(index);
    fatbin_file_free(file);
    return index == NULL;
}
