#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

/* Row groups.  A cluster is a group that may still grow: a frame with what runs over its rows, or
 * maps over one domain that a frame may take in.  */

enum { OPEN = 0xff };

typedef struct {
    const Te *te;
    Groups *g;
    bool framed[TE_MAX_STMTS];             /* cluster: has a frame, its root */
    bool strips[TE_MAX_STMTS];             /* framed cluster: RowGroup.strips */
    int size[TE_MAX_STMTS];                /* cluster: statements */
    int first[TE_MAX_STMTS];               /* cluster: its first statement, -1: none */
    int next[TE_MAX_STMTS];                /* statement: of its cluster, in order; -1: none */
    uint8_t axis[TE_MAX_STMTS][TE_MAX_INDICES];       /* statement of a framed cluster */
    RowRole role[TE_MAX_STMTS];
} Rows;

static int64_t extent_of(const TeStmt *s, int index) { return s->index[index].hi.value; }

static bool same_extent(const TeStmt *s, int i, const TeStmt *t, int j) {
    return te_extent_same(&s->index[i].hi, &t->index[j].hi);
}

/* Do the columns of a read lie next to each other, and the rows apart?  */
static bool lies_in_rows(const Te *te, const TeStmt *s, const Access *x) {
    int64_t run = 1;
    int inner = -1;
    if (!x->affine)
        return false;
    for (int i = s->n_index - 1; i >= 0; i--) {
        int64_t coef = x->offset.coef[i], n = extent_of(s, i);
        if (n <= 1)
            continue;
        if (i < s->n_left ? coef < run
            : inner < 0   ? coef != 1 || (x->varies >> i & 1)
                          : !access_as_one(te, s, x, i, inner))
            return false;
        if (i < s->n_left)
            continue;
        run *= n;
        inner = i;
    }
    return run > 1;
}

/* Do the columns of a read lie apart, at one step, and neighbouring rows side by side?  */
static bool lies_in_strips(const Te *te, const TeStmt *s, const Access *x) {
    int column = -1, row = -1;
    if (!x->affine)
        return false;
    for (int i = s->n_index - 1; i >= 0; i--) {
        int64_t coef = x->offset.coef[i];
        if (extent_of(s, i) <= 1)
            continue;
        int *inner = i < s->n_left ? &row : &column;
        bool next = i < s->n_left ? row >= 0 || (coef == 1 && !(x->varies >> i & 1))
                                  : column < 0 || access_as_one(te, s, x, i, column);
        if (coef < 1 || !next)
            return false;
        *inner = i;
    }
    return row >= 0 && column >= 0;
}

/* A reduction over columns that lie as `lies` says: some read touches every point of the domain
 * once, or those that a condition lets it, so no tile would reuse it.  */
static bool is_row_like(const Te *te, const TeStmt *s,
                        bool (*lies)(const Te *, const TeStmt *, const Access *)) {
    Scan scan;
    if (s->rhs->kind != TE_REDUCE || access_scan(s, &scan))
        return false;
    ReadList reads = access_reads(s->rhs);
    for (int i = 0; i < reads.n; i++) {
        Access x;
        access_read(te, s, reads.at[i], &x);
        bool given = reads.at[i]->inside == TE_INSIDE_GIVEN;
        if (lies(te, s, &x) && (given || !access_guarded(te, &x)))
            return true;
    }
    return false;
}

/* The cluster that makes a tensor, -1 for inputs.  */
static int source(const Rows *r, int tensor) {
    int maker = r->g->maker[tensor];
    return maker < 0 ? -1 : r->g->home[maker];
}

/* ---- joining a framed cluster ---- */

/* Binds s's index under each plain subscript of a read to `to` of that dimension.  False where the
 * read is not of this form or contradicts what is bound.  */
static bool bind_read(const Te *te, const TeStmt *s, const TeExpr *read, const uint8_t *to,
                      uint8_t *axis) {
    const TeTensor *t = &te->tensor[read->v.ref];
    if (!te_always_inside(read))
        return false;
    for (int d = 0; d < te_own_rank(t); d++) {
        const TeExpr *sub = read->args[d];
        if (sub->kind != TE_INDEX || to[d] == OPEN ||
            !te_extent_same(&s->index[sub->v.ref].hi, &t->shape[d]))
            return false;
        uint8_t *bound = &axis[sub->v.ref];
        if (*bound != OPEN && *bound != to[d])
            return false;
        *bound = to[d];
    }
    return true;
}

