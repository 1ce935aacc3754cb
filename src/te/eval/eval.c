#include "te/eval/eval_impl.h"
#include "base/numeric.h"
#include "te/tree/tree.h"
#include <string.h>

/* ---- Tensors in memory ---- */

#define DECODE(T, field, expr)                                                  \
    for (int j = 0; j < n; j++) {                                               \
        T raw;                                                                  \
        memcpy(&raw, (const char *)data + (size_t)j * sizeof raw, sizeof raw);  \
        out->field[j] = (expr);                                                 \
    }                                                                           \
    break

/* n elements one after the other.  */
HOT static void load(TeDtype t, const void *restrict data, int n, Lanes *restrict out) {
    switch (t) {
    case TE_F64: DECODE(double, v, raw);
    case TE_F32: DECODE(float, v, (double)raw);
    case TE_F16: DECODE(uint16_t, v, num_f16_decode(raw));
    case TE_BF16: DECODE(uint16_t, v, num_bf16_decode(raw));
    case TE_F8E4M3: DECODE(uint8_t, v, num_e4m3_decode(raw));
    case TE_F8E5M2: DECODE(uint8_t, v, num_e5m2_decode(raw));
    case TE_F6E3M2: DECODE(uint8_t, v, num_e3m2_decode(raw));
    case TE_F6E2M3: DECODE(uint8_t, v, num_e2m3_decode(raw));
    case TE_F4E2M1: DECODE(uint8_t, v, num_e2m1_decode(raw));
    case TE_F8UE4M3: DECODE(uint8_t, v, num_ue4m3_decode(raw));
    case TE_F8UE8M0: DECODE(uint8_t, v, num_ue8m0_decode(raw));
    case TE_I64: DECODE(int64_t, i, raw);
    case TE_I32: DECODE(int32_t, i, raw);
    case TE_I16: DECODE(int16_t, i, raw);
    case TE_I8: DECODE(int8_t, i, raw);
    case TE_F4E2M1X2:
    case TE_U8: DECODE(uint8_t, i, raw);
    default: DECODE(uint8_t, i, raw != 0);
    }
}

static inline void collect(const char *restrict data, size_t size, const Elements *restrict at,
                           int n, char *restrict to) {
    for (int j = 0; j < n; j++)
        memcpy(to + (size_t)j * size, data + elements_at(at, j) * (int64_t)size, size);
}

/* Elements, all inside, one after the other: where they are if they lie so.  */
static const char *together(const char *data, size_t size, const Elements *at, int n, char *room) {
    if (at->even && (n == 1 || at->step == 1)) return data + at->first * (int64_t)size;
    switch (size) {
    case 1: collect(data, 1, at, n, room); break;
    case 2: collect(data, 2, at, n, room); break;
    case 4: collect(data, 4, at, n, room); break;
    default: collect(data, 8, at, n, room); break;
    }
    return room;
}

static void gather(const TeEval *ev, int tensor, const Elements *at, int n, Lanes *out) {
    const Lazy *lazy = ev->lazy[tensor];
    TeDtype t = ev->te->tensor[tensor].dtype;
    size_t size = (size_t)te_dtype_bytes(t);
    char room[STRIP * sizeof(int64_t)];
    for (int j = 0; lazy && j < n; j++) lazy_at(lazy, (size_t)elements_at(at, j) * size, size);
    load(t, together(ev->data[tensor], size, at, n, room), n, out);
}

void eval_gather(const TeEval *ev, int tensor, const Elements *places, int n, Lanes *out) {
    const bool *inside = places->inside;
    out->exact = true;
    if (places->even) {
        gather(ev, tensor, places, n, out);
        return;
    }
    int first = 0;
    while (first < n && !inside[first])
        first++;
    if (first == n) {
        memset(out->v, 0, (size_t)n * sizeof out->v[0]);
        memset(out->i, 0, (size_t)n * sizeof out->i[0]);
        return;
    }
    /* Lanes outside read where one inside does, so that the loops need no test.  */
    Elements all;
    all.even = false;
    for (int j = 0; j < n; j++)
        all.offset[j] = places->offset[inside[j] ? j : first];
    gather(ev, tensor, &all, n, out);
    for (int j = 0; j < n; j++) {
        if (inside[j])
            continue;
        out->v[j] = 0;
        out->i[j] = 0;
    }
}

/* ---- Computed tensors ---- */

/* n values along the last dimension from dense position `pos` on, in slot 0; reals for a real
 * tensor, before the store's rounding.  */
static Lanes *run_statement(Prog *p, int64_t pos, int n) {
    const TeTensor *t = &p->owner->te->tensor[p->s->tensor];
    for (int d = te_own_rank(t) - 1; d >= 0; d--) {
        p->at[d] = pos % t->shape[d].value;
        pos /= t->shape[d].value;
    }
    p->strip = te_own_rank(t) - 1;
    eval_node(p, p->root, 0, n);
    Lanes *out = &p->slot[0];
    TeClass from = te_dtype_class(p->root->type);
    if (from != TE_CLASS_REAL && te_dtype_class(t->dtype) == TE_CLASS_REAL) {
        for (int j = 0; j < n; j++)
            out->v[j] = eval_real(out->i[j]);
        out->exact = true;
    }
    return out;
}

