#include "base/nearest.h"
#include "hal/reader.h"

#include <string.h>

/* The place of a fault: the deepest of root.section.key that is there.  */
static const Node *where(const Node *root, const char *section, const char *key) {
    const Node *s = located_member(root, section);
    const Node *n = s && key ? located_member(s, key) : NULL;
    return n ? n : s ? s : root;
}

static const Node *row(const Node *root, const char *section, int i) {
    const Node *s = located_member(root, section);
    return s && i < s->n_child ? &s->child[i] : root;
}

/* a <= b, where both are known.  */
static void at_most(Reader *r, const Node *n, const Figure *a, const Figure *b, const char *what) {
    if (hal_has(a) && hal_has(b) && a->value > b->value)
        reader_fault(r, n, "check", "is larger than %s", what);
}

static void check_limits(Reader *r, const Node *root, const DeviceLimits *l) {
    const Node *n = where(root, "limits", NULL);
#define AT_MOST(a, b) at_most(r, where(root, "limits", #a), &l->a, &l->b, #b)
    AT_MOST(threads_per_block, threads_per_sm);
    AT_MOST(registers_per_block, registers_per_sm);
    AT_MOST(registers_per_thread, registers_per_block);
    AT_MOST(register_granule, registers_per_sm);
    AT_MOST(smem_per_block, smem_per_block_optin);
    AT_MOST(smem_granule, smem_per_sm);
    if (hal_has(&l->clock_sm_max)) AT_MOST(clock_sm_sustained, clock_sm_max);
    else AT_MOST(clock_sm_sustained, clock_sm);
#undef AT_MOST
    if (hal_has(&l->smem_per_block_optin) && hal_has(&l->smem_reserved) &&
        hal_has(&l->smem_per_sm) &&
        l->smem_per_block_optin.value + l->smem_reserved.value > l->smem_per_sm.value)
        reader_fault(r, where(root, "limits", "smem_per_block_optin"), "check",
                     "with smem_reserved it is larger than smem_per_sm");
    if (hal_has(&l->threads_per_block) && hal_has(&l->warp_size) &&
        (int64_t)l->threads_per_block.value % (int64_t)l->warp_size.value)
        reader_fault(r, where(root, "limits", "threads_per_block"), "check",
                     "is no whole number of warps");
    if (hal_has(&l->registers_per_sm) && hal_has(&l->subpartitions) &&
        (int64_t)l->registers_per_sm.value % (int64_t)l->subpartitions.value)
        reader_fault(r, where(root, "limits", "registers_per_sm"), "check",
                     "does not divide among the subpartitions");
    if (hal_has(&l->cluster_max) && (l->cluster_max.value > 1) != (l->clusters_resident.n > 0))
        reader_fault(r, n, "check",
                     "clusters_resident is there exactly when cluster_max is above 1");
}

static const Field *member_field(const char *name) {
    const Field *f = hal_memory_fields.field;
    while (strcmp(f->name, name)) f++;
    return f;
}

