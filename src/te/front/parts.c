/* Outputs that statements assign in parts: V[i,j] = ..; V[i,j+4] = ..; V[i,9] = ..;
 *
 * The parts follow each other in one dimension, as they are written.  One ends where the next one
 * begins, the last one with the output; so no place is assigned twice, and none is left out.  Each
 * part becomes a temporary, which has its range, and behind the last one a statement chooses:
 * V[i,j] = j < 4 ? V_part1[i,j] : j < 9 ? V_part2[i,j-4] : V_part3[i];  */
#include "te/front/front.h"
#include <string.h>

static Ast *binary(Front *f, TeKind kind, const Ast *x, const Ast *y) {
    return ast_node(f, kind, x->pos, (const Ast *[]){x, y}, 2);
}

/* ---- what a place says ---- */

/* Of the file, or of the body before a statement.  */
static bool is_size(const Front *f, const AstStmt *body, const AstStmt *before, const Symbol *sym) {
    int ref;
    for (; body != before; body = body->next)
        if (body->let && body->sym == sym) return true;
    return size_find(f, sym, &ref);
}

/* Counts the names that are no sizes; *index is the last.  */
static int count_indices(const Front *f, const AstStmt *body, const AstStmt *s, const Ast *a,
                         Symbol **index) {
    int n = 0;
    if (a->kind == TE_INDEX && !is_size(f, body, s, a->sym)) {
        *index = a->sym;
        n = 1;
    }
    for (const Ast *x = a->args; x; x = x->next) n += count_indices(f, body, s, x, index);
    return n;
}

/* Takes the one `index` out of a sum: what is left, or NULL.  False: it is no term of one.  */
static bool without(Front *f, const Ast *a, const Symbol *index, const Ast **out) {
    const Ast *x = a->args, *y = x ? x->next : NULL, *rest;
    *out = NULL;
    if (a->kind == TE_INDEX && a->sym == index) return true;
    if (a->kind != TE_ADD && a->kind != TE_SUB) return false;
    if (without(f, x, index, &rest)) {
        if (!rest && a->kind == TE_SUB) rest = ast_int(f, 0, a->pos);
        *out = rest ? binary(f, a->kind, rest, y) : y;
        return true;
    }
    if (a->kind == TE_SUB || !without(f, y, index, &rest)) return false;
    *out = rest ? binary(f, TE_ADD, x, rest) : x;
    return true;
}

/* Where a place begins, and its index.  */
static bool read_place(Front *f, const AstItem *op, const AstStmt *s, AstPart *part) {
    part->index = NULL;
    int n = count_indices(f, op->stmt, s, s->place, &part->index);
    part->at = s->place;
    if (n == 0 || (n == 1 && without(f, s->place, part->index, &part->at) && part->at))
        return true;
    complain(f, "parts", s->place->pos, "a part of an output begins at an index and sizes: j + 4");
    return false;
}

/* ---- the parts of an output ---- */

/* A name that nobody has.  */
static Symbol *fresh(Front *f, const char *base, const char *what) {
    for (int n = 1;; n++) {
        const char *text = arena_printf(f->arena, "%.48s_%s%d", base, what, n);
        if (!symbol_find(&f->symbols, text, strlen(text)))
            return symbol(&f->symbols, text, strlen(text));
    }
}

typedef struct {
    Front *f;
    AstItem *op;
    const AstArg *out;
    int along, rank, n;
    AstStmt **stmt;           /* the parts */
    AstPart *part;
} Parts;

static bool is_whole(const AstStmt *s) { return !s->let && !s->place; }

/* The place among the names on the left; -1: there is none.  */
static int along_of(const AstStmt *s) {
    int d = 0;
    for (const NameList *n = s->left; n; n = n->next, d++)
        if (!n->sym) return d;
    return -1;
}

static int count_names(const NameList *n) {
    int all = 0;
    for (; n; n = n->next) all++;
    return all;
}

static NameList **name_at(NameList **n, int d) {
    while (d-- > 0) n = &(*n)->next;
    return n;
}

static const AstArg *output(const AstItem *op, const Symbol *sym) {
    const AstArg *a = op->out;
    while (a && a->sym != sym) a = a->next;
    return a;
}

