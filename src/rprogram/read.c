/* The text form, read: sections of kernels, by strategy.  */
#include "rprogram/reader.h"

#include <string.h>

/* The section is over: everything there, and a legal program.  */
static Status finish_kernel(Reader *r) {
    if (r->kernel < 0) return ST_OK;
    const Problem *p = &r->plan->problem[r->kernel];
    RProg *x = &r->plan->prog[r->kernel];
    for (PlanKey key = 0; key < KEY_COUNT; key++) {
        const char *name = rprog_key_name[key];
        Word w = {name, strlen(name), 0};
        bool wanted = rprog_has_key(p, x->skeleton, key), seen = (r->seen >> key) & 1;
        if (wanted == seen) continue;
        return reader_fail(r, r->kernel_pos, wanted ? "the kernel has no line '%.*s'"
                                                    : "line '%.*s' does not apply here", w);
    }
    const char *why = rprog_check_skeleton(p, x);
    if (!why) {
        int16_t promised = x->blocks_per_sm;
        if (x->lanes == 0) x->lanes = rprog_unsaid_lanes(p, x);
        rprog_derive(p, r->dev, x);
        x->blocks_per_sm = promised;
        why = rprog_check(p, r->dev, x);
    }
    if (why) {
        Status s = reader_fail(r, r->kernel_pos,
                               "not a legal program for this operator and device%.*s", (Word){0});
        diag_hint(r->diag, "%s", why);
        return s;
    }
    return ST_OK;
}

/* `of GROUP`: one more program of it.  */
static Status read_group(Reader *r, int number) {
    static const char *const of[] = {"of"};
    RPlan *p = r->plan;
    int which;
    int64_t group;
    Status s = reader_name(r, of, 1, &which);
    if (!s) s = reader_int(r, 0, p->n_group - 1, &group);
    if (s) return s;
    rplan_extend(r->arena, p, 1);
    p->group_of[number] = (int)group;
    p->group[number] = p->group[group];
    p->n = number + 1;
    return ST_OK;
}

static Status begin_kernel(Reader *r, Word head) {
    Status s = r->kernel < 0 &&
        r->strategy == 0 ? reader_choices_end(r, head.pos) : finish_kernel(r);
    int64_t number;
    if (s) return s;
    size_t pos = r->at.pos;
    if ((s = reader_int(r, 0, INT32_MAX, &number))) return s;
    if (number != r->kernel + 1)
        return reader_fail(r, pos + 1, "kernels are not in order%.*s", (Word){0});
    bool some = r->first->select && number >= r->plan->n_group &&
                number < RPLAN_SET * r->plan->n_group;
    if (some) s = read_group(r, (int)number);
    if (s) return s;
    if (number >= r->plan->n) {
        s = reader_fail(r, pos + 1, "more kernels than the operator has%.*s", (Word){0});
        if (r->plan->te && r->plan->te->runtime && !r->first->select)
            diag_hint(r->diag, "no lines 'upto ... take' before the kernels choose from more: in "
                               "an earlier version each kernel had its own; plan the op again");
        else diag_hint(r->diag, "it has %d", r->plan->n);
        return s;
    }
    if ((s = reader_program(r, (int)number, pos + 1))) return s;
    r->kernel = (int)number;
    r->kernel_pos = head.pos;
    r->seen = 0;
    r->plan->prog[number] = (RProg){0};
    return ST_OK;
}

/* Lines of earlier plan texts about how a program was compiled, not what it is: `fill` (where the
 * first step was loaded) and `level` (of ptxas) are read and have no effect.  */
static bool is_retired(Word w) { return reader_is(w, "fill") || reader_is(w, "level"); }

static void skip_line(Reader *r) {
    while (reader_word(&r->at).len > 0) continue;
}

static Status read_key(Reader *r, Word w) {
    if (is_retired(w)) {
        skip_line(r);
        return ST_OK;
    }
    for (PlanKey key = 0; key < KEY_COUNT; key++) {
        if (!reader_is(w, rprog_key_name[key])) continue;
        if ((r->seen >> key) & 1) return reader_fail(r, w.pos, "second line '%.*s'", w);
        if (key != KEY_SKELETON && !(r->seen & 1u << KEY_SKELETON)) {
            return reader_fail(r, w.pos, "line '%.*s' before 'skeleton'", w);
        }
        r->seen |= 1u << key;
        return reader_value(r, key, &r->plan->prog[r->kernel]);
    }
    Status s = reader_fail(r, w.pos, "unknown line '%.*s'", w);
    reader_hint(r, rprog_key_name, KEY_COUNT);
    return s;
}

