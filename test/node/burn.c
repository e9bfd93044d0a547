// Uses a known amount of CPU and memory, step by step, so that what a node measures can be held against the truth.
//
//   burn STEP...     a step is words joined by commas:
//                      cpu=0.25    cores
//                      mem=120Mi   resident, touched
//                      for=60      seconds; the last step, and one without, lasts for good
//                      grow=20     seconds in which mem is reached, instead of at once
//                      exit=1      ends the program after this step, with that code
//                      term=143    from now on SIGTERM ends it with that code, else with 0
//                      deaf=1      from now on SIGTERM does not end it
//   burn pause       does nothing: the first process of a pod's sandbox
//   burn cat FILE    prints a file: there is nothing else in its image
//
// The work is paced by the threads' own CPU clocks: throttling shows as a loss, and no burst makes up for it later.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, PAGE = 4096 };
static const double TICK = 0.02;
static const size_t MOST = (size_t)1 << 36;

struct step {
        double cpu;
        size_t mem;
        double lasts; // 0: for good
        double grow;
        int code; // of the program's end, -1: it goes on
};

static _Atomic double cores_each;
static atomic_int busy;
static volatile sig_atomic_t term_code, deaf;

static double now(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest(double seconds)
{
        if (seconds > 0)
                nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

static void spin(double seconds)
{
        static _Thread_local volatile unsigned sink;
        const double until = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
        while (now(CLOCK_THREAD_CPUTIME_ID) < until)
                for (unsigned i = 0; i < 2000; i++)
                        sink = sink + i * i;
}

static void *work(void *arg)
{
        const int index = *(const int *)arg;
        for (;;) {
                const double end = now(CLOCK_MONOTONIC) + TICK;
                if (index < busy)
                        spin(cores_each * TICK);
                rest(end - now(CLOCK_MONOTONIC));
        }
        return NULL;
}

static bool start_workers(void)
{
        static int index[THREADS];
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, (size_t)64 << 10);
        for (int i = 0; i < THREADS; i++) {
                pthread_t thread;
                index[i] = i;
                if (pthread_create(&thread, &attr, work, &index[i]) != 0)
                        return false;
        }
        return true;
}

static void set_cpu(double cores)
{
        int threads = 0;
        while (threads < cores && threads < THREADS)
                threads++;
        cores_each = threads ? cores / threads : 0;
        busy = threads;
}

static void bad(const char *what)
{
        fprintf(stderr, "burn: bad word '%s'\n", what);
        exit(2);
}

static size_t parse_size(const char *text)
{
        char *end;
        const double value = strtod(text, &end);
        static const char *const unit[] = {"", "Ki", "Mi", "Gi"};
        for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
                if (strcmp(end, unit[i]) == 0)
                        return (size_t)(value * (double)((size_t)1 << (10 * i)));
        bad(text);
        return 0;
}

static struct step parse_step(char *text)
{
        struct step step = {.code = -1};
        char *save = NULL;
        for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                char *value = strchr(word, '=');
                if (!value)
                        bad(word);
                const size_t name = (size_t)(value++ - word);
                if (strncmp(word, "cpu", name) == 0)
                        step.cpu = strtod(value, NULL);
                else if (strncmp(word, "mem", name) == 0)
                        step.mem = parse_size(value);
                else if (strncmp(word, "for", name) == 0)
                        step.lasts = strtod(value, NULL);
                else if (strncmp(word, "grow", name) == 0)
                        step.grow = strtod(value, NULL);
                else if (strncmp(word, "exit", name) == 0)
                        step.code = (int)strtol(value, NULL, 10);
                else if (strncmp(word, "term", name) == 0)
                        term_code = (int)strtol(value, NULL, 10);
                else if (strncmp(word, "deaf", name) == 0)
                        deaf = (int)strtol(value, NULL, 10);
                else
                        bad(word);
        }
        return step;
}

// Holds as many touched bytes, in one mapping: giving some back leaves no holes.
static void hold(size_t wanted)
{
        static char *block;
        static size_t held;
        if (!block) {
                block = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
                if (block == MAP_FAILED) {
                        perror("burn: mmap");
                        exit(1);
                }
        }
        wanted -= wanted % PAGE;
        if (wanted < held)
                madvise(block + wanted, held - wanted, MADV_DONTNEED);
        for (; held < wanted; held += PAGE)
                block[held] = 1;
        held = wanted;
}

// Returns when the step is over; the last one is only when it ends the program.
static void play(const struct step *step, size_t before, bool last)
{
        const double start = now(CLOCK_MONOTONIC);
        set_cpu(step->cpu);
        for (;;) {
                const double passed = now(CLOCK_MONOTONIC) - start;
                const double part = passed < step->grow ? passed / step->grow : 1;
                hold((size_t)((double)before + ((double)step->mem - (double)before) * part));
                if ((step->lasts > 0 && !last) || step->code >= 0)
                        if (passed >= step->lasts)
                                return;
                rest(0.1);
        }
}

static void on_term(int number)
{
        if (number != SIGTERM || !deaf)
                _exit(term_code);
}

static int print(const char *path)
{
        FILE *file = fopen(path, "r");
        if (!file) {
                perror(path);
                return 1;
        }
        for (int c; (c = getc(file)) != EOF;)
                putchar(c);
        fclose(file);
        return 0;
}

int main(int argc, char **argv)
{
        signal(SIGTERM, on_term);
        signal(SIGINT, on_term);
        setvbuf(stdout, NULL, _IOLBF, 0);
        if (argc < 2) {
                fprintf(stderr, "usage: burn STEP... | pause | cat FILE\n");
                return 2;
        }
        if (argc == 2 && strcmp(argv[1], "pause") == 0)
                for (;; pause())
                        while (waitpid(-1, NULL, WNOHANG) > 0)
                                continue;
        if (argc == 3 && strcmp(argv[1], "cat") == 0)
                return print(argv[2]);
        if (!start_workers()) {
                fprintf(stderr, "burn: no threads\n");
                return 1;
        }
        size_t before = 0;
        for (int i = 1; i < argc; i++) {
                const struct step step = parse_step(argv[i]);
                printf("burn: step %d: %.3f cores, %zu Mi\n", i, step.cpu, step.mem >> 20);
                play(&step, before, i == argc - 1);
                before = step.mem;
                if (step.code >= 0)
                        return step.code;
        }
        return 0;
}
