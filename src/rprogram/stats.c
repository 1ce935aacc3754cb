/* Statements over rows of a contraction's results: where parts and values of them lie.  */
#include "rprogram/index_map.h"
#include "rprogram/matrix.h"

enum { VALUE_ALIGN = 16 };   /* bytes: of the widest access */

const StatFacts *rprog_stats_facts(const Problem *p, const RProg *r) {
    return r->stats == STATS_WHOLE ? p->stats : p->stats_online;
}

int64_t rprog_stats_turns(const Problem *p, const RProg *r) {
    int passes = r->stats == STATS_TURNS ? p->stats_online->group->n_pass : 0;
    return passes > 0 ? passes * rprog_tiles(p, r, AX_N) * rprog_in_turn(r) : 1;
}

RowStats rprog_stats_of(const Problem *p, const RProg *r) {
    if (!p->stats) return STATS_NONE;
    return r->block.extent[AX_N] >= p->extent[AX_N] ? STATS_WHOLE : STATS_PARTIAL;
}

static const TeStmt *statement(const Problem *p, const RProg *r, int i) {
    return &p->te->stmt[rprog_stats_facts(p, r)->group->stmt[i]];
}

static bool reduces(const Problem *p, const RProg *r, int i) {
    return rprog_stats_facts(p, r)->group->role[i] == ROW_REDUCE;
}

/* Bytes of statement i's value of a row; 0: it has one for each element.  */
static int value_bytes(const Problem *p, const RProg *r, int i) {
    if (rprog_stats_facts(p, r)->group->role[i] == ROW_MAP) return 0;
    return te_dtype_bytes(te_dtype_compute(p->te->tensor[statement(p, r, i)->tensor].dtype));
}

static int partial_bytes(const Problem *p, const RProg *r, int i) {
    return reduces(p, r, i) ? te_dtype_bytes(statement(p, r, i)->rhs->type) : 0;
}

static int64_t rounded(int64_t bytes) {
    return ceil_div(bytes, VALUE_ALIGN) * VALUE_ALIGN;
}

void rprog_stats_rooms(RoomWalk *w) {
    const RProg *r = w->r;
    const RowGroup *g = rprog_stats_facts(w->p, r)->group;
    int64_t rows = r->block.extent[AX_M];
    int64_t at = rprog_persistent(r) ? rounded(w->end) : 0;
    layout_partials(w, at, g, count_along(&r->block, &r->warp, AX_N) * rows);
    w->end = rounded(w->end);
    for (int i = 0; i < g->n; i++) {
        int bytes = value_bytes(w->p, r, i);
        Room x = layout_one(ROOM_VALUES, i, w->end, rounded(rows * bytes));
        if (bytes > 0) layout_of_teams(w, x);
    }
}

static int64_t rows_of(const Problem *p) { return p->extent[AX_B] * p->extent[AX_M]; }

/* Bytes of one part (value) of each statement before i.  */
static int64_t each_before(const Problem *p, const RProg *r, int i,
                           int (*bytes)(const Problem *, const RProg *, int)) {
    int64_t sum = 0;
    for (int j = 0; j < i; j++) sum += bytes(p, r, j);
    return sum;
}

void rprog_stats_at(const Problem *p, const RProg *r, int i, bool value, int64_t *partials,
                    int64_t *values) {
    int n = rprog_stats_facts(p, r)->group->n;
    *partials = each_before(p, r, value ? n : i, partial_bytes);
    *values = value ? each_before(p, r, i, value_bytes) : 0;
}

int64_t rprog_stats_workspace(const Problem *p, const RProg *r) {
    int64_t partials, values, rows = rows_of(p), tiles = rprog_tiles(p, r, AX_N);
    rprog_stats_at(p, r, rprog_stats_facts(p, r)->group->n, true, &partials, &values);
    return partials * ceil_div(rows * tiles, STATS_ROOM) * STATS_ROOM +
           values * ceil_div(rows, STATS_ROOM) * STATS_ROOM;
}

int rprog_stats_kernels(const Problem *p, const RProg *r) {
    const StatFacts *f = rprog_stats_facts(p, r);
    int n = f->group->n_pass;
    if (r->stats != STATS_PARTIAL) return 1;
    for (int pass = 0; pass < f->group->n_pass; pass++) n += f->reduces[pass] > 0;
    return n;
}

bool rprog_stats_combines(const Problem *p, const RProg *r, int number) {
    const StatFacts *f = rprog_stats_facts(p, r);
    bool combines = false;
    for (int pass = 0; number >= 0 && r->stats == STATS_PARTIAL; number--) {
        combines = !combines && pass > 0 && f->reduces[pass - 1] > 0;
        pass += !combines;
    }
    return combines;
}

int rprog_stats_lanes(const Device *dev, const RProg *r) {
    Fragment f = rprog_results(dev, r);
    return fragment_lane_bits(&f, FRAG_COL);
}

int rprog_stats_rows(const Device *dev, const RProg *r) {
    if (!rprog_matrix(dev, r)) return r->thread.extent[AX_M];
    Fragment f = rprog_results(dev, r);
    return count_along(&r->warp, &r->thread, AX_M) * fragment_slots(&f, FRAG_ROW);
}

int rprog_stats_columns(const Device *dev, const RProg *r) {
    if (!rprog_matrix(dev, r)) return r->thread.extent[AX_N];
    Fragment f = rprog_results(dev, r);
    return count_along(&r->warp, &r->thread, AX_N) * fragment_slots(&f, FRAG_COL);
}

/* What a thread folds into, and the values of its rows while maps are made.  */
int64_t rprog_stats_registers(const Problem *p, const Device *dev, const RProg *r) {
    enum { ADDRESSES = 6 };   /* where values lie: fitted as those of contract_registers */
    const StatFacts *f = rprog_stats_facts(p, r);
    int most = 1;
    for (int pass = 0; pass < f->group->n_pass; pass++)
        most = f->reduces[pass] > most ? f->reduces[pass] : most;
    return ADDRESSES + (int64_t)most * rprog_stats_rows(dev, r) * hal_words(p->acc_bytes);
}

/* Is there a mean that others follow, so that columns are counted?  */
static bool counts(const Problem *p, const RProg *r) {
    const RowGroup *g = rprog_stats_facts(p, r)->group;
    bool any = false;
    for (int i = 0; i < g->n; i++) any |= g->follow[i] == FOLLOW_SHIFT;
    return any;
}

const char *rprog_stats_check(const Problem *p, const RProg *r) {
    if (!p->stats) return r->stats == STATS_NONE ? NULL : "there are no statements over rows";
    if (r->stats == STATS_NONE) return "rows are `whole`, `partial` or in `turns`";
    if (r->stats == STATS_TURNS && (r->load[0].region || r->load[1].region))
        return "`rows turns` goes without regions";
    if (r->stats == STATS_TURNS && counts(p, r) && rprog_ragged(p, r, AX_N))
        return "turns in which columns are counted are whole";
    if (r->stats == STATS_WHOLE && r->block.extent[AX_N] < p->extent[AX_N]) {
        return "`rows whole` needs a block of all columns";
    }
    if (r->split != 1 || r->tail != 0) return "values of rows need all k-steps in one block";
    if (r->block.extent[AX_K] != r->warp.extent[AX_K]) {
        return "values of rows go with no warps that share a block's k-steps";
    }
    if (rows_of(p) > INT32_MAX && r->stats == STATS_PARTIAL) {
        return "partial rows are numbered with 32 bits";
    }
    return NULL;
}
