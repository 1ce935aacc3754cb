/* The compiler as its users start it: one process of roller-gen for one expression.  */
#ifndef ROLLER_BENCHMARKS_PROCESS_H
#define ROLLER_BENCHMARKS_PROCESS_H

/* Wall time in ms from the start of `PROGRAM - --profile PROFILE --emit=cubin` to its end, the
 * expression `te` on its standard input, its output thrown away; < 0: it could not be started or
 * did not succeed.  */
double process_ms(const char *program, const char *profile, const char *te);
#endif
