/* orphan_storm TOTAL BURST CODE SETTLE_MS: makes TOTAL orphans, BURST at one
 * time, then waits SETTLE_MS, says "orphans=N zombies=N" and leaves with CODE.
 * Zombies are those of its own first process, read from /proc. */
#include "child.h"
#include <dirent.h>

static int zombies(void) {
    int n = 0, pid, parent;
    DIR *proc = opendir("/proc");
    if (!proc) return -1;
    for (struct dirent *d; (d = readdir(proc));) {
        char path[300], line[512], *end, state;
        if (d->d_name[0] < '0' || d->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/stat", d->d_name);
        int fd = open(path, O_RDONLY);
        if (fd < 0) continue;
        ssize_t got = read(fd, line, sizeof line - 1);
        close(fd);
        if (got <= 0) continue;
        line[got] = 0;
        pid = atoi(line);
        if ((end = strrchr(line, ')')) && sscanf(end + 1, " %c %d", &state, &parent) == 2)
            n += state == 'Z' && parent == getppid() && pid != getpid();
    }
    closedir(proc);
    return n;
}

int main(int argc, char **argv) {
    int total = number(argc, argv, 1, 1000, 4000), burst = number(argc, argv, 2, 200, 400), made = 0;
    alarm(LONGEST);
    while (made < total) {
        int n = total - made < burst ? total - made : burst, status;
        pid_t parent = fork();
        if (parent < 0) return 98;
        if (parent == 0) {
            for (int i = 0; i < n; i++) {
                pid_t p = fork();
                if (p < 0) _exit(1);
                if (p == 0) {
                    rest(0.02); /* outlives its parent */
                    _exit(i & 127);
                }
            }
            _exit(0);
        }
        if (waitpid(parent, &status, 0) != parent || status) return 97;
        made += n;
    }
    rest(number(argc, argv, 4, 1000, 20000) / 1000.0);
    say("orphans=%d zombies=%d", made, zombies());
    return number(argc, argv, 3, 0, 255);
}
