/* daemonize CLEANUP_MS [close]: the classic start of a daemon: it leaves with 0
 * once the daemon, in a session of its own, is up. The daemon takes CLEANUP_MS
 * at SIGTERM; with `close` it has let go of the standard streams but of a copy
 * of standard output, descriptor 9. Lines: "up PID", "term PID", "clean PID". */
#include "child.h"

static volatile sig_atomic_t stop;
static void on_term(int s) { stop = s; }

int main(int argc, char **argv) {
    int cleanup = number(argc, argv, 1, 500, 20000), up[2];
    if (pipe(up)) return 99;
    if (fork() > 0) {
        char c;
        close(up[1]);
        return read(up[0], &c, 1) == 1 ? 0 : 98;
    }
    setsid();
    if (fork() > 0) _exit(0);
    handle(SIGTERM, on_term);
    alarm(LONGEST);
    if (chdir("/")) _exit(1);
    say("up %d", (int)getpid());
    if (word(argc, argv, 2, "close")) {
        dup2(1, 9);
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    }
    if (write(up[1], "u", 1) != 1) _exit(1);
    close(up[0]);
    close(up[1]);
    while (!stop) rest(0.02);
    if (word(argc, argv, 2, "close")) dup2(9, 1);
    say("term %d", (int)getpid());
    rest(cleanup / 1000.0);
    say("clean %d", (int)getpid());
    return 0;
}
