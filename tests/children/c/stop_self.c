/* stop_self stop|tstp handler|default: stops itself, as if by kill -STOP. When
 * it is continued it says "continued"; with `handler` SIGTERM makes it say
 * "term" and leave with 0, with `default` it dies of it. */
#include "child.h"

static volatile sig_atomic_t stop;
static void on_term(int s) { stop = s; }

int main(int argc, char **argv) {
    if (word(argc, argv, 2, "handler")) handle(SIGTERM, on_term);
    say("ready %d", (int)getpid());
    raise(word(argc, argv, 1, "tstp") ? SIGTSTP : SIGSTOP);
    say("continued");
    for (int i = 0; i < LONGEST * 50 && !stop; i++) rest(0.02);
    if (stop) say("term");
    return stop ? 0 : 4;
}
