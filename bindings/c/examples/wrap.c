/* Writes a host object that registers an image, reads it back, and prints what a device loads from it:
 * wrap KIND IMAGE OUTPUT DEVICE */
#include <fatbin.h>

#include <stdio.h>

static int failed(fatbin_error *error) {
    fprintf(stderr, "%s (status %d)\n", fatbin_error_message(error), (int)fatbin_error_status(error));
    fatbin_error_free(error);
    return 1;
}

static int print_selection(const uint8_t *object, size_t size, const char *device) {
    fatbin_error *error;
    fatbin_file *file = fatbin_file_open_memory(object, size, 0, &error);
    if (file == NULL)
        return failed(error);
    fatbin_selection *selection = fatbin_file_select(file, device, &error);
    fatbin_file_free(file);
    if (selection == NULL)
        return failed(error);
    for (size_t i = 0; i < fatbin_selection_count(selection); i++) {
        fatbin_answer answer;
        fatbin_selection_answer(selection, i, &answer, sizeof answer);
        if (answer.image == FATBIN_NO_INDEX)
            printf("%s on %s: no image, %s\n", answer.runtime, answer.device, answer.reason);
        else
            printf("%s on %s: image %zu, %s\n", answer.runtime, answer.device, answer.image, answer.reason);
    }
    fatbin_selection_free(selection);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: wrap KIND IMAGE OUTPUT DEVICE\n");
        return 2;
    }
    fatbin_error *error;
    fatbin_wrapper *wrapper = fatbin_wrapper_new(argv[1], NULL, NULL, &error);
    if (wrapper == NULL)
        return failed(error);
    const uint8_t *object;
    size_t size;
    int status;
    if (!fatbin_wrapper_add_file(wrapper, argv[2], NULL, NULL, &error) ||
        !fatbin_wrapper_write(wrapper, argv[3], &error) || !fatbin_wrapper_object(wrapper, &object, &size, &error))
        status = failed(error);
    else
        status = print_selection(object, size, argv[4]);
    fatbin_wrapper_free(wrapper);
    return status;
}
