/* What stands in for a C library where Debian has none: that of tests/hosts, and what the judge asks for beyond it.
 *
 * It relocates itself, and so must not reach anything through a table of addresses: hence hidden, declarations as well, and
 * _DYNAMIC not weak, as it has to be where there is none. */
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

/* Exit handlers run in reverse: what is registered before everything else runs after it, as destructors do. */
static void register_destructors(void) {
    atexit(run_destructors);
}

__attribute__((section(".init_array.0"), used)) static const function first = register_destructors;
