/* Opens the library, runs it and closes it, after which its registrations must be gone. */
#include <dlfcn.h>
#include <unistd.h>

int main(void) {
    void *library = dlopen("./libcell.so", RTLD_NOW | RTLD_LOCAL);
    int (*cell)(void) = library ? (int (*)(void))dlsym(library, "cell") : 0;
    if (!cell) {
        const char *reason = dlerror();
        while (*reason && write(2, reason, 1) == 1)
            reason++;
        return 1;
    }
    if (cell() != 0 || dlclose(library) != 0)
        return 1;
    return write(1, "closed\n", 7) == 7 ? 0 : 1;
}
