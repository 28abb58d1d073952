/* pipe_break reader N: reads N lines from standard input, says "read N" on
 * standard error and goes away, closing the pipe.
 * pipe_break writer: writes until it cannot: it dies of SIGPIPE unless
 * somebody made it ignore that; then it leaves with 50. */
#include "child.h"

int main(int argc, char **argv) {
    alarm(LONGEST);
    if (word(argc, argv, 1, "writer")) {
        for (;;)
            if (write(1, "line\n", 5) < 0) return errno == EPIPE ? 50 : 51;
    }
    int n = number(argc, argv, 2, 1, 1000);
    char c;
    while (n > 0 && read(0, &c, 1) == 1)
        if (c == '\n') n--;
    return 0;
}