/* Reads part k; one without a place begins at 0.  */
static bool read_part(Parts *x, int k) {
    Front *f = x->f;
    AstStmt *s = x->stmt[k];
    AstPart *p = &x->part[k];
    const char *of = s->sym->name;
    *p = (AstPart){.of = s->sym, .along = x->along, .first = k == 0};
    int n = count_names(s->left);
    if (n != x->rank)
        return complain(f, "rank", s->pos, "'%s' has %d dimension%s, %d place%s given", of, x->rank,
                        x->rank == 1 ? "" : "s", n, n == 1 ? "" : "s");
    NameList *at = *name_at(&s->left, x->along);
    if (is_whole(s) && k > 0) {
        complain(f, "assign", s->pos, "'%s' is assigned twice", of);
        if (recurrence_is(s))
            hint(f, "a recurrence begins with its else value: (%s[%s-1] else ...)", of,
                 at->sym->name);
        else
            hint(f, "parts stand in order, each but the first with its place: %s[%s + 1]", of,
                 at->sym->name);
        return false;
    }
    if (is_whole(s)) {
        p->index = at->sym;
        p->at = ast_int(f, 0, at->pos);
        return true;
    }
    if (along_of(s) != x->along)
        return complain(f, "parts", s->place->pos,
                        "parts of an output follow each other in one dimension");
    return read_place(f, x->op, s, p);
}

static bool has_range(const AstStmt *s, const Symbol *index) {
    const AstRange *r = s->where;
    while (r && r->sym != index) r = r->next;
    return r;
}

/* Part k becomes a temporary: its index runs over its range, a single place has none.  */
static void make_temporary(Parts *x, int k) {
    Front *f = x->f;
    AstStmt *s = x->stmt[k];
    AstPart *p = &x->part[k];
    NameList **at = name_at(&s->left, x->along);
    s->sym = fresh(f, p->of->name, "part");
    s->part = p;
    if (!p->index) {
        *at = (*at)->next;
        return;
    }
    (*at)->sym = p->index;
    if (has_range(s, p->index)) return;
    AstRange *r = ARENA_NEW(f->arena, AstRange);
    const Ast *length = k ? binary(f, TE_SUB, p->end, p->at) : p->end;
    *r = (AstRange){p->index, (*at)->pos, NULL, length, s->where};
    s->where = r;
    p->inferred = true;
}

/* What part k has at a place of the output.  */
static Ast *read_back(const Parts *x, int k, const NameList *left) {
    const AstPart *p = &x->part[k];
    const Ast *sub[TE_MAX_RANK];
    int n = 0, d = 0;
    for (; left; left = left->next, d++) {
        Ast *at = ast_name(x->f, left->sym, left->pos);
        if (d != x->along) sub[n++] = at;
        else if (p->index) sub[n++] = k ? binary(x->f, TE_SUB, at, p->at) : at;
    }
    Ast *read = ast_node(x->f, TE_READ, x->stmt[k]->pos, sub, n);
    read->sym = x->stmt[k]->sym;
    return read;
}

/* The names of the first part, and one of its own where that is a single place.  */
static NameList *names_of_all(const Parts *x) {
    NameList *all = NULL, **tail = &all;
    for (const NameList *n = x->stmt[0]->left; n; n = n->next) {
        *tail = ARENA_NEW(x->f->arena, NameList);
        **tail = (NameList){n->sym, n->pos, NULL};
        tail = &(*tail)->next;
    }
    if (x->part[0].index) return all;
    NameList *at = ARENA_NEW(x->f->arena, NameList), **behind = name_at(&all, x->along);
    *at = (NameList){fresh(x->f, x->part[0].of->name, "at"), x->stmt[0]->pos, *behind};
    *behind = at;
    return all;
}

/* The statement behind the last part that chooses between them.  */
static void choose(Parts *x) {
    AstStmt *last = x->stmt[x->n - 1], *s = ARENA_NEW(x->f->arena, AstStmt);
    NameList *left = names_of_all(x);
    Symbol *along = (*name_at(&left, x->along))->sym;
    Ast *rhs = read_back(x, x->n - 1, left);
    for (int k = x->n - 2; k >= 0; k--) {
        Ast *at = ast_name(x->f, along, last->pos);
        Ast *before = binary(x->f, TE_LT, at, x->part[k].end);
        const Ast *part[] = {before, read_back(x, k, left), rhs};
        rhs = ast_node(x->f, TE_SELECT, last->pos, part, 3);
    }
    *s = (AstStmt){.sym = x->out->sym, .pos = last->pos, .asg_pos = last->asg_pos, .left = left,
                   .red = -1, .rhs = rhs, .next = last->next};
    last->next = s;
    x->op->n_stmt++;
}

