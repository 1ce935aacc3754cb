/* The compiler as its users start it: one process of roller-gen for one expression.  */
#ifndef ROLLER_BENCHMARKS_PROCESS_H
#define ROLLER_BENCHMARKS_PROCESS_H

/* Wall time in ms from the start of `PROGRAM - --profile PROFILE --emit=cubin` to its end, the
 * expression `te` on its standard input, its output thrown away; < 0: it could not be started or
 * did not succeed.  What takes about 250 ms or more, the limit for a kernel, is run three times,
 * and the least counts: on a virtual machine one run is up to a tenth longer, some are more.  */
double process_ms(const char *program, const char *profile, const char *te);
#endif
