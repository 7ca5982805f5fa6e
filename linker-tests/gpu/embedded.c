/* Loads images that `fatbin embed` has put into the program, by their symbols.
 *
 *   embedded NAME   prints the result of one */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "load.h"

#define IMAGES(X) X(cubin_75) X(cubin_80) X(cubin_90) X(cubin_90a) X(cubin_100) X(cubin_120) X(ptx) X(fatbin)
#define DECLARE(name) extern const unsigned char name[], name##_end[]; extern const uint64_t name##_size;
IMAGES(DECLARE)

int main(int count, char **arguments) {
    char text[512] = "";
    int status = open_device(text, sizeof text);
    if (status != 0 || count != 2)
        return status ? status : 2;
#define TRY(name)                                         \
    if (strcmp(arguments[1], #name) == 0) {               \
        if (name + name##_size != name##_end)             \
            return 3;                                     \
        load("module", name);                             \
        close_device();                                   \
        return 0;                                         \
    }
    IMAGES(TRY)
    return 2;
}
