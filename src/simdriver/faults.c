/* Injected faults: a list of rules, separated by ';' or ','.
 *
 *   FUNCTION[@FROM[-TO|+]]=RESULT    calls number FROM to TO (from FROM on) return RESULT; without
 *                                    @ all do.  RESULT is a code, its name, `hang`, or `MSms`: they
 *                                    take so many milliseconds longer and then do their work
 *   kernel[@FROM[-TO|+]]=RESULT      the same for kernels in the order in which they run
 *   alloc[@FROM[-TO|+]]=RESULT       allocations of the driver on the host find no memory
 *   noise[@FROM[-TO|+]]=PERCENT      kernels take up to so much longer, each at random
 *   version=N   missing=FUNCTION     the driver is older, lacks a function
 *   memory=BYTES                     every device has no more memory than this  */
#include "simdriver/state.h"

#include <string.h>

static bool read_number(const char **s, const char *end, uint64_t *out) {
    if (*s == end || **s < '0' || **s > '9') return false;
    for (*out = 0; *s < end && **s >= '0' && **s <= '9'; (*s)++) {
        if (*out > UINT64_MAX / 10 - 9) return false;
        *out = *out * 10 + (uint64_t)(**s - '0');
    }
    return true;
}

static bool whole_number(const char *s, const char *end, uint64_t *out) {
    return read_number(&s, end, out) && s == end;
}

static bool same(const char *s, const char *end, const char *word) {
    return (size_t)(end - s) == strlen(word) && !memcmp(s, word, (size_t)(end - s));
}

enum { MOST_CODE = 999, MOST_DELAY_MS = 60000 };

static bool read_result(const char *s, const char *end, Rule *out) {
    out->hang = same(s, end, "hang");
    if (out->hang) return true;
#define X(name, code, text)                                                                        \
    if (same(s, end, #name)) {                                                                     \
        out->result = name;                                                                        \
        return true;                                                                               \
    }
    SIMDRIVER_RESULTS(X)
#undef X
    uint64_t number;
    if (!read_number(&s, end, &number)) return false;
    bool delay = same(s, end, "ms");
    if (delay && number <= MOST_DELAY_MS) out->delay_ms = (uint32_t)number;
    if (!delay && number <= MOST_CODE) out->result = (CUresult)number;
    return delay ? number <= MOST_DELAY_MS : s == end && number <= MOST_CODE;
}

/* [@FROM[-TO|+]]  */
static bool read_range(const char *s, const char *end, Rule *out) {
    out->from = 1;
    out->to = UINT64_MAX;
    if (s == end) return true;
    s++;
    if (!read_number(&s, end, &out->from) || out->from == 0) return false;
    out->to = out->from;
    if (s == end) return true;
    if (same(s, end, "+")) {
        out->to = UINT64_MAX;
        return true;
    }
    if (*s++ != '-') return false;
    return whole_number(s, end, &out->to) && out->to >= out->from;
}

static bool known_function(const char *name) {
    if (!strcmp(name, "*")) return true;
    for (int f = 0; f < FN_COUNT; f++) {
        const FunctionRow *row = &simdriver_functions[f];
        if (!strcmp(row->name, name) || !strcmp(row->symbol, name)) return true;
    }
    return false;
}

static bool copy_name(const char *s, const char *end, char out[64]) {
    size_t len = (size_t)(end - s);
    if (len == 0 || len >= 64) return false;
    memcpy(out, s, len);
    out[len] = 0;
    return true;
}

static bool read_rule(const char *s, const char *end, Faults *out) {
    const char *equals = memchr(s, '=', (size_t)(end - s));
    if (!equals) return false;
    uint64_t number;
    if (same(s, equals, "version")) {
        if (!whole_number(equals + 1, end, &number) || number > 99999) return false;
        out->version = (int)number;
        return true;
    }
    if (same(s, equals, "memory")) return whole_number(equals + 1, end, &out->memory);
    if (same(s, equals, "missing")) {
        if (out->n_missing == MAX_RULES) return false;
        char *name = out->missing[out->n_missing++];
        return copy_name(equals + 1, end, name) && known_function(name);
    }
    if (out->n == MAX_RULES) return false;
    Rule *r = &out->rule[out->n++];
    const char *at = memchr(s, '@', (size_t)(equals - s));
    const char *name_end = at ? at : equals;
    if (!copy_name(s, name_end, r->name) || !read_range(name_end, equals, r) ||
        !read_result(equals + 1, end, r)) {
        return false;
    }
    if (!strcmp(r->name, "kernel")) r->kind = RULE_KERNEL;
    if (!strcmp(r->name, "alloc")) r->kind = RULE_ALLOC;
    if (!strcmp(r->name, "noise")) r->kind = RULE_NOISE;
    if (r->delay_ms && r->kind != RULE_CALL && r->kind != RULE_KERNEL) return false;
    return r->kind != RULE_CALL || known_function(r->name);
}

bool faults_parse(const char *text, Faults *out) {
    *out = (Faults){0};
    const char *s = text ? text : "";
    while (*s) {
        size_t len = strcspn(s, ";,");
        if (len && !read_rule(s, s + len, out)) return false;
        s += len + (s[len] != 0);
    }
    return true;
}

static Injected count(Rule *r, Injected had) {
    r->seen++;
    if (had.hang || had.result || r->seen < r->from || r->seen > r->to) return had;
    return (Injected){r->hang, had.delay_ms + r->delay_ms, r->result};
}

Injected faults_call(Faults *f, const FunctionRow *row) {
    Injected hit = {0};
    for (int k = 0; k < f->n; k++) {
        Rule *r = &f->rule[k];
        bool any = !strcmp(r->name, "*");
        if (r->kind == RULE_CALL &&
            (any || !strcmp(r->name, row->name) || !strcmp(r->name, row->symbol))) {
            hit = count(r, hit);
        }
    }
    return hit;
}

Injected faults_of(Faults *f, RuleKind kind) {
    Injected hit = {0};
    for (int k = 0; k < f->n; k++) {
        if (f->rule[k].kind == kind) hit = count(&f->rule[k], hit);
    }
    return hit;
}

bool faults_missing(const Faults *f, const FunctionRow *row) {
    for (int k = 0; k < f->n_missing; k++) {
        if (!strcmp(f->missing[k], row->name) || !strcmp(f->missing[k], row->symbol)) return true;
    }
    return false;
}
