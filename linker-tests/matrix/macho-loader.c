/* Runs a program for macOS that has a fixed address, needs no library and makes system calls of Linux: macos.c. It maps the
 * segments, calls the constructors and then the entry point. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENT = 0x19, MAIN = 0x80000028, CONSTRUCTORS = 9, PAGE = 0x1000 };

typedef void function(void);

static unsigned char file[4 << 20];

static uint32_t u32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t u64(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Maps a segment writable and executable: protection is not under test. */
static int map(const unsigned char *segment) {
    uint64_t address = u64(segment + 24), size = u64(segment + 32), offset = u64(segment + 40), stored = u64(segment + 48);
    if (stored == 0 && offset == 0 && memcmp(segment + 8, "__PAGEZERO", 10) == 0)
        return 0;
    size = (size + PAGE - 1) / PAGE * PAGE;
    void *at = mmap((void *)address, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != (void *)address)
        return 81;
    memcpy(at, file + offset, stored);
    __builtin___clear_cache((char *)at, (char *)at + size);
    return 0;
}

int main(int count, char **arguments) {
    int input = open(arguments[count - 1], O_RDONLY);
    long size = read(input, file, sizeof file);
    if (size <= 0 || size == sizeof file)
        return 80;
    uint64_t text = 0, entry = 0, constructors = 0, constructors_size = 0;
    const unsigned char *command = file + 32;
    for (uint32_t number = u32(file + 16); number-- > 0; command += u32(command + 4)) {
        if (u32(command) == MAIN)
            entry = u64(command + 8);
        if (u32(command) != SEGMENT)
            continue;
        int status = map(command);
        if (status != 0)
            return status;
        if (memcmp(command + 8, "__TEXT", 7) == 0)
            text = u64(command + 24);
        const unsigned char *section = command + 72;
        for (uint32_t sections = u32(command + 64); sections-- > 0; section += 80)
            if ((u32(section + 64) & 0xff) == CONSTRUCTORS) {
                constructors = u64(section + 32);
                constructors_size = u64(section + 40);
            }
    }
    if (text == 0 || entry == 0 || constructors == 0)
        return 82;
    for (uint64_t at = constructors; at < constructors + constructors_size; at += 8)
        ((function *)u64((const unsigned char *)at))();
    ((function *)(text + entry))();
    return 83;
}
