// An exception that leaves a registration function must unwind through the constructor of the wrapper object, and
// restore every register that the constructor has saved.
//
// At program start nothing is thrown, because nothing could catch it. Instead the stack is walked, through our frame to
// the caller of the constructors. Then `main` calls the constructors again, inside a try block.
#include <cstdio>
#include <cstdlib>
#include <unwind.h>

static int calls;

static _Unwind_Reason_Code count_frame(_Unwind_Context *, void *count) {
    ++*static_cast<int *>(count);
    return _URC_NO_REASON;
}

static void registration() {
    if (calls++ != 0)
        throw 42;
    int frames = 0;
    _Unwind_Backtrace(count_frame, &frames);
    // This function, the one that called it, the constructor, its caller in the C library, _start.
    if (frames < 5) {
        std::printf("only %d frames\n", frames);
        std::exit(1);
    }
}

extern "C" {
void __tgt_register_lib(void *) { registration(); }
void __tgt_unregister_lib(void *) {}

static void *handle;
void **__cudaRegisterFatBinary(void *) { return &handle; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
int __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *, void *, void *, int *) {
    registration();
    return 0;
}
void __cudaRegisterVar(void **, char *, char *, const char *, int, std::size_t, int, int) {}
void __cudaRegisterManagedVar(void **, void *, void *, const char *, std::size_t, int) {}

char kernel_stub;

typedef void (*constructor)(int, char **, char **);
extern constructor __init_array_start[] __attribute__((visibility("hidden")));
extern constructor __init_array_end[] __attribute__((visibility("hidden")));
}

// More values than there are registers that a callee has to keep: some of them live there across the call.
__attribute__((noinline)) static int throws_through(constructor function, int a, int b, int c, int d, int e, int f, int g) {
    int caught = 0;
    try {
        function(0, nullptr, nullptr);
    } catch (int value) {
        caught = value;
    }
    return caught == 0 ? 0 : a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 ? caught : -1;
}

int main(int count, char **) {
    std::printf("started, %d calls\n", calls);
    for (constructor *function = __init_array_start; function < __init_array_end; function++)
        if (int caught = throws_through(*function, count, count + 1, count + 2, count + 3, count + 4, count + 5, count + 6))
            std::printf("caught %d\n", caught);
}
