/* fork_tree TOTAL SECONDS ignore|obey session|group: a bounded fork bomb. Each
 * process makes two more until TOTAL (at most 1,000) are there. Then all stay
 * for SECONDS. `ignore`: SIGTERM; `session`: each has a session of its own. */
#include "child.h"
#include <sys/mman.h>

int main(int argc, char **argv) {
    int total = number(argc, argv, 1, 200, 1000), seconds = number(argc, argv, 2, 20, 40);
    pid_t first = getpid();
    int *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return 90;
    *made = 1;
    signal(SIGCHLD, SIG_IGN); /* no zombies of its own */
    if (word(argc, argv, 3, "ignore")) signal(SIGTERM, SIG_IGN);
again:
    for (int i = 0; i < 2; i++) {
        if (__atomic_add_fetch(made, 1, __ATOMIC_SEQ_CST) > total) {
            __atomic_sub_fetch(made, 1, __ATOMIC_SEQ_CST);
            break;
        }
        pid_t p = fork();
        if (p == 0) {
            if (word(argc, argv, 4, "session")) setsid();
            goto again;
        }
        if (p < 0) { /* the limit of the container */
            __atomic_sub_fetch(made, 1, __ATOMIC_SEQ_CST);
            break;
        }
    }
    alarm((unsigned)seconds + 5);
    if (getpid() == first) {
        rest(0.5);
        say("ready %d processes", *made);
    }
    rest(seconds);
    return getpid() == first ? 6 : 0;
}