static void check_level(Reader *r, const Node *n, const MemoryLevel *m, LevelId level) {
#define X(id, member)                                                                              \
    if (level == LEVEL_##id && !located_member(n, #member))                                        \
        reader_need(r, n, #member, reader_about(r, member_field(#member)));
    HAL_MEMORY_NEEDS(X)
#undef X
    for (int i = 0; i < hal_n_curve_kinds; i++) {
        const CurveKind *k = &hal_curve_kinds[i];
        if (k->level != level || !k->required || hal_level_curve(m, k->of, k->x)) continue;
        reader_fault(r, n, "missing", "the curve of %s over %s is missing", k->of, k->x);
        diag_hint(r->diag, "{\"of\": \"%s\", \"x\": \"%s\", \"x_unit\": \"%s\", \"unit\": \"%s\", "
                           "\"source\": ..., \"points\": [[x, y], ...]} in \"curves\"",
                  k->of, k->x, k->x_unit, k->unit);
    }
    const Node *at = located_member(n, "effective_capacity");
    at_most(r, at ? at : n, &m->effective_capacity, &m->capacity, "capacity");
    at = located_member(n, "transaction");
    at_most(r, at ? at : n, &m->transaction, &m->line, "line");
}

static void check_memory(Reader *r, const Node *root, const Device *dev) {
    const Node *memory = located_member(root, "memory");
    if (!memory || !json_is_array(memory->json))
        return;
    const Node *level[LEVEL_COUNT] = {NULL};
    for (int i = 0; i < memory->n_child; i++) {
        const Node *name = located_member(&memory->child[i], "level");
        const char *s = name ? json_string_value(name->json) : NULL;
        for (int k = 0; s && k < LEVEL_COUNT; k++)
            if (!level[k] && !strcmp(s, hal_level_names[k]))
                level[k] = &memory->child[i];
    }
    bool clusters = dev->limits.cluster_max.value > 1;
    for (int k = 0; k < LEVEL_COUNT; k++) {
        if (level[k])
            check_level(r, level[k], &dev->memory[k], (LevelId)k);
        else if (k != LEVEL_DSMEM || clusters) {
            reader_fault(r, memory, "missing", "the level \"%s\" is missing", hal_level_names[k]);
            diag_hint(r->diag, READER_COPY);
        }
    }
    if (level[LEVEL_DSMEM] && hal_has(&dev->limits.cluster_max) && !clusters)
        reader_fault(r, level[LEVEL_DSMEM], "check", "there are no clusters: cluster_max is 1");
    const Figure *smem = &dev->memory[LEVEL_SMEM].capacity, *reg = &dev->memory[LEVEL_REG].capacity;
    const DeviceLimits *l = &dev->limits;
    if (level[LEVEL_SMEM] && hal_has(smem) && hal_has(&l->smem_per_sm) &&
        smem->value != l->smem_per_sm.value)
        reader_fault(r, where(level[LEVEL_SMEM], "capacity", NULL), "check",
                     "differs from limits.smem_per_sm");
    if (level[LEVEL_REG] && hal_has(reg) && hal_has(&l->registers_per_sm) &&
        reg->value != 4 * l->registers_per_sm.value)
        reader_fault(r, where(level[LEVEL_REG], "capacity", NULL), "check",
                     "differs from 4 x limits.registers_per_sm");
}

static void second(Reader *r, const Node *n, const char *kind, const char *name) {
    reader_fault(r, n, "check", "a second %s \"%s\"", kind, name);
    diag_hint(r->diag, "they are taken by name: give each a name of its own");
}

static void check_name(Reader *r, const Node *n, const char *name) {
    if (name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._")])
        reader_fault(r, n, "text", "a name has lower-case letters, digits, . and _");
}

/* The rate of the whole device, which every product of the model stays below.  */
static bool absurd(const Device *dev, double rate) {
    return rate * dev->limits.sm_count.value * dev->limits.clock_sm.value * 1e6 > 1e19;
}

static void check_families(Reader *r, const Node *root, const Device *dev) {
    for (int i = 0; i < dev->n_family; i++) {
        const Node *n = row(root, "families", i);
        check_name(r, n, dev->family[i].name);
        for (int k = 0; k < i; k++)
            if (!strcmp(dev->family[i].name, dev->family[k].name))
                second(r, n, "family", dev->family[i].name);
    }
}

static void no_family(Reader *r, const Node *n, const Device *dev) {
    const Node *family = located_member(n, "family");
    reader_fault(r, family, "check", "\"families\" has no such row");
    Nearest near = {.name = json_string_value(family->json)};
    for (int i = 0; i < dev->n_family; i++) nearest_offer(&near, dev->family[i].name);
    if (near.best) diag_hint(r->diag, "did you mean \"%s\"?", near.best);
}

static void check_units(Reader *r, const Node *root, const Device *dev) {
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        const Node *n = row(root, "units", i);
        check_name(r, n, u->name);
        if (u->name && *u->name && hal_unit(dev, u->name) != u)
            second(r, n, "unit", u->name);
        if (*u->family && !hal_family(dev, u)) no_family(r, n, dev);
        if (!u->a_reg && !u->a_smem)
            reader_fault(r, n, "check", "the first operand can lie nowhere");
        if (u->b != HAL_NO_DTYPE && !u->b_reg && !u->b_smem)
            reader_fault(r, n, "check", "the second operand can lie nowhere");
        if ((u->scope == SCOPE_WARPGROUP) != u->b_smem)
            reader_fault(r, n, "check", "units of warpgroups alone read operands in shared memory");
        if ((u->a_smem || u->b_smem) && !u->k_major && !u->mn_major)
            reader_fault(r, n, "check", "no layout of shared memory is taken");
        if (u->mn_atom > 0 && !u->mn_major)
            reader_fault(r, n, "check", "mn_atom is of operands with m or n contiguous");
        if ((u->scale_k > 0) != (u->scale != HAL_NO_DTYPE) ||
            (u->scale_k > 0 && (!te_dtype_scale(u->scale) || u->k.from % u->scale_k)))
            reader_fault(r, n, "check", "scales need a type of scales, and scale_k that divides k");
        if (hal_has(&u->rate) &&
            (u->b != HAL_NO_DTYPE) != !strcmp(u->rate.unit, "FLOP/clk/SM"))
            reader_fault(r, n, "unit", "multiply-adds count in FLOP/clk/SM, all else in op/clk/SM");
        if (absurd(dev, u->rate.value))
            reader_fault(r, n, "check", "the rate of the whole device overflows");
    }
}

static void check_movers(Reader *r, const Node *root, const Device *dev) {
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
        const Node *n = row(root, "movers", i);
        check_name(r, n, m->name);
        if (m->name && *m->name && hal_mover(dev, m->name) != m)
            second(r, n, "mover", m->name);
        const int powers[] = {m->granule, m->alignment, m->stride_multiple};
        for (int k = 0; k < 3; k++)
            if (powers[k] & (powers[k] - 1)) {
                reader_fault(r, n, "check",
                             "granule, alignment and stride_multiple are powers of two");
                break;
            }
        if ((m->from == PLACE_DSMEM || m->to == PLACE_DSMEM) &&
            hal_has(&dev->limits.cluster_max) && dev->limits.cluster_max.value == 1)
            reader_fault(r, n, "check", "there is no distributed shared memory: cluster_max is 1");
        if (absurd(dev, m->rate.value))
            reader_fault(r, n, "check", "the rate of the whole device overflows");
    }
}

/* "smem", "dram.read" and the like, and what issues instructions.  */
static bool names_rate(const char *name) {
    if (!strcmp(name, "issue")) return true;
    static const char *const tails[] = {"", ".read", ".write", ".copy"};
    for (int i = 0; i < LEVEL_COUNT; i++) {
        size_t len = strlen(hal_level_names[i]);
        for (int k = 0; k < 4; k++)
            if (!strncmp(name, hal_level_names[i], len) && !strcmp(name + len, tails[k]))
                return true;
    }
    return false;
}

/* What OpenCL C cannot name: work of several threads at once, copies that end later, clusters.  */
static void check_plain(Reader *r, const Node *root, const Device *dev) {
    if (dev->limits.cluster_max.value > 1)
        reader_fault(r, where(root, "limits", "cluster_max"), "check",
                     "there are no clusters in %s", hal_language_name(dev->language));
    for (int i = 0; i < dev->n_unit; i++) {
        if (dev->unit[i].scope != SCOPE_THREAD)
            reader_fault(r, row(root, "units", i), "check", "no unit of a %s in %s",
                         hal_scope_names[dev->unit[i].scope], hal_language_name(dev->language));
    }
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
        if (m->async || hal_moves_by_map(m) || m->issue != SCOPE_THREAD)
            reader_fault(r, row(root, "movers", i), "check", "no such mover in %s",
                         hal_language_name(dev->language));
    }
}

