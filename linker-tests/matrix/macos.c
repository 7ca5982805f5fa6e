/* The part of a C library that a program of the matrix needs, for programs for macOS without one. The system calls are those of
 * Linux: macho-loader.c runs the constructors and the program. */
#include "atexit.h"

int main(void);

#ifdef __x86_64__

enum { WRITE = 1, EXIT = 231 };

static long system_call(long number, long first, const void *second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

#else

enum { WRITE = 64, EXIT = 94 };

static long system_call(long number, long first, const void *second, long third) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register const void *x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

#endif

long write(int file, const void *bytes, unsigned long size) {
    return system_call(WRITE, file, bytes, (long)size);
}

_Noreturn void _exit(int status) {
    for (;;)
        system_call(EXIT, status, 0, 0);
}

void start(void) {
    int status = main();
    call_registered();
    _exit(status);
}
