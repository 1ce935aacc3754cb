#include "microperf/microperf.h"

/* The terms of an estimate by their names.  */

const char *const mp_term_key[MP_COUNT] = {
#define X(id, key, text) key,
    MP_TERMS(X)
#undef X
};
const char *const mp_term_text[MP_COUNT] = {
#define X(id, key, text) text,
    MP_TERMS(X)
#undef X
};
