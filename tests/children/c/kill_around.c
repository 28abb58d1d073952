/* kill_around group|init|parent|all SIGNAL SECONDS: sends SIGNAL to its own
 * group, to PID 1, to its parent or to everything, and lives on for SECONDS;
 * then it leaves with 0. SIGNAL itself it ignores, if it can. */
#include "child.h"

int main(int argc, char **argv) {
    int s = number(argc, argv, 2, SIGTERM, 64), err;
    signal(s, SIG_IGN);
    say("ready %d", (int)getpid());
    if (word(argc, argv, 1, "group")) err = kill(0, s);
    else if (word(argc, argv, 1, "init")) err = kill(1, s);
    else if (word(argc, argv, 1, "parent")) err = kill(getppid(), s);
    else err = kill(-1, s);
    if (err) say("kill: %s", strerror(errno));
    rest(number(argc, argv, 3, 1, LONGEST));
    return 0;
}