static MemoChunk *probe(Memo *m, int64_t number) {
    uint64_t h = (uint64_t)number * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (m->size - 1);
    while (m->table[i].number >= 0 && m->table[i].number != number)
        i = (i + 1) & (m->size - 1);
    return &m->table[i];
}

static void grow(Arena *a, Memo *m) {
    Memo old = *m;
    m->size = old.size ? old.size * 2 : 64;
    m->table = ARENA_ARRAY(a, MemoChunk, m->size);
    for (size_t i = 0; i < m->size; i++)
        m->table[i].number = -1;
    for (size_t i = 0; i < old.size; i++) {
        if (old.table[i].number >= 0)
            *probe(m, old.table[i].number) = old.table[i];
    }
}

static MemoChunk *chunk_of(Arena *a, Memo *m, int64_t number) {
    if (m->used * 2 >= m->size)
        grow(a, m);
    MemoChunk *c = probe(m, number);
    if (c->number < 0) {
        *c = (MemoChunk){.number = number, .values = ARENA_NEW(a, Lanes)};
        m->used++;
    }
    return c;
}

/* Elements of the chunk that are computed, or known to wait.  */
static uint64_t settled(const TeEval *ev, const MemoChunk *c) {
    return c->done | (c->round == ev->round ? c->waiting : 0);
}

static void wait_for(TeEval *ev, MemoChunk *c, uint64_t made) {
    c->waiting = made | (c->round == ev->round ? c->waiting : 0);
    c->round = ev->round;
}

/* Computes elements from `pos` on that the caller wants next to each other: `wanted` of them, as
 * far as they share chunk and row and are missing.  Where that takes too deep a stack they are put
 * off, and what depends on them goes on with any values.  */
static void compute(Prog *p, MemoChunk *c, int64_t pos, int wanted) {
    TeEval *ev = p->owner;
    const TeTensor *t = &ev->te->tensor[p->s->tensor];
    int own = te_own_rank(t);
    int64_t row = own ? t->shape[own - 1].value : 1;
    int64_t left_in_row = row - pos % row;
    int at = (int)(pos % STRIP), n = 0;
    uint64_t made = 0, known = settled(ev, c);
    bool others = ev->put_off;
    while (n < wanted && n < left_in_row && at + n < STRIP && !(known >> (at + n) & 1))
        made |= (uint64_t)1 << (at + n++);
    if (n == 0) return;
    if (ev->levels > 0 && ev->levels + p->levels > EVAL_LEVELS) {
        ev->later = arena_grow(ev->arena, ev->later, &ev->later_room, (size_t)ev->n_later + 1,
                               sizeof *ev->later);
        ev->later[ev->n_later++] = (PutOff){p, pos, n};
        ev->put_off = true;
        wait_for(ev, c, made);
        return;
    }
    ev->put_off = false;
    ev->levels += p->levels;
    Lanes *got = run_statement(p, pos, n);
    ev->levels -= p->levels;
    if (ev->put_off) wait_for(ev, c, made);
    else if (!eval_stopped(ev)) c->done |= made;
    ev->put_off |= others;
    lanes_show_bounds(got, n);
    lanes_show_flags(got, n);
    lanes_copy(c->values, at, got, 0, n);
}

/* Computes what was put off, and what is put off by that, with a stack of its own.  */
static void catch_up(TeEval *ev) {
    while (ev->n_later > 0 && !eval_stopped(ev)) {
        const PutOff x = ev->later[ev->n_later - 1];
        ev->round++;
        ev->put_off = false;
        compute(x.prog, chunk_of(ev->arena, &x.prog->memo, x.pos / STRIP), x.pos, x.n);
        if (!ev->put_off) ev->n_later--;
    }
}

/* Elements at pos .. pos + n - 1, or the first of them, from lane j on; returns how many.  */
static int fetch_run(TeEval *ev, Prog *p, int64_t pos, int n, Lanes *out, int j) {
    MemoChunk *c = chunk_of(ev->arena, &p->memo, pos / STRIP);
    int at = (int)(pos % STRIP), run = 1;
    if (!(settled(ev, c) >> at & 1)) compute(p, c, pos, n);
    uint64_t known = settled(ev, c) >> at, done = c->done >> at;
    while (run < n && known >> run & 1) run++;
    for (int k = 0; k < run; k++) ev->put_off |= !(done >> k & 1);
    lanes_copy(out, j, c->values, at, run);
    return run;
}

