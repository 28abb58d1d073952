/* child.h: what the small programs share.
 *
 * Each stands for a kind of program that people put behind a first process. It
 * says what it does in short lines on standard output, each written by one
 * write(2), so that the lines of several processes do not mix and their order
 * is the order of what happened. Each ends by itself within 58 seconds. */
#ifndef CHILD_H
#define CHILD_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 55 /* seconds */

/* say writes one line. Nobody may be there to read it. */
__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n > (int)sizeof line - 2) n = sizeof line - 2;
    line[n++] = '\n';
    if (write(1, line, (size_t)n) < 0) return;
}

/* number reads argument i, at most `most`; `usual` if it is not there. */
__attribute__((unused)) static int number(int argc, char **argv, int i, int usual, int most) {
    int n = i < argc ? atoi(argv[i]) : usual;
    return n < 0 ? 0 : n > most ? most : n;
}

/* word says whether argument i is w. */
__attribute__((unused)) static int word(int argc, char **argv, int i, const char *w) {
    return i < argc && strcmp(argv[i], w) == 0;
}

__attribute__((unused)) static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* rest sleeps that long, whatever signals come. */
__attribute__((unused)) static void rest(double seconds) {
    double end = now() + seconds;
    for (double left; (left = end - now()) > 0;) {
        struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&t, NULL);
    }
}

/* handle has signal s call f; slow system calls are interrupted by it. */
__attribute__((unused)) static void handle(int s, void (*f)(int)) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = f;
    sigaction(s, &sa, NULL);
}
#endif
