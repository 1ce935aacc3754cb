/* Attempts at figures: what fails is undone, noted and passed over.  */
#include "profiler/harness.h"

#include <string.h>

/* The device as it was before; its rows are restored where they lie.  */
struct Attempt {
    const char *figure;
    Diag diag, *outer;
    Device dev;
    UnitFamily *family;
    ComputeUnit *unit;
    Mover *mover;
    Curve *curve[LEVEL_COUNT];
};

static void *copy_of(Arena *a, const void *rows, int n, size_t size) {
    void *out = arena_alloc(a, (size_t)n * size + 1);
    if (n) memcpy(out, rows, (size_t)n * size);
    return out;
}

static void save(Attempt *t, Arena *a, const Device *dev) {
    t->dev = *dev;
    t->family = copy_of(a, dev->family, dev->n_family, sizeof *dev->family);
    t->unit = copy_of(a, dev->unit, dev->n_unit, sizeof *dev->unit);
    t->mover = copy_of(a, dev->mover, dev->n_mover, sizeof *dev->mover);
    for (int i = 0; i < LEVEL_COUNT; i++)
        t->curve[i] = copy_of(a, dev->memory[i].curve, dev->memory[i].n_curve, sizeof(Curve));
}

static void put_back(void *rows, const void *saved, int n, size_t size) {
    if (n) memcpy(rows, saved, (size_t)n * size);
}

static void restore(const Bench *b, const Attempt *t) {
    Device *dev = b->dev;
    *dev = t->dev;
    dev->missed = b->missed;
    dev->n_missed = (int)b->n_missed;
    put_back(dev->family, t->family, dev->n_family, sizeof *dev->family);
    put_back(dev->unit, t->unit, dev->n_unit, sizeof *dev->unit);
    put_back(dev->mover, t->mover, dev->n_mover, sizeof *dev->mover);
    for (int i = 0; i < LEVEL_COUNT; i++)
        put_back(dev->memory[i].curve, t->curve[i], dev->memory[i].n_curve, sizeof(Curve));
}

/* Is what was measured something that a profile may say?  */
static Status plausible(Bench *b) {
    ArenaMark here = arena_mark(b->row);
    Buf text = buf_new(b->row);
    Diag faults = diag_new(b->row);
    Device *back;
    hal_profile_write(b->dev, &text);
    Status s = hal_profile_read(b->row, &faults, (DiagText){"measured", buf_str(&text), text.len},
                                &back);
    if (!s) {
        arena_reset(b->row, here);
        return ST_OK;
    }
    return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE, "what was measured cannot be: %s",
                      diag_first_error(&faults)->message);
}

/* ---- notes ---- */
static void forget(Bench *b, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < b->n_missed; i++)
        if (strcmp(b->missed[i].name, name)) b->missed[n++] = b->missed[i];
    b->n_missed = n;
    b->dev->missed = b->missed;
    b->dev->n_missed = (int)n;
}

static void note(Bench *b, const char *name, const char *why) {
    forget(b, name);
    b->missed = arena_grow(b->result, b->missed, &b->cap_missed, b->n_missed + 1,
                           sizeof *b->missed);
    b->missed[b->n_missed++] = (Missed){arena_strdup(b->result, name),
                                        arena_strndup(b->result, why, 200)};
    b->dev->missed = b->missed;
    b->dev->n_missed = (int)b->n_missed;
}

/* The reason, and for a run in which nothing succeeds all of the first message.  */
static void remember(Bench *b, Status s, const char *name) {
    const DiagMessage *m = diag_first_error(b->d);
    const char *why = m ? m->message : status_text(s);
    note(b, name, why);
    if (b->first) return;
    DiagMessage *first = ARENA_NEW(b->work, DiagMessage);
    first->tag = m ? m->tag : NULL;
    first->message = arena_strdup(b->work, why);
    first->hint = m && m->hint ? arena_strdup(b->work, m->hint) : NULL;
    b->first = first;
    b->first_status = s;
}

/* A fault stays with the context: every later call fails as well.  */
static void look_after_context(Bench *b, const char *name) {
    Diag scratch = diag_new(b->row);
    if (!b->lost && cuda_synchronize(b->x, &scratch)) b->lost = arena_strdup(b->work, name);
}

Status bench_missed(Bench *b, Status s, const char *name) {
    if (!s || s == ST_CANCELLED || s == ST_NOMEM) return s;
    remember(b, s, name);
    look_after_context(b, name);
    return ST_OK;
}

/* ---- attempts ---- */
void bench_begin(Bench *b, Device *dev) {
    b->dev = dev;
    for (int i = 0; i < dev->n_missed; i++) {
        b->missed = arena_grow(b->result, b->missed, &b->cap_missed, b->n_missed + 1,
                               sizeof *b->missed);
        b->missed[b->n_missed++] = dev->missed[i];
    }
}

static const char unanswered[] = "the device did not answer, or the process ended";

static void so_far(Bench *b) {
    if (b->o->so_far) b->o->so_far(b->o->user, b->row_name, b->attempts, b->dev);
}

bool bench_try(Bench *b, const char *figure) {
    if (++b->attempts <= b->skip) return false;
    if (b->lost) {
        if (!b->o->so_far)
            note(b, figure, arena_printf(b->row, "the device was lost with %s", b->lost));
        return false;
    }
    bench_say(b, figure);
    Attempt *t = ARENA_NEW(b->row, Attempt);
    t->figure = figure;
    t->diag = diag_new(b->row);
    t->outer = b->d;
    save(t, b->row, b->dev);
    b->d = &t->diag;
    b->attempt = t;
    if (b->o->so_far) {
        note(b, figure, unanswered);
        so_far(b);
    }
    return true;
}

Status bench_tried(Bench *b, Status s) {
    Attempt *t = b->attempt;
    if (!s) s = plausible(b);
    if (s) {
        restore(b, t);
        s = bench_missed(b, s, t->figure);
    } else {
        forget(b, t->figure);
        b->succeeded++;
    }
    const DiagMessage *m = s ? diag_first_error(b->d) : NULL;
    b->d = t->outer;
    b->attempt = NULL;
    if (b->lost) so_far(b);
    return s ? diag_error(b->d, s, NULL, DIAG_NOWHERE, "%s", m ? m->message : status_text(s))
             : ST_OK;
}
