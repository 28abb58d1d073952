/* probe_state ARGS...: says what state it was started in, one thing a line,
 * "name value", by system calls only, so that it works without /proc. Two runs
 * that differ in nothing give the same bytes, but for ids and what a first
 * process documents. The environment is in hexadecimal, so that no byte of it
 * is lost. */
#include "child.h"
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern char **environ;

static void hex(const char *name, const char *s) {
    printf("%s ", name);
    for (; *s; s++) printf("%02x", (unsigned char)*s);
    printf("\n");
}

int main(int argc, char **argv) {
    sigset_t blocked;
    struct sigaction sa;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    printf("blocked");
    for (int s = 1; s <= 64; s++)
        if (sigismember(&blocked, s) == 1) printf(" %d", s);
    printf("\nignored");
    for (int s = 1; s <= 64; s++)
        if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN) printf(" %d", s);
    printf("\n");
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)i, &r) == 0)
            printf("rlimit%d %lld %lld\n", i, (long long)r.rlim_cur, (long long)r.rlim_max);
    }
    for (int fd = 0; fd < 1024; fd++) {
        struct stat st;
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0) continue;
        fstat(fd, &st);
        printf("fd%d flags=%o type=%o dev=%llx ino=%llu\n", fd, flags, st.st_mode & S_IFMT, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    }
    char cwd[4096];
    mode_t mask = umask(0);
    int death = 0, reaper = 0;
    struct timespec slice;
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    printf("cwd %s\numask %o\n", getcwd(cwd, sizeof cwd) ? cwd : "?", mask);
    printf("ids %d %d %d %d\n", (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid());
    gid_t groups[64];
    int n = getgroups(64, groups);
    printf("groups");
    for (int i = 0; i < n; i++) printf(" %d", (int)groups[i]);
    printf("\nsession %s\n", getsid(0) == getpid() ? "own" : "inherited");
    printf("group %s\n", getpgrp() == getpid() ? "own" : "inherited");
    printf("terminal %s\n", isatty(0) ? (tcgetpgrp(0) == getpgrp() ? "foreground" : "background") : "none");
    printf("pdeathsig %d\nsubreaper %d\n", death, reaper);
    printf("dumpable %d\nno_new_privs %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    printf("keepcaps %d\nsecurebits %d\n", prctl(PR_GET_KEEPCAPS), prctl(PR_GET_SECUREBITS));
    printf("timerslack %d\n", prctl(PR_GET_TIMERSLACK));
    printf("nice %d\nscheduler %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
    printf("ioprio %ld\npersonality %x\n", syscall(SYS_ioprio_get, 1, 0), personality(0xffffffff));
    if (sched_rr_get_interval(0, &slice) == 0) printf("slice %ld\n", slice.tv_nsec);
    for (int i = 0; i < argc; i++) {
        char name[16];
        snprintf(name, sizeof name, "arg%d", i);
        hex(name, argv[i]);
    }
    for (int i = 0; environ[i]; i++) hex("env", environ[i]);
    return 0;
}
