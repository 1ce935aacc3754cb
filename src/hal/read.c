#include "base/hash.h"
#include "hal/reader.h"

#include <string.h>

enum { MAX_ROWS = 1024, MAX_CURVES = 64, SCHEMA_VERSION = 1 };

static void read_head(Reader *r, const Node *root, Device *dev) {
    const Node *n = reader_need(r, root, "schema",
                                "a profile begins with \"schema\": \"roller-profile\"");
    const char *s = n ? reader_text(r, n, 0, 64) : NULL;
    if (s && strcmp(s, "roller-profile"))
        reader_fault(r, n, "schema", "\"roller-profile\" is expected");
    n = reader_need(r, root, "schema_version", "then follows \"schema_version\": 1");
    int version;
    if (n && reader_whole(r, n, 0, 1e6, &version) && version != SCHEMA_VERSION) {
        reader_fault(r, n, "schema", "version %d; this program reads version %d", version,
                     SCHEMA_VERSION);
        diag_hint(r->diag, "roller-profile --device 0 makes it anew");
    }
    n = reader_need(r, root, "name", "the name that --profile takes");
    s = n ? reader_text(r, n, 1, 64) : NULL;
    if (s && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")])
        reader_fault(r, n, "text", "a name has lower-case letters, digits, _ and -");
    dev->name = s ? s : "";
}

/* "sm_90a" with "9.0".  */
static void read_arch(Reader *r, const Node *gpu, Device *dev) {
    static const char *const keys[] = {"arch", "compute_capability"};
    const char *text[2] = {NULL};
    for (int i = 0; i < 2; i++) {
        const Node *n = reader_need(r, gpu, keys[i],
                                    i ? "as 8.9; NVIDIA lists it for each GPU"
                                      : "sm_ and the compute capability without its point: sm_89");
        text[i] = n ? reader_text(r, n, 1, 16) : NULL;
    }
    if (!text[0] || !text[1])
        return;
    dev->arch = text[0];
    int sm;
    char suffix;
    if (!hal_arch(dev->arch, &sm, &suffix)) {
        reader_fault(r, located_member(gpu, "arch"), "text",
                     "an architecture is written like sm_80 or sm_90a");
        diag_hint(r->diag, "sm_ and the compute capability without its point: 8.9 is sm_89");
        return;
    }
    dev->cc_major = sm / 10;
    dev->cc_minor = sm % 10;
    if (strcmp(text[1], arena_printf(r->arena, "%d.%d", dev->cc_major, dev->cc_minor))) {
        reader_fault(r, located_member(gpu, "compute_capability"), "check",
                     "%s has compute capability %d.%d", dev->arch, dev->cc_major, dev->cc_minor);
        diag_hint(r->diag, "write that, or the arch of %s", text[1]);
    }
}

/* What a language has for an architecture is not said.  */
static void read_language(Reader *r, const Node *gpu, Device *dev) {
    static const char *const names[] = {
#define X(id, name, arch) name,
        HAL_LANGUAGES(X)
#undef X
    };
    static const char *const arch[] = {
#define X(id, name, arch) arch,
        HAL_LANGUAGES(X)
#undef X
    };
    const Node *n = located_member(gpu, "language");
    int language = n ? reader_choice(r, n, names, LANGUAGE_COUNT) : LANGUAGE_CUDA;
    if (language < 0) return;
    dev->language = (HalLanguage)language;
    if (!arch[language]) {
        read_arch(r, gpu, dev);
        return;
    }
    dev->arch = arch[language];
    for (int i = 0; i < gpu->n_child; i++) {
        const char *key = gpu->child[i].key;
        if (!strcmp(key, "arch") || !strcmp(key, "compute_capability"))
            reader_fault(r, &gpu->child[i], "check", "there is none in %s", names[language]);
    }
}

static void read_gpu(Reader *r, const Node *root, Device *dev) {
    static const char *const keys[] = {"name", "language", "arch", "compute_capability", NULL};
    const Node *gpu = reader_need(r, root, "gpu", READER_COPY);
    dev->gpu = dev->arch = "";
    if (!gpu || !reader_object(r, gpu))
        return;
    reader_known(r, gpu, NULL, keys);
    const Node *n = reader_need(r, gpu, "name", "as the driver calls it: \"NVIDIA L4\"");
    const char *name = n ? reader_text(r, n, 1, 128) : NULL;
    if (name)
        dev->gpu = name;
    read_language(r, gpu, dev);
}

static void read_made(Reader *r, const Node *root, Device *dev) {
    static const char *const modes[] = {"datasheet", "quick", "full"};
    const Node *made = reader_need(r, root, "made", READER_COPY);
    if (!made || !reader_object(r, made))
        return;
    reader_fields(r, made, &hal_made_fields, NULL, dev);
    const Node *date = located_member(made, "date"), *mode = located_member(made, "mode");
    if (date && *dev->date)
        reader_date(r, date);
    if (mode && *dev->mode)
        reader_choice(r, mode, modes, 3);
}

static void read_curves(Reader *r, const Node *n, LevelId level, MemoryLevel *m) {
    if (!reader_array(r, n, MAX_CURVES))
        return;
    m->curve = ARENA_ARRAY(r->arena, Curve, n->n_child);
    for (int i = 0; i < n->n_child; i++) {
        Curve c = {0};
        reader_curve(r, &n->child[i], level, NULL, &c);
        if (c.n && hal_level_curve(m, c.of, c.x))
            reader_fault(r, &n->child[i], "curve", "a second curve of %s over %s", c.of, c.x);
        else if (c.n)
            m->curve[m->n_curve++] = c;
    }
}

static void read_level(Reader *r, const Node *n, Device *dev) {
    static const char *const keys[] = {"level", "scope", "curves", NULL};
    if (!reader_object(r, n))
        return;
    int level = reader_need_choice(r, n, "level", hal_level_names, LEVEL_COUNT);
    if (level >= 0 && dev->memory[level].present) {
        reader_fault(r, n, "check", "a second level \"%s\"", hal_level_names[level]);
        return;
    }
    MemoryLevel ignored = {0}, *m = level < 0 ? &ignored : &dev->memory[level];
    m->present = true;
    int scope = reader_need_choice(r, n, "scope", hal_memory_scopes, hal_n_memory_scopes);
    m->scope = scope < 0 ? "" : hal_memory_scopes[scope];
    reader_fields(r, n, &hal_memory_fields, keys, m);
    const Node *at = located_member(n, "curves");
    if (at && level >= 0)
        read_curves(r, at, (LevelId)level, m);
}

static void read_memory(Reader *r, const Node *root, Device *dev) {
    const Node *n = reader_need(r, root, "memory", READER_COPY);
    if (!n || !reader_array(r, n, LEVEL_COUNT))
        return;
    for (int i = 0; i < n->n_child; i++)
        read_level(r, &n->child[i], dev);
}

/* A list of structs of `size` bytes, one per row; none where some row is no object.  */
static void *read_rows(Reader *r, const Node *root, const FieldTable *t, size_t size, int *count) {
    const Node *n = reader_need(r, root, t->name, READER_COPY);
    *count = 0;
    if (!n || !reader_array(r, n, MAX_ROWS))
        return NULL;
    char *rows = arena_calloc(r->arena, (size_t)n->n_child, size);
    int objects = 0;
    for (int i = 0; i < n->n_child; i++) {
        if (!reader_object(r, &n->child[i])) continue;
        reader_fields(r, &n->child[i], t, NULL, rows + (size_t)i * size);
        objects++;
    }
    if (objects == n->n_child) *count = objects;
    return rows;
}

static void read_factors(Reader *r, const Node *root, Device *dev) {
    const Node *n = reader_need(r, root, "factors",
                                "\"factors\": {} until roller-profile --calibrate fits them");
    if (!n || !reader_object(r, n))
        return;
    if (n->n_child > MAX_ROWS) {
        reader_fault(r, n, "bounds", "more than %d factors", MAX_ROWS);
        return;
    }
    dev->factor = ARENA_ARRAY(r->arena, Factor, n->n_child);
    dev->n_factor = n->n_child;
    for (int i = 0; i < n->n_child; i++) {
        dev->factor[i].name = n->child[i].key;
        if (reader_object(r, &n->child[i]))
            reader_fields(r, &n->child[i], &hal_factor_fields, NULL, &dev->factor[i]);
    }
}

static void read_missed(Reader *r, const Node *root, Device *dev) {
    enum { LONGEST = 400 };
    const Node *n = located_member(root, "not_measured");
    if (!n || !reader_object(r, n))
        return;
    dev->missed = ARENA_ARRAY(r->arena, Missed, n->n_child);
    dev->n_missed = n->n_child;
    for (int i = 0; i < n->n_child; i++)
        dev->missed[i] = (Missed){n->child[i].key, reader_text(r, &n->child[i], 1, LONGEST)};
}

static void read_section(Reader *r, const Node *root, const FieldTable *t, void *base) {
    const Node *n = reader_need(r, root, t->name, READER_COPY);
    if (n && reader_object(r, n))
        reader_fields(r, n, t, NULL, base);
}

static bool rate_measured(const Figure *f) {
    return !hal_has(f) || f->origin == ORIGIN_MEASURED;
}

static bool all_measured(const Device *dev) {
    bool all = true;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const MemoryLevel *m = &dev->memory[i];
        all &= rate_measured(&m->read) && rate_measured(&m->write) && rate_measured(&m->copy) &&
               rate_measured(&m->per_sm_max);
        for (int k = 0; k < m->n_curve; k++)
            all &= m->curve[k].origin == ORIGIN_MEASURED;
    }
    for (int i = 0; i < dev->n_family; i++)
        all &= rate_measured(&dev->family[i].sustained);
    for (int i = 0; i < dev->n_unit; i++)
        all &= rate_measured(&dev->unit[i].rate);
    for (int i = 0; i < dev->n_mover; i++)
        all &= rate_measured(&dev->mover[i].rate);
    return all;
}

