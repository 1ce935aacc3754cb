/* An arena for each test, and messages on it.  */
#ifndef ROLLER_TESTS_ARENA_FIXTURE_H
#define ROLLER_TESTS_ARENA_FIXTURE_H
#include "base/arena.h"
#include "base/diag.h"

extern Arena *arena;          /* of the test that runs; its state too */
extern Diag diag;

/* For a test, or a group of them.  */
int set_up(void **state);
int tear_down(void **state);
/* The first error there; "" if there is none.  */
const char *said(void);
/* Fails the test with it.  */
void must(Status s);
/* Calls body with the test's arena; fails the test where memory runs out.  */
void run(void **state, void (*body)(Arena *a));
#endif
