/* hold_stdout SECONDS CODE: leaves with CODE at once, while a process that it
 * left behind keeps standard output open for SECONDS. */
#include "child.h"

int main(int argc, char **argv) {
    int seconds = number(argc, argv, 1, 20, LONGEST);
    if (fork() == 0) {
        rest(seconds);
        _exit(0);
    }
    say("leaving");
    return number(argc, argv, 2, 3, 255);
}
