/* The host half of a cell: symbols to register, and something that runs between registering and unregistering.
 *
 * Each symbol holds its own name, by which the judge identifies it. With ENTRIES the offload entries are here, as a compiler
 * would write them; without it they come from `fatbin wrap --entry`, and the judge must print the same for both:
 *
 *     -DENTRIES -DSECTION=name -DKIND=1|2|3|4 [-DOLD_ENTRIES]
 *
 * rows.rs repeats the list of entries as options.
 */
#include <stdint.h>

long write(int file, const void *bytes, unsigned long count);

#define SYMBOL(name) char name[16] = #name

SYMBOL(kernel_stub);
SYMBOL(plain);
SYMBOL(constant);
SYMBOL(managed);
SYMBOL(managed_pointer);
SYMBOL(surface);
SYMBOL(texture);
SYMBOL(unknown_sort);

#ifdef ENTRIES
#ifdef OLD_ENTRIES
struct entry {
    void *address;
    const char *name;
    uint64_t size;
    int32_t flags;
    int32_t data;
};
#define ENTRY(kind, symbol, in_image, bytes, bits, number, aux) {symbol, in_image, bytes, bits, number}
#else
struct entry {
    uint64_t reserved;
    uint16_t version;
    uint16_t kind;
    uint32_t flags;
    void *address;
    const char *name;
    uint64_t size;
    uint64_t data;
    void *aux_address;
};
#define ENTRY(kind, symbol, in_image, bytes, bits, number, aux) {0, 1, kind, bits, symbol, in_image, bytes, number, aux}
#endif

#define TEXT(name) #name
#define SECTION_NAME(name) TEXT(name)

#ifdef _WIN32
/* The loader relocates read-only data, and linkers merge contributions to a section only if they agree on that. */
#define RELOCATED const
#else
#define RELOCATED
#endif

__attribute__((section(SECTION_NAME(SECTION)), aligned(8), used))
static RELOCATED struct entry entries[] = {
    ENTRY(KIND, kernel_stub, "answer_kernel", 0, 0, 0, 0),
#if KIND != 1 && !defined OLD_ENTRIES
    /* Another kind's in the same section: CUDA and HIP have to leave it alone. */
    ENTRY(1, plain, "an OpenMP variable", 16, 0, 0, 0),
#endif
    ENTRY(KIND, plain, "plain", 16, 0, 0, 0),
    ENTRY(KIND, constant, "constant", 12, 0x18, 0, 0),
    ENTRY(KIND, managed, "managed", 16, 1, 32, managed_pointer),
    ENTRY(KIND, surface, "surface", 8, 0x0a, 3, 0),
    ENTRY(KIND, texture, "texture", 8, 0x2b, 2, 0),
    ENTRY(KIND, unknown_sort, "unknown_sort", 8, 4, 0, 0),
};
#endif

int cell(void) {
    return write(1, "runs\n", 5) == 5 ? 0 : 1;
}