/* All statements that assign what s does.  */
static bool join(Front *f, AstItem *op, const AstStmt *s) {
    Parts x = {.f = f, .op = op, .out = output(op, s->sym), .along = along_of(s)};
    if (!x.out) {
        complain(f, "assign", s->pos, "'%s' is no output, and has no parts", s->sym->name);
        hint(f, "assign it at once: j < 4 ? ... : ...");
        return false;
    }
    x.stmt = ARENA_ARRAY(f->arena, AstStmt *, op->n_stmt);
    x.part = ARENA_ARRAY(f->arena, AstPart, op->n_stmt);
    for (const Ast *d = x.out->shape; d; d = d->next) x.rank++;
    for (AstStmt *i = op->stmt; i; i = i->next)
        if (!i->let && i->sym == s->sym) x.stmt[x.n++] = i;
    for (int k = 0; k < x.n; k++)
        if (!read_part(&x, k)) return false;
    const Ast *end = x.out->shape;
    for (int d = 0; d < x.along; d++) end = end->next;
    for (int k = 0; k < x.n; k++) x.part[k].end = k + 1 < x.n ? x.part[k + 1].at : end;
    for (int k = 0; k < x.n; k++) make_temporary(&x, k);
    choose(&x);
    return true;
}

/* A size alone on the left is a place, too.  */
static void find_sizes(Front *f, const AstItem *op, AstStmt *s) {
    for (NameList *n = s->left; n; n = n->next) {
        if (!n->sym || s->place || !is_size(f, op->stmt, s, n->sym)) continue;
        s->place = ast_name(f, n->sym, n->pos);
        n->sym = NULL;
    }
}

bool parts_join(Front *f, AstItem *op) {
    for (AstStmt *s = op->stmt; s; s = s->next) find_sizes(f, op, s);
    for (const AstStmt *s = op->stmt; s; s = s->next)
        if (!s->let && s->place && !s->part && !join(f, op, s)) return false;
    return true;
}

/* ---- sizes ---- */

static const char *text_of(Front *f, const Poly *p) {
    TeExtent e;
    return extent_of(f, p, &e) ? extent_text(f, &e) : "?";
}

static bool wrong_end(Op *op, const AstStmt *ast, const Poly *ends, const Poly *next) {
    Front *f = op->f;
    const char *of = ast->part->of->name;
    return complain(f, "parts", ast->pos, "this part of '%s' ends at %s, and %s %s", of,
                    text_of(f, ends), poly_le(&f->polys, ends, next) ? "nothing assigns it up to"
                                                                     : "the next one begins at",
                    text_of(f, next));
}

bool part_check(Op *op, const AstStmt *ast) {
    Front *f = op->f;
    const AstPart *p = ast->part;
    const Poly *at, *end, *lo = poly_const(&f->polys, 0), *hi;
    TeExtent e;
    if (!p) return true;
    if (!size_extent(f, p->at, &e, &at) || !size_extent(f, p->end, &e, &end)) return false;
    if (p->first && !poly_same(at, lo))
        return complain(f, "parts", ast->pos, "nothing assigns '%s' before %s", p->of->name,
                        text_of(f, at));
    if (!poly_le(&f->polys, at, end))
        return complain(f, "parts", ast->pos, "this part of '%s' begins at %s and ends at %s",
                        p->of->name, text_of(f, at), text_of(f, end));
    for (const AstRange *r = ast->where; r; r = r->next) {
        if (r->sym != p->index) continue;
        if ((r->lo && !size_extent(f, r->lo, &e, &lo)) || !size_extent(f, r->hi, &e, &hi))
            return false;
        hi = poly_add(&f->polys, at, hi, 1);
        return poly_same(hi, end) || wrong_end(op, ast, hi, end);
    }
    hi = poly_add(&f->polys, at, poly_const(&f->polys, 1), 1);
    return poly_same(hi, end) || wrong_end(op, ast, hi, end);
}
