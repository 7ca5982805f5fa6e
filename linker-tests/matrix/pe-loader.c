/* Runs a program for Windows that has a fixed address, needs no library and makes system calls of Linux: windows.c for ARM64.
 * No emulator runs programs of Windows for ARM64, but one runs this program, and the conventions of calls are the same. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char file[4 << 20];

static uint32_t u32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

int main(int count, char **arguments) {
    int input = open(arguments[count - 1], O_RDONLY);
    long size = read(input, file, sizeof file);
    if (size <= 0 || size == sizeof file)
        return 80;
    const unsigned char *header = file + u32(file + 0x3c), *optional = header + 24;
    uint64_t base;
    memcpy(&base, optional + 24, sizeof base);
    /* Everything writable and executable: protection is not under test. */
    uint32_t image_size = u32(optional + 56);
    unsigned char *image = mmap((void *)base, image_size, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (image != (void *)base)
        return 81;
    unsigned sections = header[6] | header[7] << 8, optional_size = header[20] | header[21] << 8;
    for (const unsigned char *section = optional + optional_size; sections-- > 0; section += 40) {
        uint32_t address = u32(section + 12), stored = u32(section + 16), offset = u32(section + 20);
        memcpy(image + address, file + offset, stored);
    }
    __builtin___clear_cache((char *)image, (char *)image + image_size);
    ((void (*)(void))(base + u32(optional + 16)))();
    return 82;
}
