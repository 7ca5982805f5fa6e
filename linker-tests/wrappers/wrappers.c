/* What hipcc writes for two files of HIP code, but with the containers among the constants: two structures for the runtime,
 * each with a pointer to a container. */

#if defined __APPLE__
#define WRAPPERS "__HIP,__fatbin"
#define CONSTANTS ".section __TEXT,__const"
#define C_NAME "_"
#elif defined _WIN32
#define WRAPPERS ".hipFatBinSegment"
#define CONSTANTS ".section .rdata,\"dr\""
#define C_NAME ""
#else
#define WRAPPERS ".hipFatBinSegment"
#define CONSTANTS ".section .rodata"
#define C_NAME ""
#endif

__asm__(CONSTANTS "\n"
        ".p2align 4\n" C_NAME "first_code:\n.incbin \"bundle\"\n"
        ".p2align 4\n" C_NAME "second_code:\n.incbin \"bundle\"\n"
        ".text\n");

extern const char first_code[], second_code[];

struct wrapper {
    int magic;
    int version;
    const void *code;
    const void *unused;
};

#define WRAPPER __attribute__((section(WRAPPERS), used)) struct wrapper
WRAPPER first = {0x48495046, 1, first_code, 0};
WRAPPER second = {0x48495046, 1, second_code, 0};

int main(void) { return first.version - second.version; }