static bool any_simulated(Arena *a, const Device *dev) {
    ArenaMark here = arena_mark(a);
    const HalFigure *row;
    int n = hal_figures(a, dev, false, &row);
    bool any = hal_gpu_simulated(dev->gpu);
    for (int i = 0; i < n; i++)
        any |= (row[i].figure ? row[i].figure->origin : row[i].curve->origin) == ORIGIN_SIMULATED;
    arena_reset(a, here);
    return any;
}

Status hal_profile_read(Arena *a, Diag *d, DiagText text, Device **out) {
    static const char *const keys[] = {"schema", "schema_version", "name",     "gpu",
                                       "made",   "limits",         "memory",   "families",
                                       "units",  "movers",         "overheads", "factors",
                                       "not_measured", NULL};
    Reader reader = {a, d, text.file, text.text, text.len}, *r = &reader;
    Node *root;
    *out = NULL;
    int before = d->errors;
    Status s = located_read(a, d, ST_PROFILE, text, &root);
    if (s != ST_OK)
        return s;
    if (!reader_object(r, root))
        return ST_PROFILE;
    Device *dev = ARENA_NEW(a, Device);
    reader_known(r, root, NULL, keys);
    read_head(r, root, dev);
    read_gpu(r, root, dev);
    read_made(r, root, dev);
    read_section(r, root, &hal_limits_fields, &dev->limits);
    read_memory(r, root, dev);
    if (located_member(root, "families"))
        dev->family = read_rows(r, root, &hal_family_fields, sizeof *dev->family, &dev->n_family);
    dev->unit = read_rows(r, root, &hal_unit_fields, sizeof *dev->unit, &dev->n_unit);
    dev->mover = read_rows(r, root, &hal_mover_fields, sizeof *dev->mover, &dev->n_mover);
    read_section(r, root, &hal_overheads_fields, &dev->overheads);
    read_factors(r, root, dev);
    read_missed(r, root, dev);
    reader_check(r, root, dev);
    if (d->errors > before)
        return ST_PROFILE;
    dev->measured = all_measured(dev);
    dev->simulated = any_simulated(a, dev);
    dev->calibrated = dev->n_factor > 0;
    sha256_text(text.text, text.len, dev->sha256);
    *out = dev;
    return ST_OK;
}
