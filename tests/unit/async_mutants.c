#include "async_mutants.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Instructions by the beginning of their names.  Of some the operands have low bits that mean
 * something; what gives a result is not left out, but gives another: a wait is over at once.  */
typedef enum { DROPPED, OVER, KEPT } Loss;
static const struct {
    const char *op;
    AsyncKind kind;
    Loss loss;
    int bits;
} watched[] = {
    {"fence.", ASYNC_FENCE, DROPPED, 0},
    {"tcgen05.fence", ASYNC_FENCE, DROPPED, 0},
    {"tcgen05.wait", ASYNC_WAIT, DROPPED, 0},
    {"bar.", ASYNC_WAIT, DROPPED, 0},
    {"barrier.", ASYNC_WAIT, DROPPED, 0},
    {"mbarrier.try_wait", ASYNC_WAIT, OVER, 1},
    {"cp.async.bulk.wait", ASYNC_WAIT, DROPPED, 1},
    {"cp.async.bulk.commit", ASYNC_ARRIVAL, DROPPED, 0},
    {"tcgen05.commit", ASYNC_ARRIVAL, DROPPED, 32},
    {"mbarrier.arrive", ASYNC_ARRIVAL, DROPPED, 32},
    {"mbarrier.init", ASYNC_ARRIVAL, DROPPED, 20},
    {"cp.async.bulk.tensor", ASYNC_COPY, DROPPED, 32},
    {"tcgen05.cp", ASYNC_COPY, DROPPED, 32},
    {"tcgen05.mma", ASYNC_DESCRIPTOR, DROPPED, 32},
    {"mov.b64 a", ASYNC_DESCRIPTOR, KEPT, 32},
    {"mov.b64 b", ASYNC_DESCRIPTOR, KEPT, 32},
    {"mov.b64 s", ASYNC_DESCRIPTOR, KEPT, 32},
    {"setp.ne.b32 p", ASYNC_DESCRIPTOR, KEPT, 1},
    {"tcgen05.ld", ASYNC_LANE, KEPT, 32},
    {"tcgen05.st", ASYNC_LANE, DROPPED, 32},
    {"tcgen05.alloc", ASYNC_ALLOCATION, DROPPED, 32},
    {"tcgen05.dealloc", ASYNC_ALLOCATION, DROPPED, 32},
    {"tcgen05.relinquish", ASYNC_ALLOCATION, DROPPED, 0},
};
enum { WATCHED = sizeof watched / sizeof *watched };

/* Registers of its own, by the letter of their width.  */
static const char registers[] = "\n\t.reg .b16 %mut_h;\n\t.reg .b32 %mut_r;\n\t.reg .b64 %mut_d;";

typedef struct {
    Arena *arena;
    AsyncMutant *list, now;
    size_t cap;
    int n;
} Maker;

static void add(Maker *k, const char *put) {
    k->list = arena_grow(k->arena, k->list, &k->cap, (size_t)k->n + 1, sizeof *k->list);
    k->list[k->n] = k->now;
    k->list[k->n++].put = put;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Behind the predicate.  */
static const char *behind_guard(const char *s) {
    if (*s != '@') return s;
    s += strcspn(s, " \t");
    return s + strspn(s, " \t");
}

static int row_of(const char *statement) {
    for (int i = 0; i < WATCHED; i++)
        if (starts(behind_guard(statement), watched[i].op)) return i;
    return -1;
}

/* ---- one bit ---- */

/* The width of a register by its name: 'h', 'r', 'd'; 0: a predicate, or a number of reals.  */
static char width_of(const char *name) {
    if (starts(name, "%rs")) return 'h';
    if (starts(name, "%rd")) return 'd';
    return starts(name, "%r") && isdigit((unsigned char)name[2]) ? 'r' : 0;
}

static void flip_register(Maker *k, const char *at, size_t len, int bit) {
    char w = width_of(at);
    int bits = w == 'h' ? 16 : w == 'd' ? 64 : 32;
    const char *was = k->now.was;
    if (w && bit < bits)
        add(k, arena_printf(k->arena, "xor.b%d %%mut_%c, %.*s, %lld; %.*s%%mut_%c%s", bits, w,
                            (int)len, at, 1LL << bit, (int)(at - was), was, w, at + len));
}

static void flip_number(Maker *k, const char *at, size_t len, int bit) {
    const char *was = k->now.was;
    long long n = strtoll(at, NULL, 0) ^ 1LL << bit;
    add(k, arena_printf(k->arena, "%.*s%lld%s", (int)(at - was), was, n, at + len));
}

/* Where sources begin, and end: a load from Tensor Memory has its results before, a store what it
 * stores behind.  */
static const char *sources(const char *statement, const char **end) {
    const char *op = behind_guard(statement), *open = strchr(op, '[');
    *end = op + strlen(op);
    if (starts(op, "tcgen05.st")) *end = strchr(op, ']');
    return starts(op, "tcgen05.ld") ? open : op + strcspn(op, " \t");
}

static void flip(Maker *k, int bits) {
    const char *end, *at = sources(k->now.was, &end);
    for (size_t len; at < end; at += len ? len : 1) {
        bool begins = *at == '%' || isdigit((unsigned char)*at);
        len = begins || isalpha((unsigned char)*at) ? 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwx"
                                                                 "yz0123456789_") : 0;
        k->now.operand += begins;
        for (int bit = 0; bit < bits && begins; bit++) {
            k->now.bit = bit;
            if (*at == '%') flip_register(k, at, len, bit);
            else flip_number(k, at, len, bit);
        }
    }
}

/* ---- all of a text ---- */

static void spoil(Maker *k) {
    int row = row_of(k->now.was);
    if (row < 0) return;
    k->now.kind = watched[row].kind;
    if (watched[row].loss == DROPPED) add(k, "");
    if (watched[row].loss == OVER) add(k, "setp.eq.u32 p, 0, 0;");
    flip(k, watched[row].bits);
}

/* Behind space, braces of scopes, labels and directives.  */
static const char *statement_at(const char *s) {
    for (;;) {
        const char *word = s + strspn(s, " \t\n{}");
        const char *line = word + strcspn(word, "\n");
        bool label = *word == '$' && line[-1] == ':';
        bool directive = starts(word, "//") || starts(word, ".loc") || starts(word, ".file");
        if (!label && !directive) return word;
        s = line;
    }
}

int async_mutants(Arena *a, const char *ptx, AsyncMutant **out) {
    Maker k = {.arena = a};
    const char *body = strstr(ptx, ".entry");
    for (const char *s = body ? strstr(body, "\n{") : NULL, *end; s; s = end + 1) {
        s = statement_at(s);
        end = strchr(s, ';');
        if (!end) break;
        k.now = (AsyncMutant){.was = arena_printf(a, "%.*s;", (int)(end - s), s),
                              .at = (size_t)(s - ptx)};
        spoil(&k);
    }
    *out = k.list;
    return k.n;
}

const char *async_mutant_text(Arena *a, const char *ptx, const AsyncMutant *m) {
    const char *open = strstr(strstr(ptx, ".entry"), "\n{") + strlen("\n{");
    const char *behind = ptx + m->at + strlen(m->was);
    return arena_printf(a, "%.*s%s%.*s%s%s", (int)(open - ptx), ptx, registers,
                        (int)(ptx + m->at - open), open, m->put, behind);
}
