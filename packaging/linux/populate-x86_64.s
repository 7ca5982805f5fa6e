/* The entry point of the program. It asks for all pages of writable data in one call, before the C library relocates
   pointers in them: a page fault for each of 45 pages takes a tenth of the time of a short run. A kernel before 5.14 refuses
   the call, and the pages come one by one. */
        .globl fatbin_start
        .type fatbin_start, @function
        .section .text.fatbin_start, "ax", @progbits
fatbin_start:
        lea __init_array_start(%rip), %rdi
        and $-4096, %rdi
        lea _edata(%rip), %rsi
        sub %rdi, %rsi
        mov $23, %edx           /* MADV_POPULATE_WRITE */
        mov $28, %eax           /* madvise */
        syscall
        xor %edx, %edx          /* No function to call at exit, as the kernel passes it. */
        jmp _start
        .size fatbin_start, . - fatbin_start
        .section .note.GNU-stack, "", @progbits