static void factor_of_nothing(Reader *r, const Node *n, const Device *dev) {
    Nearest near = {.name = n->key};
    for (int i = 0; i < dev->n_unit; i++) nearest_offer(&near, dev->unit[i].name);
    for (int i = 0; i < dev->n_mover; i++) nearest_offer(&near, dev->mover[i].name);
    reader_fault(r, n, "check", "multiplies no unit, no mover, no level and no rate of a level");
    if (near.best)
        diag_hint(r->diag, "did you mean \"%s\"?", near.best);
    else
        diag_hint(r->diag, "it is issue, a level (dram), its rate (dram.read), or a name of "
                           "\"units\" or \"movers\"");
}

void reader_check(Reader *r, const Node *root, const Device *dev) {
    check_limits(r, root, &dev->limits);
    check_memory(r, root, dev);
    check_families(r, root, dev);
    check_units(r, root, dev);
    check_movers(r, root, dev);
    if (dev->language != LANGUAGE_CUDA) check_plain(r, root, dev);
    for (int i = 0; i < dev->n_factor; i++) {
        const char *name = dev->factor[i].name;
        if (!hal_unit(dev, name) && !hal_mover(dev, name) && !names_rate(name))
            factor_of_nothing(r, where(root, "factors", name), dev);
    }
}
