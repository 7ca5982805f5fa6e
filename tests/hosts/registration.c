/* Judge of the code for each host: every function that the objects call, printing its arguments.
 *
 * Two objects are linked with it. One is from `fatbin wrap`; the other (plan.rs) registers a made-up fat binary as CUDA
 * and HIP do, and has functions that use the other features of a plan; they are listed in a section of their own, which
 * main reads. The output does not depend on the machine or on the load address, so it must be the same on all machines.
 *
 * All integers are received as 64 bits, which shows code that does not extend its arguments as the ABI requires. Only write
 * and atexit are used, so that it also runs without a C library (freestanding.c).
 */
#include <stddef.h>
#include <stdint.h>

long write(int file, const void *bytes, size_t size);
int atexit(void (*function)(void));

/* Layout: LLVM 20 and later, struct __tgt_offload_entry of llvm/Frontend/Offloading. */
struct entry {
    uint64_t reserved;
    uint16_t version, kind;
    uint32_t flags;
    const void *address;
    const char *name;
    uint64_t size, data;
    const void *aux_address;
};

static char kernel, variable, managed, region;

#define ENTRY __attribute__((section("llvm_offload_entries"), aligned(8), used)) static const struct entry

/* Unused bits are set, so that a load of the wrong width or a wrong mask shows. */
ENTRY entries[] = {
    {.reserved = -1, .version = -1, .kind = 2, .flags = 0xfffffff8, .address = &kernel, .name = "kernel"},
    {.version = 1, .kind = 1, .flags = 0, .address = &region, .name = "another kind"},
    {.version = -1, .kind = 2, .flags = 0xffffff18, .address = &variable, .name = "variable", .size = 4096, .data = -1},
    {.version = -1, .kind = 2, .flags = 0x00000020, .address = &variable, .name = "plain", .size = (uint64_t)1 << 33},
    {.version = 1, .kind = 2, .flags = 0x80000001, .address = &managed, .name = "managed", .size = 8,
     .data = 0x55555555fffffff9, .aux_address = &variable},
    {.version = 1, .kind = 0x102, .flags = 0, .address = &region, .name = "a kind with the same low byte"},
};

static void text(const char *bytes) {
    size_t size = 0;
    while (bytes[size])
        size++;
    write(1, bytes, size);
}

static void number(int64_t value) {
    char digits[24];
    char *start = digits + sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    *--start = 0;
    do
        *--start = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--start = '-';
    text(start);
}

static void pointer(const void *value) {
    static const struct { const void *address; const char *name; } known[] = {
        {0, "null"}, {&kernel, "&kernel"}, {&variable, "&variable"}, {&managed, "&managed"}, {&region, "&region"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].address == value) {
            text(known[i].name);
            return;
        }
    if (value >= (const void *)entries && value < (const void *)(entries + 6)) {
        text("entry ");
        number((const struct entry *)value - entries);
        return;
    }
    text("somewhere");
}

/* Prints a call: its name and its arguments. */
static int is_first;
static void begin(const char *name) { text(name); text("("); is_first = 1; }
static void separate(void) { text(is_first ? "" : ", "); is_first = 0; }
static void next_number(int64_t value) { separate(); number(value); }
static void next_pointer(const void *value) { separate(); pointer(value); }
static void next_text(const char *value) { separate(); text(value); }
static void end(void) { text(")\n"); }

/* OpenMP. */

struct image { const unsigned char *begin, *end; const struct entry *entries_begin, *entries_end; };
struct descriptor { int32_t count; const struct image *images; const struct entry *entries_begin, *entries_end; };

static void tell_descriptor(const char *name, const struct descriptor *descriptor) {
    begin(name);
    next_number(descriptor->count);
    for (int32_t i = 0; i < descriptor->count; i++) {
        const struct image *image = &descriptor->images[i];
        uint32_t sum = 0;
        for (const unsigned char *byte = image->begin; byte < image->end; byte++)
            sum = sum * 31 + *byte;
        next_number(image->end - image->begin);
        next_number(sum);
        next_pointer(image->entries_begin);
        next_number(image->entries_end - image->entries_begin);
    }
    next_pointer(descriptor->entries_begin);
    next_number(descriptor->entries_end - descriptor->entries_begin);
    end();
}