/* Like a statement of the cluster that reads the same tensor: shared data should be read once.  */
static void bind_shared(const Rows *r, int k, const TeStmt *s, const TeExpr *read, uint8_t *axis) {
    for (int i = r->first[k]; i >= 0; i = r->next[i]) {
        ReadList reads = access_reads(r->te->stmt[i].rhs);
        for (int j = 0; j < reads.n; j++) {
            uint8_t to[TE_MAX_RANK], trial[TE_MAX_INDICES];
            if (reads.at[j]->v.ref != read->v.ref)
                continue;
            for (int d = 0; d < reads.at[j]->n_args; d++) {
                const TeExpr *sub = reads.at[j]->args[d];
                to[d] = sub->kind == TE_INDEX ? r->axis[i][sub->v.ref] : OPEN;
            }
            memcpy(trial, axis, sizeof trial);
            if (bind_read(r->te, s, read, to, trial)) {
                memcpy(axis, trial, sizeof trial);
                return;
            }
        }
    }
}

typedef struct {
    int first, end;           /* [first, end) */
} IndexRange;

/* What is still open runs with the first free index of the frame that is as long.  */
static bool bind_rest(const TeStmt *s, const TeStmt *frame, IndexRange own, IndexRange to,
                      uint8_t *axis) {
    uint32_t used = 0;
    for (int j = 0; j < s->n_index; j++) used |= axis[j] == OPEN ? 0 : 1u << axis[j];
    for (int j = own.first; j < own.end; j++) {
        for (int i = to.first; i < to.end && axis[j] == OPEN; i++) {
            if ((used >> i & 1) || !same_extent(s, j, frame, i))
                continue;
            axis[j] = (uint8_t)i;
            used |= 1u << i;
        }
        if (axis[j] == OPEN)
            return false;
    }
    return true;
}

/* Does every index run with another one of the frame, within the range and as long?  */
static bool is_bound(const TeStmt *s, const TeStmt *frame, IndexRange own, IndexRange to,
                     const uint8_t *axis) {
    uint32_t seen = 0;
    for (int j = own.first; j < own.end; j++) {
        if (axis[j] < to.first || axis[j] >= to.end || (seen >> axis[j] & 1) ||
            !same_extent(s, j, frame, axis[j]))
            return false;
        seen |= 1u << axis[j];
    }
    return true;
}

static bool role_of(const TeStmt *s, const TeStmt *frame, RowRole *role) {
    bool reduces = s->rhs->kind == TE_REDUCE;
    Scan scan;
    if (access_scan(s, &scan))
        return false;
    *role = reduces                          ? ROW_REDUCE
            : s->n_left == frame->n_index    ? ROW_MAP
                                             : ROW_SCALAR;
    if (reduces)
        return s->n_left == frame->n_left && s->n_index == frame->n_index;
    return s->n_left == frame->n_index || s->n_left == frame->n_left;
}

/* Can statement i of another cluster run over the rows of cluster k?  Fills its axis and role.  */
static bool fits(Rows *r, int k, int joining, int i) {
    const TeStmt *s = &r->te->stmt[i], *frame = &r->te->stmt[r->g->root[k]];
    uint8_t *axis = r->axis[i];
    ReadList reads = access_reads(s->rhs);
    int rows = frame->n_left;
    memset(axis, OPEN, TE_MAX_INDICES);
    if (!role_of(s, frame, &r->role[i]))
        return false;
    for (int j = 0; j < reads.n; j++) {
        const TeExpr *read = reads.at[j];
        int maker = r->g->maker[read->v.ref], from = source(r, read->v.ref);
        if ((from == k || from == joining) && !bind_read(r->te, s, read, r->axis[maker], axis))
            return false;
    }
    for (int j = 0; j < reads.n && memchr(axis, OPEN, (size_t)s->n_index); j++)
        bind_shared(r, k, s, reads.at[j], axis);
    int left = r->role[i] == ROW_MAP ? frame->n_index : rows;
    IndexRange own_left = {0, s->n_left}, own_rest = {s->n_left, s->n_index};
    IndexRange to_left = {0, left}, to_rest = {rows, frame->n_index};
    return bind_rest(s, frame, own_left, to_left, axis) &&
           bind_rest(s, frame, own_rest, to_rest, axis) &&
           is_bound(s, frame, own_left, to_left, axis) &&
           is_bound(s, frame, own_rest, to_rest, axis);
}

static void move(Rows *r, int from, int to) {
    groups_disorder(r->te, r->g, from, to);
    int *at = &r->first[to];
    for (int i = r->first[from], rest; i >= 0; i = rest) {
        while (*at >= 0 && *at < i) at = &r->next[*at];
        rest = r->next[i];
        r->next[i] = *at;
        *at = i;
        r->g->home[i] = to;
    }
    r->first[from] = -1;
    r->size[to] += r->size[from];
    r->size[from] = 0;
}

/* Can all of a cluster join framed cluster k?  */
static bool can_join(Rows *r, int joining, int k) {
    if (!r->framed[k] || r->size[k] + r->size[joining] > ROW_MAX_STMTS)
        return false;
    for (int i = r->first[joining]; i >= 0; i = r->next[i])
        if (!fits(r, k, joining, i)) return false;
    return true;
}

