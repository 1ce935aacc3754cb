/* An arena for each test, and messages on it.  */
#ifndef ROLLER_TESTS_ARENA_FIXTURE_H
#define ROLLER_TESTS_ARENA_FIXTURE_H
#include "base/arena.h"
#include "base/diag.h"

extern Arena *arena;          /* of the test that runs; its state too */
extern Diag diag;

/* For cmocka_unit_test_setup_teardown.  */
int set_up(void **state);
int tear_down(void **state);
/* Calls body with the test's arena; fails the test where memory runs out.  */
void run(void **state, void (*body)(Arena *a));
#endif
