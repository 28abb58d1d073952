/* sig_logger QUIT COPIES SECONDS: tells every signal that reaches it, with its
 * sender: "sig NUMBER from PID". It leaves with 0 after COPIES of the signal
 * QUIT, or with 3 after SECONDS. It blocks all signals and takes them one by
 * one, so none is lost to another. */
#include "child.h"

int main(int argc, char **argv) {
    int quit = number(argc, argv, 1, SIGTERM, 64), copies = number(argc, argv, 2, 1, 1000);
    double end = now() + number(argc, argv, 3, 30, LONGEST);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    say("ready %d", (int)getpid());
    for (;;) {
        double left = end - now();
        if (left <= 0) return 3;
        struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        siginfo_t info;
        int s = sigtimedwait(&all, &info, &t);
        if (s <= 0) continue;
        say("sig %d from %d", s, (int)info.si_pid);
        if (s == quit && --copies <= 0) return 0;
    }
}