/* The kernels of the strategy at hand are all there.  */
static Status finish_strategy(Reader *r, size_t pos) {
    Status s = finish_kernel(r);
    if (!s) s = reader_taken(r, pos);
    if (s || r->kernel + 1 >= r->plan->n) return s;
    s = reader_fail(r, pos, "the plan ends too early%.*s", (Word){0});
    diag_hint(r->diag, "the operator needs %d kernels, the plan has %d", r->plan->n, r->kernel + 1);
    return s;
}

static void begin_strategy(Reader *r, RPlan *plan) {
    r->plan = plan;
    r->kernel = -1;
    plan->prog = ARENA_ARRAY(r->arena, RProg, plan->n > 0 ? plan->n : 1);
    plan->n_group = plan->n;
}

/* `other`: another strategy for some sizes.  */
static Status read_other(Reader *r, Word head) {
    Status s = finish_strategy(r, head.pos);
    if (!s && !r->plan->other) s = reader_fail(r, head.pos, "'%.*s' where no size varies", head);
    if (s) return s;
    begin_strategy(r, r->plan->other);
    r->strategy++;
    return ST_OK;
}

static Status read_line(Reader *r, Word w) {
    bool upto = reader_is(w, "upto"), first = r->kernel < 0 && r->strategy == 0;
    if (reader_is(w, "kernel")) return begin_kernel(r, w);
    if (reader_is(w, "other") && r->kernel >= 0) return read_other(r, w);
    if (upto || reader_is(w, "else")) {
        if (first) return reader_taken_upto(r, !upto);
        Status s = reader_fail(r, w.pos, "'%.*s' behind a kernel", w);
        diag_hint(r->diag, "a plan of an earlier version chose by each size for itself: plan the "
                           "op again");
        return s;
    }
    if (r->kernel < 0 && reader_is(w, "split")) return reader_decisions(r, w);
    if (r->kernel < 0 && reader_is(w, "statement")) return reader_statement(r);
    if (r->kernel < 0 && reader_is(w, "given")) return reader_given(r, w);
    if (r->kernel < 0) return reader_fail(r, w.pos, "expected 'kernel 0', got '%.*s'", w);
    return read_key(r, w);
}

static Status read_lines(Reader *r) {
    bool headed = false;
    while (r->at.pos < r->at.len) {
        Word w = reader_word(&r->at);
        if (w.len > 0) {
            Status s;
            int64_t version;
            if (headed) {
                s = read_line(r, w);
            } else if (reader_is(w, "roller-plan")) {
                s = reader_int(r, 1, 1, &version);
                headed = true;
            } else {
                s = reader_fail(r, w.pos, "expected 'roller-plan 1', got '%.*s'", w);
            }
            if (s) return s;
            w = reader_word(&r->at);
            if (w.len > 0)
                return reader_fail(r, w.pos, "unexpected '%.*s' at the end of the line", w);
        }
        const char *end = memchr(r->at.text + r->at.pos, '\n', r->at.len - r->at.pos);
        r->at.pos = end ? (size_t)(end - r->at.text) + 1 : r->at.len;
    }
    if (!headed) return reader_fail(r, 0, "expected 'roller-plan 1'%.*s", (Word){0});
    return finish_strategy(r, r->at.len);
}

Status rprog_read(Arena *a, Diag *d, DiagText text, const Device *dev, RPlan *plan) {
    RSelector *select = ARENA_NEW(a, RSelector);
    Reader r = {.arena = a, .diag = d, .at = diag_place(text, 0), .dev = dev, .first = plan,
                .select = select};
    if (plan->te) rplan_measures(a, plan, select);
    select->choice = ARENA_ARRAY(a, RChoice, RPLAN_CHOICES);
    begin_strategy(&r, plan);
    Status s = read_lines(&r);
    if (!s && r.plan->other)
        s = reader_fail(&r, text.len, "the plan ends too early%.*s", (Word){0});
    if (!s && plan->select) rplan_bound(a, plan);
    return s;
}
