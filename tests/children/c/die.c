/* die exit N: leaves with code N.     die sig N: dies of signal N, without a core.
 * die core N: the same, and may leave a core.
 * die late S N: with code N after S seconds.
 * die term N: with code N at SIGTERM; says "ready". */
#include "child.h"
#include <sys/resource.h>

int main(int argc, char **argv) {
    int n = number(argc, argv, 2, 0, 255);
    if (word(argc, argv, 1, "exit")) return n;
    if (word(argc, argv, 1, "late")) {
        rest(n > LONGEST ? LONGEST : n);
        return number(argc, argv, 3, 0, 255);
    }
    if (word(argc, argv, 1, "term")) {
        sigset_t set;
        int got;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGALRM);
        sigprocmask(SIG_BLOCK, &set, NULL);
        alarm(LONGEST);
        say("ready %d", (int)getpid());
        sigwait(&set, &got);
        return got == SIGTERM ? n : 66;
    }
    if (word(argc, argv, 1, "sig")) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
    }
    signal(n, SIG_DFL); /* refused for SIGKILL, which needs none */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, n);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), n);
    rest(1);
    return 99; /* it ends no process by default */
}
