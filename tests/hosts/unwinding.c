/* Unwinding through the code of an object, as an exception out of a registration, debuggers and profilers do.
 *
 * The object (plan.rs) has two functions, listed in a section of their own: one calls `through`, one is also a
 * constructor and calls `in_constructor`. The unwinder is libgcc's. The judge is the compiled code of `caller`: on
 * the exceptional path its values are in registers only if every register was restored through the frame of the object's
 * function, which uses some of them itself.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

typedef void (*function)(void);
extern const function __start_judged[];

int main(void);

/* Wrong unwind rules can loop forever. */
enum { DEEPEST = 100 };

static int frames_beyond_constructor;

static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *seen) {
    const char *before_return = (const char *)_Unwind_GetIP(context) - 1;
    frames_beyond_constructor += *(int *)seen;
    if (_Unwind_FindEnclosingFunction((void *)before_return) == (void *)__start_judged[1])
        *(int *)seen = 1;
    return frames_beyond_constructor < DEEPEST ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void in_constructor(void) {
    int seen = 0;
    _Unwind_Backtrace(count, &seen);
}

/* Enough to fill every register that a function keeps for its caller; Power has most, 18. */
enum { VALUES = 20 };
struct values { long is[VALUES]; };
static volatile long source[VALUES];

static inline __attribute__((always_inline)) void check(const struct values *values) {
    int right = 1;
#pragma clang loop unroll(full)
    for (int i = 0; i < VALUES; i++)
        right &= values->is[i] == 3 * i;
    puts(right ? "values: kept" : "values: LOST");
}

__attribute__((noinline)) static void caller(void) {
    __attribute__((cleanup(check))) struct values values;
#pragma clang loop unroll(full)
    for (int i = 0; i < VALUES; i++)
        values.is[i] = source[i];
    __start_judged[0]();
}

static jmp_buf out;

/* Sees each frame on the way. */
static _Unwind_Reason_Code pass(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *nothing) {
    (void)version, (void)class, (void)exception, (void)nothing;
    void *start = (void *)_Unwind_GetRegionStart(context);
    if (start == (void *)__start_judged[0])
        puts("frame: function of the object");
    if (start == (void *)caller)
        puts("frame: caller");
    if (start == (void *)main)
        longjmp(out, 1);
    static int frames;
    if (actions & _UA_END_OF_STACK || ++frames == DEEPEST) {
        puts("frame: none, and main was not there");
        exit(1);
    }
    return _URC_NO_REASON;
}

static struct _Unwind_Exception exception;
static int unwind;

static int arguments_are_right(const int64_t *is) {
    for (int i = 0; i < 10; i++)
        if (is[i] != i)
            return 0;
    return 1;
}

/* The object's function keeps this for itself, in a register that was its caller's. */
int64_t result(void) { return -1; }

/* With so many arguments that some go over the stack everywhere. */
void through(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i,
             int64_t j) {
    int64_t all[] = {a, b, c, d, e, f, g, h, i, j};
    puts(arguments_are_right(all) ? "arguments: right" : "arguments: WRONG");
    if (unwind)
        _Unwind_ForcedUnwind(&exception, pass, NULL);
}

int main(void) {
    int is_left = frames_beyond_constructor > 0 && frames_beyond_constructor < DEEPEST;
    puts(is_left ? "constructor: its caller is found" : "constructor: NO WAY out of it is found");
    for (int i = 0; i < VALUES; i++)
        source[i] = 3 * i;
    puts("return");
    caller();
    puts("unwind");
    unwind = 1;
    if (setjmp(out) == 0)
        caller();
    puts("frame: main");
    return 0;
}
