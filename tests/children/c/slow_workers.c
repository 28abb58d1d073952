/* slow_workers N CLEANUP group|session|patient: a master with N workers. At
 * SIGTERM the master ends at once with code 5, each worker takes CLEANUP
 * seconds. `session`: each worker has a session of its own. `patient`: the
 * master passes SIGTERM on and waits for its workers, as a good one does.
 * Lines: "up PID", "term PID", "clean PID", "leaving". */
#include "child.h"

static volatile sig_atomic_t stop;
static void on_term(int s) { stop = s; }

static void worker(int cleanup) {
    say("up %d", (int)getpid());
    sigset_t term, old;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &old);
    alarm(LONGEST);
    while (!stop) sigsuspend(&old);
    say("term %d", (int)getpid());
    rest(cleanup);
    say("clean %d", (int)getpid());
    _exit(0);
}

int main(int argc, char **argv) {
    int n = number(argc, argv, 1, 3, 100), cleanup = number(argc, argv, 2, 1, 20);
    int session = word(argc, argv, 3, "session"), patient = word(argc, argv, 3, "patient");
    pid_t pids[100];
    handle(SIGTERM, on_term);
    for (int i = 0; i < n; i++)
        if ((pids[i] = fork()) == 0) {
            if (session) setsid();
            worker(cleanup);
        }
    sigset_t term, old;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &old);
    rest(0.2);
    say("ready");
    alarm(LONGEST);
    while (!stop) sigsuspend(&old);
    if (patient) {
        for (int i = 0; i < n; i++) kill(pids[i], SIGTERM);
        while (wait(NULL) > 0 || errno == EINTR) {}
    }
    say("leaving");
    return 5;
}
