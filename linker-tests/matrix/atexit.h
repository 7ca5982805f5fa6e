/* The functions that a program registers for its end, for runtimes of the matrix without a C library. */
typedef void function(void);

static function *registered[8];
static int count;

int atexit(function *called) {
    if (count == 8)
        return 1;
    registered[count++] = called;
    return 0;
}

/* Calls the registered functions, the last one first. */
static void call_registered(void) {
    while (count > 0)
        registered[--count]();
}
