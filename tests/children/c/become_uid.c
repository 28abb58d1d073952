/* become_uid UID SECONDS: becomes another user and stays. Set-uid root and
 * started by somebody else, with UID 0, it is one whom its parent may not
 * signal. At SIGTERM it says "term" and leaves with 0, after SECONDS with 4. */
#include "child.h"
#include <grp.h>

static volatile sig_atomic_t stop;
static void on_term(int s) { stop = s; }

int main(int argc, char **argv) {
    uid_t uid = (uid_t)number(argc, argv, 1, 65534, 1 << 30);
    int seconds = number(argc, argv, 2, 20, LONGEST);
    handle(SIGTERM, on_term);
    if (geteuid() == 0 && uid != 0 && setgroups(0, NULL)) return 78;
    if (setresuid(uid, uid, uid)) return 77;
    say("ready %d as %d", (int)getpid(), (int)getuid());
    for (int i = 0; i < seconds * 50 && !stop; i++) rest(0.02);
    if (stop) say("term");
    return stop ? 0 : 4;
}