void __tgt_register_lib(const struct descriptor *descriptor) { tell_descriptor("__tgt_register_lib", descriptor); }
void __tgt_unregister_lib(const struct descriptor *descriptor) { tell_descriptor("__tgt_unregister_lib", descriptor); }

/* CUDA and HIP. The handle has all bits that a pointer can have. */

struct fat_binary { uint32_t magic, version; const char *data; uint64_t zero; };
static const uint64_t the_handle = 0xfedcba9876543210;

static void next_handle(uint64_t handle) { next_text(handle == the_handle ? "handle" : "WRONG HANDLE"); }

uint64_t open_binary(const struct fat_binary *binary) {
    begin("open_binary");
    next_number(binary->magic);
    next_number(binary->version);
    next_text(binary->data);
    next_number((int64_t)binary->zero);
    end();
    return the_handle;
}

void register_function(uint64_t handle, const void *address, const char *a, const char *b, int64_t limit, int64_t c,
                       int64_t d, int64_t e, int64_t f, const void *g) {
    begin("register_function");
    next_handle(handle);
    next_pointer(address);
    next_text(a);
    next_text(b);
    next_number(limit);
    next_number(c);
    next_number(d);
    next_number(e);
    next_number(f);
    next_pointer(g);
    end();
}

void register_variable(uint64_t handle, const void *address, const char *a, const char *b, int64_t is_extern,
                       uint64_t size, int64_t is_constant, int64_t zero) {
    begin("register_variable");
    next_handle(handle);
    next_pointer(address);
    next_text(a);
    next_text(b);
    next_number(is_extern);
    next_number((int64_t)size);
    next_number(is_constant);
    next_number(zero);
    end();
}

void register_managed(uint64_t handle, const void *aux, const void *address, const char *name, uint64_t size,
                      int64_t alignment) {
    begin("register_managed");
    next_handle(handle);
    next_pointer(aux);
    next_pointer(address);
    next_text(name);
    next_number((int64_t)size);
    next_number(alignment);
    end();
}

void finish(uint64_t handle) {
    begin("finish");
    next_handle(handle);
    end();
}

void close_binary(uint64_t handle) {
    begin("close_binary");
    next_handle(handle);
    end();
}

/* The other features of a plan. */

void ten_numbers(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i,
                 int64_t j) {
    int64_t all[] = {a, b, c, d, e, f, g, h, i, j};
    begin("ten_numbers");
    for (int k = 0; k < 10; k++)
        next_number(all[k]);
    end();
}

/* Two locals in use, and ten arguments of every kind. */
void fields(uint64_t handle, const struct entry *entry, uint64_t kind, uint64_t flags, uint64_t low_flags,
            uint64_t high_flag, const char *name, int64_t data, uint64_t variable_value, const char *inside) {
    begin("fields");
    next_handle(handle);
    next_pointer(entry);
    next_number((int64_t)kind);
    next_number((int64_t)flags);
    next_number((int64_t)low_flags);
    next_number((int64_t)high_flag);
    next_text(name);
    next_number(data);
    next_handle(variable_value);
    next_text(inside);
    end();
}

void reached(int64_t place, const struct entry *entry) {
    begin("reached");
    next_number(place);
    next_pointer(entry);
    end();
}

uint64_t handle_again(void) { return the_handle; }

/* The functions of plan.rs that nothing calls by itself. */
typedef void (*function)(void);
extern const function __start_judged[], __stop_judged[];

int judge(void) {
    text("judge\n");
    for (const function *it = __start_judged; it < __stop_judged; it++)
        (*it)();
    return 0;
}
