/* The lines of a plan text that say what is decided.  They are read twice: before the op is
 * normalized so, and with the rest, when it is known what can be decided.  */
#include "rprogram/reader.h"
#include <string.h>

/* What the name of a whole strategy stood for, in earlier texts.  */
static bool whole_decisions(Word name, TeDecided *taken) {
    enum { APART = 1 << TE_APART, STORED = 1 << TE_STORED, REPEATED = 1 << TE_REPEATED,
           TWO_STEP = 1 << TE_TWO_STEP, TILED = 1 << TE_TILED, JOINED = 1 << TE_JOINED,
           PHASED = 1 << TE_PHASED, PACKED = 1 << TE_PACKED };
    static const struct {
        const char *name;
        TeDecided taken;
    } whole[] = {{"usual", 0}, {"straight", APART}, {"apart", APART | STORED},
                 {"repeated", REPEATED}, {"staged", TWO_STEP}, {"tiled", TILED},
                 {"joined", JOINED}, {"phased", PHASED}, {"relaid", PHASED | PACKED}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (!reader_is(name, whole[i].name)) continue;
        *taken = whole[i].taken;
        return true;
    }
    return false;
}

/* The site of a line `statement SITE NAME...`; TE_MAX_STMTS: it is none.  */
static int site_of(Word w) {
    int site = w.len > 0 ? 0 : TE_MAX_STMTS;
    for (size_t i = 0; i < w.len && site < TE_MAX_STMTS; i++) {
        bool digit = w.text[i] >= '0' && w.text[i] <= '9';
        site = digit ? site * 10 + (w.text[i] - '0') : TE_MAX_STMTS;
    }
    return site < TE_MAX_STMTS ? site : TE_MAX_STMTS;
}

static void read_statement(DiagPlace *at, TeDecisions *out) {
    int site = site_of(reader_word(at));
    for (Word w = reader_word(at); w.len > 0 && site < TE_MAX_STMTS; w = reader_word(at)) {
        for (int d = 0; d < TE_DECISION_COUNT; d++)
            if (reader_means(w, te_decision_name[d])) out->taken[site] |= (TeDecided)(1u << d);
    }
}

static void read_whole(DiagPlace *at, TeDecisions *out) {
    TeDecided taken = 0;
    whole_decisions(reader_word(at), &taken);
    for (int i = 0; i < TE_MAX_STMTS; i++) out->taken[i] = taken;
}

/* `s4`: the number of a size; TE_MAX_SIZES: it is none.  */
static int size_of(Word w) {
    Word number = {w.text + 1, w.len - 1, w.pos + 1};
    int size = w.len > 1 && w.text[0] == 's' ? site_of(number) : TE_MAX_SIZES;
    return size < TE_MAX_SIZES ? size : TE_MAX_SIZES;
}

static void read_given(DiagPlace *at, RStrategy *out) {
    int size = size_of(reader_word(at));
    Word w = reader_word(at);
    bool most = reader_is(w, "upto");
    int n = site_of(most ? reader_word(at) : w);
    if (size == TE_MAX_SIZES || n == TE_MAX_STMTS) return;
    if (most) out->given[size].most = n;
    else out->given[size].multiple = n;
}

static void no_strategy(RStrategy *out) {
    memset(out->decisions.taken, 0, sizeof out->decisions.taken);
    memset(out->given, 0, sizeof out->given);
}

int rprog_read_strategies(const char *text, size_t len, RStrategy *out, int most) {
    DiagPlace at = {NULL, text, len, 0};
    RStrategy unused, *now = out;
    int n = 1;
    bool kernels = false;
    no_strategy(now);
    while (at.pos < len) {
        Word w = reader_word(&at);
        if (kernels && reader_is(w, "other")) {
            now = n < most ? &out[n++] : &unused;
            no_strategy(now);
            kernels = false;
        }
        kernels |= reader_is(w, "kernel");
        if (!kernels && reader_is(w, "split")) read_whole(&at, &now->decisions);
        if (!kernels && reader_is(w, "statement")) read_statement(&at, &now->decisions);
        if (!kernels && reader_is(w, "given")) read_given(&at, now);
        const char *end = memchr(text + at.pos, '\n', len - at.pos);
        at.pos = end ? (size_t)(end - text) + 1 : len;
    }
    return n;
}

static const TeDecisions *decisions_of(const Reader *r) {
    return r->plan->te ? r->plan->te->decisions : NULL;
}

Status reader_decisions(Reader *r, Word head) {
    const TeDecisions *x = decisions_of(r);
    TeDecided taken;
    Word name = reader_word(&r->at);
    if (!whole_decisions(name, &taken))
        return reader_fail(r, name.pos, "unknown strategy '%.*s'", name);
    for (int i = 0; x && i < x->n; i++) {
        if ((taken & x->possible[i]) != te_taken(x, i))
            return reader_fail(r, head.pos, "another line contradicts this '%.*s'", head);
    }
    return ST_OK;
}

Status reader_statement(Reader *r) {
    const TeDecisions *x = decisions_of(r);
    int64_t site;
    int which;
    Status s = reader_int(r, 0, x && x->n ? x->n - 1 : 0, &site);
    for (bool more = true; more && !s;) {
        DiagPlace at = r->at;
        Word w = reader_word(&at);
        s = reader_name(r, te_decision_name, TE_DECISION_COUNT, &which);
        if (!s && x && !(x->possible[site] >> which & 1)) {
            s = reader_fail(r, w.pos, "this statement cannot be '%.*s'", w);
            diag_hint(r->diag, "it makes %s; they count from 0, each reduction as one",
                      x->name[site]);
        }
        at = r->at;
        more = reader_word(&at).len > 0;
    }
    return s;
}

Status reader_given(Reader *r, Word head) {
    const Te *te = r->plan->te, *op = r->first->te;
    Word w = reader_word(&r->at);
    int size = size_of(w);
    int64_t n;
    if (r->strategy == 0)
        return reader_fail(r, head.pos, "'%.*s' where all sizes are planned for", head);
    if (size >= op->n_size || !rplan_varies(op, size))
        return reader_fail(r, w.pos, "'%.*s' is no run-time size", w);
    DiagPlace before = r->at;
    bool most = reader_means(reader_word(&r->at), "upto");
    if (!most) r->at = before;
    Status s = reader_int(r, most ? 1 : 2, TE_MAX_STMTS - 1, &n);
    const TeExtent *e = &te->size[size].extent;
    if (s || (most ? e->value <= n : e->multiple % n == 0)) return s;
    return reader_fail(r, w.pos, "'%.*s' has no such values", w);
}
