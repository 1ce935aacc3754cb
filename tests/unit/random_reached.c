#include "random_trip.h"
#include "rprogram/derived.h"
#include "rprogram/skeletons.h"

static const char *const skeletons[SK_COUNT] = {
#define X(id, name) #name,
    RPROG_SKELETONS(X)
};
#undef X
static const char *const loads[TRIP_LOAD_COUNT] = {
#define X(id, name) name,
    TRIP_LOADS(X)
};
#undef X
static const char *const units[TRIP_UNIT_COUNT] = {
#define X(id, name) name,
    TRIP_UNITS(X)
};
#undef X
static const char *const rows[STATS_COUNT] = {
#define X(id, name) name,
    RPROG_STATS(X)
};
#undef X
static const char *const sized[TRIP_SIZED_COUNT] = {
#define X(id, name) name,
    TRIP_SIZED(X)
};
#undef X

static const char *const ends[TRIP_END_COUNT] = {
#define X(id, name) name,
    TRIP_ENDS(X)
};
#undef X

typedef struct {
    const char *what, *const *name;
    const atomic_int *count;
    int n;
} Row;
enum { ROWS = 7 };

static void rows_of(const Reached *x, Row out[ROWS]) {
    out[0] = (Row){"skeletons", skeletons, x->skeleton, SK_COUNT};
    out[1] = (Row){"decisions", te_decision_name, x->decision, TE_DECISION_COUNT};
    out[2] = (Row){"loads", loads, x->load, TRIP_LOAD_COUNT};
    out[6] = (Row){"units", units, x->unit, TRIP_UNIT_COUNT};
    out[3] = (Row){"rows of products", rows, x->stats, STATS_COUNT};
    out[4] = (Row){"run-time sizes", sized, x->sized, TRIP_SIZED_COUNT};
    out[5] = (Row){"ends", ends, x->end, TRIP_END_COUNT};
}

void trip_print_reached(const Reached *x, Buf *out) {
    Row row[ROWS];
    rows_of(x, row);
    for (int i = 0; i < ROWS; i++) {
        buf_printf(out, "%s%s:", i ? "; " : "", row[i].what);
        for (int k = 0; k < row[i].n; k++)
            buf_printf(out, " %s %d", row[i].name[k], row[i].count[k]);
    }
}

const char *trip_unreached(const Reached *x) {
    Row row[ROWS];
    rows_of(x, row);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < row[i].n; k++)
            if (row[i].count[k] == 0) return row[i].name[k];
    return NULL;
}

static TripLoad load_of(const RLoad *l) {
    if (l->region) return TRIP_REGION;
    if (l->kind == LOAD_ASYNC) return TRIP_ASYNC;
    return rprog_through_registers(l) ? TRIP_STAGED : TRIP_BOXES;
}

static void reach_product(Reached *x, const Device *dev, const Problem *p, const RProg *r) {
    bool warpgroups = dev->unit[r->unit].b_smem, matrix = warpgroups || rprog_matrix(dev, r);
    x->unit[warpgroups ? TRIP_WARPGROUPS : matrix ? TRIP_WARPS : TRIP_THREADS]++;
    x->unit[TRIP_CLUSTERS] += rprog_cluster(r) > 1;
    x->unit[TRIP_STAYING] += rprog_persistent(r);
    for (int side = 0; side < 2; side++)
        if (side < p->n_operand) x->load[load_of(&r->load[side])]++;
}

static void reach_plan(Reached *x, const Device *dev, const RPlan *p) {
    bool skeleton[SK_COUNT] = {0}, stats[STATS_COUNT] = {0};
    bool some[TRIP_SIZED_COUNT] = {0}, end[TRIP_END_COUNT] = {0};
    for (int i = 0; i < p->n; i++) {
        const RProg *r = &p->prog[i];
        skeleton[r->skeleton] = true;
        end[TRIP_MAP_REST] |= r->skeleton == SK_STREAM && rprog_stream_rest(&p->problem[i], r);
        end[TRIP_ROW_ENDS] |= r->skeleton == SK_ROW && rprog_row_ends(&p->problem[i], r);
        some[TRIP_WHOLE] |= r->stats == STATS_WHOLE;
        some[TRIP_PARTS] |= r->stats == STATS_PARTIAL;
        some[TRIP_TIED] |= r->skeleton == SK_COLUMN && p->problem[i].column.followers > 0;
        if (r->skeleton != SK_CONTRACT) continue;
        stats[r->stats] = true;
        reach_product(x, dev, &p->problem[i], r);
    }
    for (int d = 0; d < TE_DECISION_COUNT; d++) x->decision[d] += decided(p->te) >> d & 1;
    for (int i = 0; i < SK_COUNT; i++) x->skeleton[i] += skeleton[i];
    for (int i = 0; i < TRIP_END_COUNT; i++) x->end[i] += end[i];
    for (int i = 0; i < STATS_COUNT; i++) x->stats[i] += stats[i];
    for (int i = 0; i < TRIP_SIZED_COUNT && p->te->runtime; i++) x->sized[i] += some[i];
}

void trip_reach(Reached *x, const Device *dev, const RPlan *p) {
    for (; p; p = p->other) reach_plan(x, dev, p);
}
