/* Every figure and curve of a device with its name.  */
#include "hal/device.h"

#include <string.h>

typedef struct {
    Arena *a;
    bool absent;              /* what the profile does not hold, too */
    HalFigure *row;
    size_t n, cap;
} List;

static void add(List *l, const char *group, const char *name, const Figure *f, const Curve *c) {
    if (!l->absent && (f ? !hal_has(f) : !c->n)) return;
    l->row = arena_grow(l->a, l->row, &l->cap, l->n + 1, sizeof *l->row);
    const char *whole = group ? arena_printf(l->a, "%s.%s", group, name) : name;
    l->row[l->n++] = (HalFigure){whole, f, c};
}

/* "rate over warps" of the member `warps`.  */
static const char *over(Arena *a, const char *member) {
    static const char *const name[][3] = {
#define X(name, of, x, x_unit, unit) {#name, of, x},
        HAL_MEMBER_CURVES(X)
#undef X
    };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(name[i][0], member))
            return arena_printf(a, "%s over %s", name[i][1], name[i][2]);
    return member;
}

static void level_curves(List *l, const char *group, LevelId id, const MemoryLevel *m) {
    static const Curve none;
    static const struct {
        LevelId level;
        const char *of, *x;
    } row[] = {
#define X(id, of, x, ...) {LEVEL_##id, of, x},
        HAL_CURVES(X)
#undef X
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (row[i].level != id) continue;
        const Curve *c = hal_level_curve(m, row[i].of, row[i].x);
        add(l, group, arena_printf(l->a, "%s over %s", row[i].of, row[i].x), NULL, c ? c : &none);
    }
}

static void memory(List *l, const Device *dev) {
    static const char *const level[] = {
#define X(id, name) name,
        HAL_LEVELS(X)
#undef X
    };
    for (int k = 0; k < LEVEL_COUNT; k++) {
        const MemoryLevel *m = &dev->memory[k];
        if (!m->present) continue;
#define X(name, ...) add(l, level[k], #name, &m->name, NULL);
        HAL_MEMORY(X)
#undef X
        level_curves(l, level[k], (LevelId)k, m);
    }
}

/* Members of a unit or a mover that are figures or curves; the others say nothing here.  */
#define LIST_TEXT(x, member)
#define LIST_SCOPE(x, member)
#define LIST_PLACE(x, member)
#define LIST_RANGE(x, member)
#define LIST_DTYPE(x, member)
#define LIST_FLAG(x, member)
#define LIST_SPANS(x, member)
#define LIST_COUNT(x, member)
#define LIST_FIGURE(x, member) add(l, (x)->name, #member, &(x)->member, NULL);
#define LIST_CURVE(x, member)  add(l, (x)->name, over(l->a, #member), NULL, &(x)->member);

static void units_and_movers(List *l, const Device *dev) {
    for (int i = 0; i < dev->n_family; i++) {
        const UnitFamily *f = &dev->family[i];
#define X(kind, name, ...) LIST_##kind(f, name)
        HAL_FAMILY(X)
#undef X
    }
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
#define X(kind, name, ...) LIST_##kind(u, name)
        HAL_UNIT(X)
#undef X
    }
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
#define X(kind, name, ...) LIST_##kind(m, name)
        HAL_MOVER(X)
#undef X
    }
}

int hal_figures(Arena *a, const Device *dev, bool absent, const HalFigure **out) {
    List l = {.a = a, .absent = absent};
#define X(name, ...) add(&l, NULL, #name, &dev->limits.name, NULL);
    HAL_LIMITS(X)
#undef X
    add(&l, NULL, "clusters_resident", NULL, &dev->limits.clusters_resident);
    memory(&l, dev);
    units_and_movers(&l, dev);
#define X(name, ...) add(&l, NULL, #name, &dev->overheads.name, NULL);
    HAL_OVERHEADS(X)
#undef X
    add(&l, NULL, "barrier", NULL, &dev->overheads.barrier);
    *out = l.row;
    return (int)l.n;
}