/* ---- founding a cluster ---- */

/* Does some statement of the cluster read a tensor of the other?  Of all its statements, or those
 * behind its root.  */
static bool reads_cluster(const Rows *r, int reader, int made, bool behind) {
    for (int i = r->first[reader]; i >= 0; i = r->next[i]) {
        if (behind && i == r->g->root[reader])
            continue;
        ReadList reads = access_reads(r->te->stmt[i].rhs);
        for (int j = 0; j < reads.n; j++) {
            if (source(r, reads.at[j]->v.ref) == made)
                return true;
        }
    }
    return false;
}

/* The root map of cluster p runs with frame f the way f reads it; the maps behind it run with
 * it.  */
static bool fits_before(Rows *r, int p, int f) {
    const TeStmt *frame = &r->te->stmt[f], *root = &r->te->stmt[r->g->root[p]];
    uint8_t to_root[TE_MAX_INDICES];
    bool found = false;
    ReadList reads = access_reads(frame->rhs);
    if (root->n_left != frame->n_index)
        return false;
    memset(to_root, OPEN, sizeof to_root);
    for (int j = 0; j < reads.n; j++) {
        if (source(r, reads.at[j]->v.ref) != p)
            continue;
        const uint8_t *made = r->g->perm[r->g->maker[reads.at[j]->v.ref]];
        if (!bind_read(r->te, frame, reads.at[j], made, to_root))
            return false;
        found = true;
    }
    for (int i = 0; i < frame->n_index; i++) {
        if (to_root[i] == OPEN || !same_extent(frame, i, root, to_root[i]))
            return false;
    }
    for (int i = r->first[p]; i >= 0; i = r->next[i]) {
        for (int j = 0; j < r->te->stmt[i].n_left; j++) {
            for (int x = 0; x < frame->n_index; x++) {
                if (to_root[x] == r->g->perm[i][j])
                    r->axis[i][j] = (uint8_t)x;
            }
        }
        r->role[i] = ROW_MAP;
    }
    return found;
}

/* Takes in the maps that make what the frame of cluster k reads, unless others need them: clusters
 * that it needs, or statements behind the frame, which have no columns.  */
static void take_producers(Rows *r, int k) {
    for (int p = k - 1; p >= 0; p--) {
        if (r->size[p] == 0 || r->framed[p] || !reads_cluster(r, k, p, false) ||
            r->te->stmt[r->g->root[p]].rhs->kind == TE_REDUCE ||
            r->size[p] + r->size[k] > ROW_MAX_STMTS)
            continue;
        if (!reads_cluster(r, k, p, true) && groups_meet(r->te, r->g, k, p) &&
            fits_before(r, p, r->g->root[k]))
            move(r, p, k);
    }
}

/* Cluster k's root is a reduction over rows, the statements behind it run over its rows.  */
static void found(Rows *r, int k) {
    const TeStmt *frame = &r->te->stmt[r->g->root[k]];
    r->framed[k] = true;
    for (int i = r->first[k]; i >= 0; i = r->next[i]) {
        bool is_frame = i == r->g->root[k];
        r->role[i] = is_frame ? ROW_REDUCE : ROW_SCALAR;
        for (int j = 0; j < TE_MAX_INDICES; j++)
            r->axis[i][j] = is_frame || j >= frame->n_left ? (uint8_t)j : r->g->perm[i][j];
    }
    take_producers(r, k);
}

/* Do the two read the same tensor?  */
static bool share(const Rows *r, int x, int y) {
    bool by_x[TE_MAX_TENSORS] = {false};
    for (int pass = 0; pass < 2; pass++) {
        for (int i = r->first[pass ? y : x]; i >= 0; i = r->next[i]) {
            ReadList reads = access_reads(r->te->stmt[i].rhs);
            for (int j = 0; j < reads.n; j++) {
                if (pass && by_x[reads.at[j]->v.ref])
                    return true;
                by_x[reads.at[j]->v.ref] |= !pass;
            }
        }
    }
    return false;
}

/* Is a kernel of its own likely to cost more than what is reduced?  */
static bool is_small(const TeStmt *s) {
    enum { SMALL_DOMAIN = 1 << 16 };
    double points = 1;
    for (int i = 0; i < s->n_index; i++) points *= (double)s->index[i].hi.value;
    return points <= SMALL_DOMAIN;
}

/* Does cluster k read what cluster p makes where p, running over k's rows, has it?  */
static bool reads_in_rows(const Rows *r, int k, int p) {
    for (int i = r->first[k]; i >= 0; i = r->next[i]) {
        ReadList reads = access_reads(r->te->stmt[i].rhs);
        for (int j = 0; j < reads.n; j++) {
            int tensor = reads.at[j]->v.ref;
            uint8_t axis[TE_MAX_INDICES];
            memcpy(axis, r->axis[i], sizeof axis);
            if (source(r, tensor) == p && !bind_read(r->te, &r->te->stmt[i], reads.at[j],
                                                     r->axis[r->g->maker[tensor]], axis))
                return false;
        }
    }
    return true;
}

