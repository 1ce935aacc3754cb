/* Several programs of a group, and several splits, for different run-time sizes.  */
#include "rprogram/reader.h"
#include <string.h>

void rplan_extend(Arena *a, RPlan *p, int more) {
    int n = p->n, all = n + more;
    RPlan x = *p;
    x.group = ARENA_ARRAY(a, KernelGroup, all);
    x.problem = ARENA_ARRAY(a, Problem, all);
    x.prog = ARENA_ARRAY(a, RProg, all);
    x.part = ARENA_ARRAY(a, int, all);
    x.upto = ARENA_ARRAY(a, const int64_t *, all);
    for (int i = 0; i < n; i++) {
        x.group[i] = p->group[i];
        x.problem[i] = p->problem[i];
        x.prog[i] = p->prog[i];
        x.part[i] = rplan_part(p, i);
        x.upto[i] = rplan_upto(p, i);
    }
    x.n_group = rplan_groups(p);
    *p = x;
}

static TeSplit split_of(Word w) {
    for (int i = 0; i < TE_SPLIT_COUNT; i++) {
        if (reader_is(w, rprog_split_name[i])) return (TeSplit)i;
    }
    return TE_SPLIT_USUAL;
}

int rprog_read_splits(const char *text, size_t len, TeSplit *out, int most) {
    DiagPlace at = {NULL, text, len, 0};
    int n = 1;
    bool kernels = false;
    out[0] = TE_SPLIT_USUAL;
    while (at.pos < len) {
        Word w = reader_word(&at);
        bool other = kernels && reader_is(w, "upto");
        kernels |= reader_is(w, "kernel");
        while (other && w.len > 0 && !reader_is(w, "split")) w = reader_word(&at);
        if (reader_is(w, "split") && (other || !kernels)) {
            w = reader_word(&at);
            if (!other || n < most) out[other ? n : 0] = split_of(w);
        }
        n += other && n < most;
        const char *end = memchr(text + at.pos, '\n', len - at.pos);
        at.pos = end ? (size_t)(end - text) + 1 : len;
    }
    return n;
}
