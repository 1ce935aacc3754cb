/* Launches in a loop, as a host in C does: nanoseconds of the processor for each.  */
#include <roller.h>
#include <time.h>

double launch_loop(const RollerExec *e, const RollerTensor *in, int nin, const RollerTensor *out,
                   int nout, void *stream, int n);
double launch_loop(const RollerExec *e, const RollerTensor *in, int nin, const RollerTensor *out,
                   int nout, void *stream, int n) {
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < n; i++)
        if (roller_launch(e, in, nin, out, nout, NULL, 0, stream)) return -1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / n;
}
