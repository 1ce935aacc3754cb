/* Several programs of a group, and several splits, for different run-time sizes.  */
#include "rprogram/internal.h"
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

typedef struct {
    const char *at, *end;
} Text;

/* The next word of the line; its length, 0 at the end.  */
static size_t next_word(Text *t, const char **word) {
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\r')) t->at++;
    *word = t->at;
    while (t->at < t->end && !strchr(" \t\r\n#", *t->at)) t->at++;
    return (size_t)(t->at - *word);
}

static bool is_word(const char *word, size_t len, const char *s) {
    return len == strlen(s) && memcmp(word, s, len) == 0;
}

static TeSplit split_of(const char *word, size_t len) {
    for (int i = 0; i < TE_SPLIT_COUNT; i++) {
        if (is_word(word, len, rprog_split_name[i])) return (TeSplit)i;
    }
    return TE_SPLIT_USUAL;
}

int rprog_read_splits(const char *text, size_t len, TeSplit *out, int most) {
    Text t = {text, text + len};
    int n = 1;
    bool kernels = false;
    out[0] = TE_SPLIT_USUAL;
    while (t.at < t.end) {
        const char *word;
        size_t size = next_word(&t, &word);
        bool other = kernels && is_word(word, size, "upto");
        kernels |= is_word(word, size, "kernel");
        while (other && size > 0 && !is_word(word, size, "split")) size = next_word(&t, &word);
        if (is_word(word, size, "split") && (other || !kernels)) {
            size = next_word(&t, &word);
            if (!other || n < most) out[other ? n : 0] = split_of(word, size);
        }
        n += other && n < most;
        const char *end = memchr(t.at, '\n', (size_t)(t.end - t.at));
        t.at = end ? end + 1 : t.end;
    }
    return n;
}
