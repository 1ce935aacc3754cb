/* Normal forms beside what they come from, for tests of te_normalize.  */
#ifndef ROLLER_TESTS_NORMAL_FIXTURE_H
#define ROLLER_TESTS_NORMAL_FIXTURE_H
#include "decide.h"
#include "te_fixture.h"

/* The normal form of an op by these decisions: sound, the same text when read back, and, where
 * sizes are static, the same values.  */
const Te *normal_check(Arena *a, const char *text, unsigned taken);
void normal_check_form(Arena *a, const Te *normal, const char *source);
void normal_check_values(Arena *a, const Te *te, const Te *normal);
/* The same of `op f(HEAD { BODY }`, whose statements become those of `want`.  */
void normal_check_text(unsigned taken, const char *head, const char *body, const char *want);
#endif
