/* exit_race CODE OTHERS: leaves with CODE in the very moment in which OTHERS
 * orphans end too. Half of them are adopted by the first process before, half
 * become orphans by this end. */
#include "child.h"

static void others(int n, int gate) {
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            char c;
            if (read(gate, &c, 1) < 0) _exit(1); /* until the gate opens */
            _exit(i & 127);
        }
}

int main(int argc, char **argv) {
    int code = number(argc, argv, 1, 42, 255), n = number(argc, argv, 2, 16, 500), gate[2];
    alarm(LONGEST);
    if (pipe(gate)) return 99;
    pid_t middle = fork();
    if (middle == 0) {
        close(gate[1]);
        others(n / 2, gate[0]);
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    pid_t self = getpid();
    others(n - n / 2, gate[0]);
    if (getpid() != self) _exit(98);
    close(gate[0]);
    /* a byte for each: an end of file would come only when all have closed */
    char bytes[512];
    memset(bytes, 'x', sizeof bytes);
    if (write(gate[1], bytes, (size_t)n) < 0) return 97;
    return code;
}
