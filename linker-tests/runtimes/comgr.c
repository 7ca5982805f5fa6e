/* Asks libamd_comgr what HIP asks it: which entries of a bundle are for these target ids. Prints the offset of each, or -1.
 *
 * The declarations stand here because a machine without ROCm has no header: amd_comgr.h of ROCm 5, 2.3 and later. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct { uint64_t handle; } data_t;
typedef struct { const char *isa; size_t size; uint64_t offset; } query_t;

int amd_comgr_create_data(int kind, data_t *data);
int amd_comgr_set_data(data_t data, size_t size, const char *bytes);
int amd_comgr_lookup_code_object(data_t data, query_t *queries, size_t count);

enum { KIND_FATBIN = 16 };

static char bundle[1 << 20];

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    FILE *file = fopen(arguments[1], "rb");
    if (!file)
        return 2;
    size_t size = fread(bundle, 1, sizeof bundle, file);
    data_t data;
    query_t query = {arguments[2], 0, 0};
    int status = amd_comgr_create_data(KIND_FATBIN, &data);
    status = status ? status : amd_comgr_set_data(data, size, bundle);
    status = status ? status : amd_comgr_lookup_code_object(data, &query, 1);
    if (status) {
        printf("comgr answers %d\n", status);
        return 1;
    }
    printf("%lld\n", query.size ? (long long)query.offset : -1LL);
    return 0;
}
