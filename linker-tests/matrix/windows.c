/* The part of a C runtime that a program of the matrix needs, for programs for Windows without one: the constructors, `atexit`,
 * `write` and `_exit`. The functions of Microsoft's runtime are the same: it runs what is between its own first and last
 * contribution to the section `.CRT`.
 *
 * For ARM64 the system calls are those of Linux: pe-loader.c runs the program in an emulator.
 */
#include "atexit.h"

__attribute__((section(".CRT$XCA"), used)) static function *const first = 0;
__attribute__((section(".CRT$XCZ"), used)) static function *const last = 0;

int main(void);

#ifdef __x86_64__

void *GetStdHandle(unsigned long number);
int WriteFile(void *file, const void *bytes, unsigned long size, unsigned long *written, void *overlapped);
void ExitProcess(unsigned status);

long write(int file, const void *bytes, unsigned long size) {
    unsigned long written = 0;
    return WriteFile(GetStdHandle(file == 1 ? -11 : -12), bytes, size, &written, 0) ? (long)written : -1;
}

void _exit(int status) {
    ExitProcess(status);
}

#else

static long long system_call(long long number, long long first, const void *second, long long third) {
    register long long x8 __asm__("x8") = number;
    register long long x0 __asm__("x0") = first;
    register const void *x1 __asm__("x1") = second;
    register long long x2 __asm__("x2") = third;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

long write(int file, const void *bytes, unsigned long size) {
    return system_call(64, file, bytes, size);
}

void _exit(int status) {
    system_call(94, status, 0, 0);
}

#endif

void mainCRTStartup(void) {
    /* Through a variable, because the compiler knows that the two are different objects. */
    function *const *volatile next = &first;
    function *const *volatile end = &last;
    while (++next < end)
        if (*next)
            (*next)();
    int status = main();
    call_registered();
    _exit(status);
}
