/* Replacement of a C library where Debian has none: that of tests/hosts, and the functions that only the judge needs.
 *
 * It relocates itself, so it must not access anything through a table of addresses: hence the hidden visibility, also of
 * declarations, and _DYNAMIC is not weak, as it must be where it is undefined. */
#ifdef RELOCATES_ITSELF
#define weak
#endif
#pragma GCC visibility push(hidden)
#include "../../tests/hosts/freestanding.c"

_Noreturn void _exit(int status) {
    for (;;)
        system_call(EXIT, status, 0, 0);
}

extern const function __fini_array_start[], __fini_array_end[];

static void run_destructors(void) {
    for (const function *it = __fini_array_end; it > __fini_array_start;)
        (*--it)();
}

/* Exit handlers run in reverse order: the first one registered runs last, as destructors do. */
static void register_destructors(void) {
    atexit(run_destructors);
}

__attribute__((section(".init_array.0"), used)) static const function first = register_destructors;
