/* Checks embedded files through the header that fatbin embed has written. Nothing refers to the file `unused`. */
#include "files.h"

static uint64_t fnv(const unsigned char *bytes, uint64_t size) {
    uint64_t hash = 0xcbf29ce484222325;
    for (uint64_t at = 0; at < size; at++)
        hash = (hash ^ bytes[at]) * 0x100000001b3;
    return hash;
}

int check(void) {
    if (kernel_size != sizeof kernel || text_size != sizeof text)
        return 2;
    if (kernel_end - kernel != sizeof kernel || text_end - text != sizeof text)
        return 3;
    if (*kernel_end != 0 || *text_end != 0)
        return 4;
    if ((uintptr_t)kernel % 64 != 0 || (uintptr_t)text % 64 != 0)
        return 5;
    if (fnv(kernel, kernel_size) != KERNEL_HASH || fnv(text, text_size) != TEXT_HASH)
        return 6;
    return 0;
}

#ifdef WITH_INDEX
/* Also checks the table of all files, which keeps them. */
int check_index(void) {
    static const char *const names[] = {"kernel", "text", "unused"};
    if (table_count != 3 || table[0].data != kernel || table[1].data != text)
        return 7;
    for (uint64_t entry = 0; entry < table_count; entry++) {
        const char *name = names[entry];
        for (uint64_t at = 0; at == 0 || name[at - 1] != 0; at++)
            if (table[entry].name[at] != name[at])
                return 8;
    }
    return table[0].size == kernel_size && table[2].sha256[0] == UNUSED_SHA256 ? 0 : 9;
}
#endif

#if defined WINDOWS
/* The exit status of the process is what its first function returns. */
int mainCRTStartup(void) {
    return check();
}
#elif defined MACOS
/* The loader requires a constructor. */
static volatile int is_constructed;

__attribute__((constructor)) static void construct(void) {
    is_constructed = 1;
}

int main(void) {
    return is_constructed ? check() : 10;
}
#elif defined FREESTANDING
int main(void) {
    return check();
}
#else
#include <inttypes.h>
#include <stdio.h>

int main(void) {
    int status = check();
#ifdef WITH_INDEX
    if (status == 0)
        status = check_index();
#endif
    printf("%016" PRIx64 " %d\n", fnv(kernel, kernel_size), status);
    return status;
}
#endif
