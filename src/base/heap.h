/* The process's heap.  */
#ifndef ROLLER_BASE_HEAP_H
#define ROLLER_BASE_HEAP_H

/* For a program that is going to use some ten megabytes and end: has the heap in large pages where
 * the system gives them, and keeps what is freed.  A compiler in the process takes a twentieth less
 * time then.  Not for libraries.  */
void heap_expect_much(void);
#endif
