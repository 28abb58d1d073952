/* ignore_term SECONDS: nothing but SIGKILL ends it before its time, then 66.
 * Lines: "ready PID", "got NUMBER". */
#include "child.h"

int main(int argc, char **argv) {
    double end = now() + number(argc, argv, 1, 50, LONGEST);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    say("ready %d", (int)getpid());
    for (;;) {
        double left = end - now();
        if (left <= 0) return 66;
        struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        int s = sigtimedwait(&all, NULL, &t);
        if (s > 0) say("got %d", s);
    }
}
