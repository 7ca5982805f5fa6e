/* measure DESCRIPTOR COMMAND...: runs the command and writes to the open file descriptor, with spaces between them: its
 * wall time in seconds, its peak resident memory in KiB (of the largest process, if it starts several), and the number of
 * 512-byte blocks that it and its children wrote to disk.
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

int main(int count, char **arguments) {
    struct timespec start, end;
    struct rusage usage;
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
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("measure");
        return 126;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);

    double wall = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    dprintf(report, "%.9f %ld %ld\n", wall, usage.ru_maxrss, usage.ru_oublock);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
