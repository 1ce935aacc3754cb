/* Every figure and curve of a profile with its name.  */
#include "cli/profile.h"
#include <string.h>

static void add(Arena *a, ProfileFigures *all, const char *group, const char *name,
                const Figure *f, const Curve *c) {
    if (f ? !hal_has(f) : !c->n) return;
    all->row = arena_grow(a, all->row, &all->cap, all->n + 1, sizeof *all->row);
    const char *whole = *group ? arena_printf(a, "%s.%s", group, name) : name;
    all->row[all->n++] = (ProfileFigure){whole, f, c};
}

static void memory(Arena *a, const Device *dev, ProfileFigures *all) {
    static const char *const level[] = {
#define X(id, name) name,
        HAL_LEVELS(X)
#undef X
    };
    for (int k = 0; k < LEVEL_COUNT; k++) {
        const MemoryLevel *m = &dev->memory[k];
        if (!m->present) continue;
#define X(name, ...) add(a, all, level[k], #name, &m->name, NULL);
        HAL_MEMORY(X)
#undef X
        for (int i = 0; i < m->n_curve; i++) {
            const Curve *c = &m->curve[i];
            add(a, all, level[k], arena_printf(a, "%s over %s", c->of, c->x), NULL, c);
        }
    }
}

static void units_and_movers(Arena *a, const Device *dev, ProfileFigures *all) {
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        add(a, all, u->name, "rate", &u->rate, NULL);
        add(a, all, u->name, "sustained", &u->sustained, NULL);
        add(a, all, u->name, "latency", &u->latency, NULL);
        add(a, all, u->name, "rate over warps", NULL, &u->warps);
    }
    for (int i = 0; i < dev->n_mover; i++) {
        add(a, all, dev->mover[i].name, "rate", &dev->mover[i].rate, NULL);
        add(a, all, dev->mover[i].name, "cost", &dev->mover[i].cost, NULL);
    }
}

ProfileFigures profile_figures(Arena *a, const Device *dev) {
    ProfileFigures all = {0};
#define X(name, ...) add(a, &all, "", #name, &dev->limits.name, NULL);
    HAL_LIMITS(X)
#undef X
    add(a, &all, "", "clusters_resident", NULL, &dev->limits.clusters_resident);
    memory(a, dev, &all);
    units_and_movers(a, dev, &all);
#define X(name, ...) add(a, &all, "", #name, &dev->overheads.name, NULL);
    HAL_OVERHEADS(X)
#undef X
    add(a, &all, "", "barrier", NULL, &dev->overheads.barrier);
    return all;
}

const ProfileFigure *profile_find(const ProfileFigures *all, const char *name) {
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->row[i].name, name)) return &all->row[i];
    return NULL;
}
