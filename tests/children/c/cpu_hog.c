/* cpu_hog N SECONDS: N processes that use all of the processor there is. The
 * first says "ready"; at SIGTERM each dies. */
#include "child.h"

int main(int argc, char **argv) {
    int n = number(argc, argv, 1, 2, 400);
    double end = now() + number(argc, argv, 2, 20, LONGEST);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t self = getpid();
    for (int i = 1; i < n; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            break;
        }
    if (getpid() == self) say("ready %d", n);
    while (now() < end)
        for (volatile int i = 0; i < 1000000; i++) {}
    return 0;
}
