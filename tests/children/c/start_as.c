/* start_as [block=N,N] [ignore=N,N] [nofile=SOFT] [close=FD] [umask=OCTAL]
 * [nice=N] [core=N] [environ=odd] PROGRAM ARGS...: executes PROGRAM in an
 * unusual state. A program of Go could not: its runtime changes masks and
 * dispositions, and cleans up the environment. */
#include "child.h"
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

/* odd has what shells, runtimes and people leave behind: a name twice, an
 * empty entry, no equals sign, bytes that are no text, and what acts on Go. */
static char *odd[] = {"A=1", "PATH=/bin:/usr/bin", "A=3", "", "NOEQUALS", "=lead", "B=\xff\n\x01", "GODEBUG=gctrace=1", "GOGC=off",
                      "GOMAXPROCS=17", "GOMEMLIMIT=1GiB", "GOTRACEBACK=crash", "A=1", "EMPTY=", "GRACED_PORT=tcp://10.0.0.7:80", NULL};

int main(int argc, char **argv) {
    int i = 1, strange = 0;
    sigset_t block;
    sigemptyset(&block);
    for (; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value || strchr(argv[i], '/')) break;
        *value++ = 0;
        if (word(argc, argv, i, "block"))
            for (char *s = strtok(value, ","); s; s = strtok(NULL, ",")) sigaddset(&block, atoi(s));
        else if (word(argc, argv, i, "ignore"))
            for (char *s = strtok(value, ","); s; s = strtok(NULL, ",")) signal(atoi(s), SIG_IGN);
        else if (word(argc, argv, i, "nofile")) {
            struct rlimit r;
            getrlimit(RLIMIT_NOFILE, &r);
            r.rlim_cur = (rlim_t)atoi(value);
            setrlimit(RLIMIT_NOFILE, &r);
        } else if (word(argc, argv, i, "core")) {
            struct rlimit r = {(rlim_t)atoi(value), (rlim_t)atoi(value)};
            setrlimit(RLIMIT_CORE, &r);
        } else if (word(argc, argv, i, "close"))
            close(atoi(value));
        else if (word(argc, argv, i, "umask"))
            umask((mode_t)strtol(value, NULL, 8));
        else if (word(argc, argv, i, "environ"))
            strange = 1;
        else if (word(argc, argv, i, "nice"))
            setpriority(PRIO_PROCESS, 0, atoi(value));
        else
            return 96;
    }
    sigprocmask(SIG_SETMASK, &block, NULL);
    if (strange) environ = odd;
    execvp(argv[i], argv + i);
    perror(argv[i]);
    return 97;
}
