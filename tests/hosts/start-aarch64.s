// In place of crt1.o, which in Debian 12 is not made for guarded pages: there `_start` has to be a landing pad too.
    .text
    .globl _start
_start:
    bti     j
    mov     x29, #0
    mov     x30, #0
    mov     x5, x0              // rtld_fini
    ldr     x1, [sp]            // argc
    add     x2, sp, #8          // argv
    mov     x6, sp              // stack_end
    adrp    x0, main
    add     x0, x0, :lo12:main
    mov     x3, #0              // init
    mov     x4, #0              // fini
    bl      __libc_start_main