/* Takes in maps that statements of framed cluster k read and that run over its rows, too: a kernel
 * of their own would have to come before it.  */
static void take_maps(Rows *r, int k) {
    for (int p = groups_behind(r->te, r->g, k, r->g->n); p >= 0;
         p = groups_behind(r->te, r->g, k, p)) {
        if (!r->framed[p] && r->te->stmt[r->g->root[p]].rhs->kind != TE_REDUCE &&
            can_join(r, p, k) && reads_in_rows(r, k, p))
            move(r, p, k);
    }
}

/* Reductions over rows of the same form share a kernel or not: usually where they share data or are
 * small.  */
static bool joins_beside(Rows *r, int k, int sibling) {
    const TeStmt *root = &r->te->stmt[r->g->root[k]];
    if (!can_join(r, k, sibling) || !groups_meet(r->te, r->g, k, sibling))
        return false;
    bool usual = is_small(root) || share(r, k, sibling);
    return te_takes(r->te, root, usual ? TE_APART : TE_JOINED) != usual;
}

/* Does a map over all columns read what the root of group k makes?  Else nothing reads the columns
 * again.  */
static bool is_seen(const Rows *r, int k) {
    const TeStmt *root = &r->te->stmt[r->g->root[k]];
    bool seen = false;
    for (int i = 0; i < r->te->n_stmt && !seen; i++) {
        const TeStmt *s = &r->te->stmt[i];
        ReadList reads = access_reads(s->rhs);
        bool map = s->rhs->kind != TE_REDUCE && s->n_left == root->n_index;
        for (int j = 0; j < reads.n && map; j++) seen |= source(r, reads.at[j]->v.ref) == k;
    }
    return seen;
}

static void place(Rows *r, int k) {
    const TeStmt *root = &r->te->stmt[r->g->root[k]];
    bool reduces = root->rhs->kind == TE_REDUCE;
    bool rows = reduces && is_row_like(r->te, root, lies_in_rows);
    bool strips = reduces && !rows && is_row_like(r->te, root, lies_in_strips);
    if (reduces && !rows && !strips)
        return;
    int to = groups_behind(r->te, r->g, k, k);
    while (to >= 0 && (strips > r->strips[to] || !can_join(r, k, to)))
        to = groups_behind(r->te, r->g, k, to);
    for (int j = 0; reduces && to < 0 && j < k; j++)
        to = strips == r->strips[j] && joins_beside(r, k, j) ? j : -1;
    r->strips[k] = to < 0 && strips && is_seen(r, k) && te_takes(r->te, root, TE_STRIPS);
    if (to >= 0) move(r, k, to);
    else if (rows || r->strips[k]) found(r, to = k);
    if (to >= 0) take_maps(r, to);
}

/* ---- the result ---- */

static const RowGroup *row_group(Arena *a, const Rows *r, int k) {
    RowGroup *x = ARENA_NEW(a, RowGroup);
    *x = (RowGroup){.frame = r->g->root[k], .strips = r->strips[k]};
    for (int i = r->first[k]; i >= 0; i = r->next[i]) {
        x->stmt[x->n] = i;
        x->role[x->n] = r->role[i];
        memcpy(x->axis[x->n++], r->axis[i], sizeof r->axis[i]);
        memcpy(r->g->perm[i], r->axis[i], sizeof r->g->perm[i]);
    }
    rows_passes(r->te, x);
    x->online = rows_with_online(a, r->te, x, false);
    return x;
}

const RowGroup **rows_find(Arena *a, const Te *te, Groups *g) {
    const RowGroup **out = ARENA_ARRAY(a, const RowGroup *, g->n);
    Rows *r = ARENA_NEW(a, Rows);
    *r = (Rows){.te = te, .g = g};
    memset(r->first, -1, sizeof r->first);
    for (int i = te->n_stmt - 1; i >= 0; i--) {
        r->next[i] = r->first[g->home[i]];
        r->first[g->home[i]] = i;
        r->size[g->home[i]]++;
    }
    for (int k = 0; k < g->n; k++) place(r, k);
    int kept = 0, to[TE_MAX_STMTS];
    for (int k = 0; k < g->n; k++) {
        if (r->size[k] == 0)
            continue;
        out[kept] = r->framed[k] ? row_group(a, r, k) : NULL;
        g->root[kept] = g->root[k];
        to[k] = kept++;
    }
    for (int i = 0; i < te->n_stmt; i++) g->home[i] = to[g->home[i]];
    g->n = kept;
    return out;
}