void eval_fetch(TeEval *ev, const Node *x, const Elements *places, int n, Lanes *out) {
    int tensor = x->e->v.ref;
    Prog *p = &ev->prog[ev->maker[tensor]];
    TeDtype stored = ev->te->tensor[tensor].dtype;
    static const Lanes nothing = {.exact = true, .plain = true};
    bool exact = true, plain = true;
    out->exact = out->plain = false;
    for (int j = 0; j < n;) {
        int64_t pos = elements_at(places, j);
        int run = 1;
        while (j + run < n && pos % STRIP + run < STRIP && elements_inside(places, j + run) &&
               elements_at(places, j + run) == pos + run)
            run++;
        if (elements_inside(places, j)) j += fetch_run(ev, p, pos, run, out, j);
        else lanes_copy(out, j++, &nothing, 0, 1);
    }
    for (int j = 0; j < n; j++) {
        exact &= out->b[j] == 0;
        plain &= out->f[j] == 0;
    }
    out->exact = exact;
    out->plain = plain;
    TeDtype computed = te_dtype_class(stored) == TE_CLASS_REAL ? TE_F64 : p->root->type;
    if (stored != p->root->type)
        (x->moved ? lanes_cast_moved : lanes_cast)(out, computed, stored, n);
    /* The 0 outside was not stored: types of scales have none.  */
    for (int j = 0; j < n && !te_dtype_zero(stored); j++) {
        if (!elements_inside(places, j))
            out->v[j] = out->b[j] = 0;
    }
}

/* ---- The interface ---- */

Status te_eval_create(Arena *a, Diag *d, const Te *te, const TeData *data, TeEval **out) {
    enum { OF_STATEMENT = 4 };            /* levels beside those of its expression */
    if (te->runtime)
        return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE,
                          "an op with run-time sizes cannot be evaluated");
    TeEval *ev = ARENA_NEW(a, TeEval);
    *ev = (TeEval){.arena = a, .te = te};
    ev->data = ARENA_ARRAY(a, const void *, te->n_tensor);
    ev->lazy = ARENA_ARRAY(a, const Lazy *, te->n_tensor);
    ev->maker = ARENA_ARRAY(a, int, te->n_tensor);
    ev->prog = ARENA_ARRAY(a, Prog, te->n_stmt);
    for (int t = 0; t < te->n_tensor; t++) {
        ev->maker[t] = -1;
        ev->data[t] = t < te->n_in ? data[t].data : NULL;
    }
    for (int i = 0; i < te->n_stmt; i++)
        ev->maker[te->stmt[i].tensor] = i;
    eval_find_exps(ev);
    for (int i = 0; i < te->n_stmt; i++) {
        Prog *p = &ev->prog[i];
        *p = (Prog){.owner = ev, .s = &te->stmt[i]};
        ev->in_sum = ev->in_sums[p->s->tensor];
        p->root = eval_build(ev, p->s, p->s->rhs);
        p->slot = ARENA_ARRAY(a, Lanes, eval_slots(p->root) + 2);
        p->levels = te_expr_depth(p->s->rhs) + OF_STATEMENT;
    }
    *out = ev;
    return ST_OK;
}

void te_eval_bind(TeEval *ev, int tensor, const Lazy *values) {
    ev->data[tensor] = values->data;
    ev->lazy[tensor] = values;
}

void te_eval_watch(TeEval *ev, Watch *watch) {
    ev->watch = watch;
}

/* A value computed in f32 is an f32: it was rounded where its bound comes from, at least once and
 * no later than by the store.  */
static bool is_rounded(TeDtype computed, TeDtype stored) {
    return computed == stored || (computed == TE_F32 && stored == TE_F64);
}

static TeValue value_at(const Lanes *x, int j, bool rounded) {
    TeValue v = {.v = x->v[j], .i = x->i[j], .rounded = rounded};
    v.bound = x->exact ? 0 : x->b[j];
    v.undecided = !x->plain && (x->f[j] & LANE_UNDECIDED);
    v.any_zero = !x->plain && (x->f[j] & LANE_ANY_ZERO);
    return v;
}

Status te_eval_row(TeEval *ev, int tensor, const int64_t *at, int64_t count, TeValue *out) {
    const TeTensor *t = &ev->te->tensor[tensor];
    Prog *p = &ev->prog[ev->maker[tensor]];
    int64_t pos = 0;
    bool rounded = is_rounded(p->root->type, t->dtype);
    for (int d = 0; d < te_own_rank(t); d++)
        pos = pos * t->shape[d].value + at[d];
    for (int64_t done = 0; done < count; done += STRIP) {
        int n = count - done < STRIP ? (int)(count - done) : STRIP;
        const Lanes *x;
        do {
            catch_up(ev);
            ev->round++;
            ev->put_off = false;
            ev->levels = p->levels;
            x = run_statement(p, pos + done, n);
            ev->levels = 0;
            if (eval_stopped(ev))
                return ST_CANCELLED;
        } while (ev->put_off);
        for (int j = 0; j < n; j++)
            out[done + j] = value_at(x, j, rounded);
    }
    return ST_OK;
}
