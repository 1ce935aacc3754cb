/* links: base */
#include "te_random.h"

#include <string.h>

void choices_random(Choices *c, uint64_t seed) {
    c->n = c->at = 0;
    c->replay = false;
    c->rng = (Rng){seed};
}

void choices_replay(Choices *c) {
    c->replay = true;
    c->at = 0;
}

uint32_t choices_below(Choices *c, uint32_t n) {
    if (c->replay) {
        uint32_t v = c->at < c->n ? c->v[c->at] % n : 0;
        c->at++;
        return v;
    }
    if (c->n == CHOICES_MAX) return 0;
    return c->v[c->n++] = rng_below(&c->rng, n);
}

typedef struct {
    Choices *best, next;
    int tries;
    bool (*fails)(void *user, Choices *c);
    void *user;
} Shrink;

/* Keeps `next` if it fails as well.  */
static bool keep(Shrink *s) {
    if (s->tries-- <= 0) return false;
    choices_replay(&s->next);
    if (!s->fails(s->user, &s->next)) return false;
    if (s->next.n > s->next.at) s->next.n = s->next.at;
    *s->best = s->next;
    return true;
}

static bool without(Shrink *s, int at, int n) {
    Choices *b = s->best, *x = &s->next;
    if (at + n > b->n) return false;
    *x = *b;
    memmove(x->v + at, x->v + at + n, (size_t)(b->n - at - n) * sizeof *x->v);
    x->n -= n;
    return keep(s);
}

static bool lower(Shrink *s, int at) {
    if (at >= s->best->n) return false;
    uint32_t was = s->best->v[at], to[] = {0, was / 2, was - 1};
    for (int i = 0; was && i < 3; i++) {
        if (to[i] == was || (i && to[i] == to[i - 1])) continue;
        s->next = *s->best;
        s->next.v[at] = to[i];
        if (keep(s)) return true;
    }
    return false;
}

void choices_shrink(Choices *c, int tries, bool (*fails)(void *user, Choices *c), void *user) {
    static const int span[] = {64, 32, 16, 8, 4, 2, 1};
    Shrink s = {.best = c, .tries = tries, .fails = fails, .user = user};
    for (bool better = true; better && s.tries > 0;) {
        better = false;
        for (size_t i = 0; i < sizeof span / sizeof *span; i++)
            for (int at = c->n - span[i]; at >= 0; at--) better |= without(&s, at, span[i]);
        for (int at = 0; at < c->n; at++) better |= lower(&s, at);
    }
}
