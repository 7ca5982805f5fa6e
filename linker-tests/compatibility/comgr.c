/* Asks libamd_comgr about code objects. Prints for each file, in the order of the arguments after the library: the name of
 * its instruction set, or "-", then the names of its kernels. Kernels have symbols of a separate type in version 2, and later
 * a descriptor with the suffix .kd. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct { uint64_t handle; } handle_t;

enum { KIND_RELOCATABLE = 7, KIND_EXECUTABLE = 8 };
enum { NAME_LENGTH = 0, NAME = 1, TYPE = 2 };
enum { TYPE_KERNEL = 10 };

static int (*symbol_info)(handle_t, int, void *);
static char bytes[1 << 20];

static int print_kernel(handle_t symbol, void *unused) {
    uint64_t length = 0;
    int type = 0;
    static char name[4096];
    (void)unused;
    symbol_info(symbol, TYPE, &type);
    symbol_info(symbol, NAME_LENGTH, &length);
    if (length + 1 > sizeof name)
        return 1;
    memset(name, 0, sizeof name);
    symbol_info(symbol, NAME, name);
    char *suffix = strstr(name, ".kd");
    if (suffix)
        *suffix = 0;
    if (suffix || type == TYPE_KERNEL)
        printf(" %s", name);
    return 0;
}

int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    int (*create)(int, handle_t *) = dlsym(library, "amd_comgr_create_data");
    int (*set)(handle_t, size_t, const char *) = dlsym(library, "amd_comgr_set_data");
    int (*isa_name)(handle_t, size_t *, char *) = dlsym(library, "amd_comgr_get_data_isa_name");
    int (*symbols)(handle_t, int (*)(handle_t, void *), void *) = dlsym(library, "amd_comgr_iterate_symbols");
    int (*release)(handle_t) = dlsym(library, "amd_comgr_release_data");
    symbol_info = dlsym(library, "amd_comgr_symbol_get_info");
    for (int number = 2; number < count; number++) {
        FILE *file = fopen(arguments[number], "rb");
        if (!file)
            return 1;
        size_t size = fread(bytes, 1, sizeof bytes, file), length = 0;
        fclose(file);
        /* e_type: 1 is ET_REL. */
        int kind = bytes[16] == 1 ? KIND_RELOCATABLE : KIND_EXECUTABLE;
        handle_t data;
        char name[256] = "-";
        if (create(kind, &data) || set(data, size, bytes))
            return 1;
        if (!isa_name(data, &length, NULL) && length < sizeof name)
            isa_name(data, &length, name);
        printf("%s", name);
        if (name[0] != '-')
            symbols(data, print_kernel, NULL);
        puts("");
        release(data);
    }
    return 0;
}
