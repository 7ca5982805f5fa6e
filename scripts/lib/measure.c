/* measure DESCRIPTOR COMMAND...: runs the command and writes what it cost to the open file descriptor: seconds of wall
 * time, and the peak of its resident memory in KiB (the largest process, where it starts several).
 *
 * A program of its own, because Linux starts a child's peak at the memory of the process that it was forked from: forked
 * from an interpreter of 10 MiB, every command would seem to take at least that. This one is as small as they come. */
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

    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    dprintf(report, "%.9f %ld\n", seconds, usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
