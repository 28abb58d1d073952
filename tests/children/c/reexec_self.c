/* reexec_self exec N: executes itself N times, as the same process, then says
 * "ready" and waits for SIGTERM: code 0.
 * reexec_self replace: starts a successor and leaves with 0, as some servers do
 * at an upgrade. The successor says "up PID", and "term PID" at SIGTERM. */
#include "child.h"

static volatile sig_atomic_t stop;
static void on_term(int s) { stop = s; }

int main(int argc, char **argv) {
    int n = number(argc, argv, 2, 0, 100);
    handle(SIGTERM, on_term);
    alarm(LONGEST);
    if (word(argc, argv, 1, "exec") && n > 0) {
        char left[16];
        snprintf(left, sizeof left, "%d", n - 1);
        execl("/proc/self/exe", argv[0], "exec", left, NULL);
        return 99;
    }
    if (word(argc, argv, 1, "replace")) {
        int up[2];
        char c;
        if (pipe(up)) return 98;
        if (fork() == 0) {
            char fd[16];
            snprintf(fd, sizeof fd, "%d", up[1]);
            execl("/proc/self/exe", argv[0], "successor", fd, NULL);
            _exit(97);
        }
        close(up[1]);
        return read(up[0], &c, 1) == 1 ? 0 : 96;
    }
    if (word(argc, argv, 1, "successor")) {
        say("up %d", (int)getpid());
        if (write(n, "u", 1) != 1) return 95;
        close(n);
        while (!stop) rest(0.02);
        say("term %d", (int)getpid());
        return 0;
    }
    say("ready %d", (int)getpid());
    while (!stop) rest(0.02);
    return 0;
}
