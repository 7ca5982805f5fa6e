/* measure DESCRIPTOR COMMAND...: runs the command and writes to the open file descriptor, with spaces between them:
 *   its wall time in seconds,
 *   its peak resident memory in KiB (of the largest process, if it starts several),
 *   the number of 512-byte blocks that it and its children wrote to disk,
 *   its processor time in seconds, in user space and in the kernel,
 *   the numbers of bytes that its calls read and wrote, `rchar` and `wchar` of /proc/PID/io. Mapped files are read without calls.
 *
 * This is a separate program because Linux initializes the peak of a child with the memory of its parent: forked from an
 * interpreter of 10 MiB, every command would seem to use at least as much. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int count, char **arguments) {
    struct timespec start, end;
    struct rusage usage;
    siginfo_t ended;
    char path[64];
    unsigned long long read = 0, written = 0;
    int status;
    if (count < 3)
        return 125;
    int report = atoi(arguments[1]);

    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = fork();
    if (child == 0) {
        close(report);
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    /* The counters are gone once the process has been waited for. */
    if (child < 0 || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) != 0) {
        perror("measure");
        return 126;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    snprintf(path, sizeof path, "/proc/%d/io", (int)child);
    FILE *io = fopen(path, "r");
    if (io == NULL || fscanf(io, "rchar: %llu wchar: %llu", &read, &written) != 2) {
        perror(path);
        return 126;
    }
    fclose(io);
    if (wait4(child, &status, 0, &usage) != child) {
        perror("measure");
        return 126;
    }

    double wall = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    dprintf(report, "%.9f %ld %ld %.6f %.6f %llu %llu\n", wall, usage.ru_maxrss, usage.ru_oublock, seconds(usage.ru_utime),
            seconds(usage.ru_stime), read, written);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
