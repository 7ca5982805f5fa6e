/* The parts of a C library around main, for loongarch64, for which Debian 12 has no C library: relocation of a static PIE,
 * constructors, exit handlers. System calls and their numbers: the kernel's include/uapi/asm-generic/unistd.h. */
#include <stddef.h>
#include <stdint.h>

int main(void);

typedef void (*function)(void);
/* ELF's structures; the headers of another machine's C library do not fit this one. */
typedef struct { int64_t tag; uint64_t value; } dynamic;
typedef struct { uint64_t offset, info; int64_t addend; } relocation;
enum { DT_NULL = 0, DT_RELA = 7, DT_RELASZ = 8, R_LARCH_RELATIVE = 3 };

extern const function __init_array_start[], __init_array_end[];
extern const dynamic _DYNAMIC[] __attribute__((weak, visibility("hidden")));
extern char __ehdr_start[] __attribute__((visibility("hidden")));

static function handlers[32];
static int handler_count;

enum { WRITE = 64, EXIT = 93 };

static long system_call(long number, long a, long b, long c) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    __asm__ volatile("syscall 0" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2)
                     : "memory", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8");
    return a0;
}

long write(int file, const void *bytes, size_t size) { return system_call(WRITE, file, (long)bytes, (long)size); }

int atexit(function handler) {
    handlers[handler_count++] = handler;
    return 0;
}

/* Adds the load address to every pointer; a program without libraries has no other relocations. */
static void relocate(void) {
    const relocation *table = NULL;
    size_t count = 0;
    for (const dynamic *it = _DYNAMIC; it && it->tag != DT_NULL; it++) {
        if (it->tag == DT_RELA)
            table = (const relocation *)(__ehdr_start + it->value);
        if (it->tag == DT_RELASZ)
            count = it->value / sizeof *table;
    }
    for (size_t i = 0; i < count; i++) {
        if ((uint32_t)table[i].info != R_LARCH_RELATIVE)
            system_call(EXIT, 70, 0, 0);
        *(uint64_t *)(__ehdr_start + table[i].offset) = (uint64_t)__ehdr_start + table[i].addend;
    }
}

void _start(void) {
    relocate();
    for (const function *it = __init_array_start; it < __init_array_end; it++)
        (*it)();
    int status = main();
    while (handler_count)
        handlers[--handler_count]();
    system_call(EXIT, status, 0, 0);
}
