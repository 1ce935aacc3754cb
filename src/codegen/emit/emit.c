#include "base/hash.h"
#include "codegen/emit/emit.h"
#include "codegen/lower/lower.h"
#include "codegen/prelude/prelude.h"
#include "codegen/print/ir_print.h"
#include "codegen/print/source_check.h"
#include "codegen/expr/sizes.h"
#include <stdio.h>
#include <string.h>

/* ---- one kernel ---- */

/* What stands before a kernel's name.  */
static void print_attributes(const Cg *cg, const Lowered *l, Buf *out) {
    if (cg->language == LANGUAGE_OPENCL) {
        buf_printf(out, "\n__kernel __attribute__((reqd_work_group_size(%d, 1, 1)))\nvoid ",
                   l->launch.block[0]);
        return;
    }
    buf_printf(out, "\nextern \"C\" __global__ void __launch_bounds__(%d", l->launch.block[0]);
    if (l->kind == KERNEL_CONTRACT || l->kind == KERNEL_ROW)
        buf_printf(out, ", %d", rprog_resident(l->p, cg->dev, l->r));
    buf_puts(out, ")\n");
    if (l->launch.cluster[0] > 1)
        buf_printf(out, "__cluster_dims__(%d, 1, 1)\n", l->launch.cluster[0]);
}

/* A kernel but for its name.  */
typedef struct {
    Buf before, behind;
} KernelText;

static void begin_products(Kernel *k) {
    const Lowered *l = k->l;
    k->ring = ARENA_ARRAY(k->cg->arena, RingAt, l->layout->n_ring);
    k->product = ARENA_ARRAY(k->cg->arena, ProductAt, l->layout->n_product);
    product_select(k, 0);
}

static void make_body(Cg *cg, const Lowered *l) {
    ProductAt own = {0};
    Kernel k = {.cg = cg, .l = l, .task = l->task, .own = &own};
    k.at.made = ARENA_ARRAY(cg->arena, Ir, cg->te->n_tensor);
    k.at.factor = ARENA_ARRAY(cg->arena, Ir, cg->te->n_tensor);
    k.at.pointer = ARENA_ARRAY(cg->arena, Ir, cg->te->n_tensor);
    k.at.rows = ARENA_ARRAY(cg->arena, Ir, cg->te->n_tensor);
    k.at.out = ARENA_ARRAY(cg->arena, Ir, cg->te->n_tensor);
    kernel_names(&k);
    cg->names = 0;
    if (l->kind == KERNEL_CONTRACT) {
        begin_products(&k);
        place_constants(&k);
        if (k.c->async || k.c->matrix.used) smem_address(&k);
    }
    if (l->kind == KERNEL_ROW && !lower_empty(l->p)) row_constants(&k);
    form_emit(&k);
}

static void name_all(Cg *cg, const CgTaken *taken, const IrStmt *body) {
    const char *unseen = ir_make_names(cg, taken->name, taken->n, body->child);
    if (unseen) cg->unseen = unseen;
}

/* The body is printed first: it says what the kernel takes.  *printed: false where the language
 * does not have what is in it.  */
static KernelText print_kernel(Cg *cg, Lowered *l, const KernelProgram *out, bool *printed) {
    const Te *all = cg->te;
    const KernelChoice *choice = &out->choice[l->group];
    const KernelStrategy *strategy = &out->strategy[choice->strategy];
    KernelLaunch *launch = &l->launch;
    KernelText text = {.before = buf_new(cg->arena), .behind = buf_new(cg->arena)};
    cg->te = l->p->te;
    cg->temp_at = strategy->temp_offset;
    cg->sums_at = rprog_partial_at(&strategy->workspace, choice->group);
    cg_open_params(cg, l->p->group);
    ir_begin(cg);
    const IrStmt *body = cg->open, *legal = body;
    make_body(cg, l);
    cg->open = cg->wait;
    if (cg->wait) cg_behind(cg);
    buf_puts(&text.behind, "(");
    CgTaken taken = cg_params(cg, launch->n_map);
    launch->param = taken.param;
    launch->n_param = taken.n;
    if (cg->language != LANGUAGE_CUDA) legal = ir_legalize(cg, body, launch->block[0]);
    if (legal) name_all(cg, &taken, legal);
    ir_print_parameters(cg, taken.param, taken.name, taken.n, &text.behind);
    buf_puts(&text.behind, ") {\n");
    if (!legal) *printed = false;
    else if (!cg->unseen) ir_print(cg, legal->child, 1, &text.behind);
    buf_puts(&text.behind, "}\n");
    print_attributes(cg, l, &text.before);
    cg->te = all;
    cg->params = NULL;
    return text;
}

/* ---- the program ---- */

static bool same_text(const Buf *x, const Buf *y) {
    return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

/* Prints every kernel once: programs for different sizes have some in common, and so have equal
 * groups.  */
static Buf print_kernels(Cg *cg, Lowered *l, const bool *only, KernelProgram *out, bool *printed) {
    Buf all = buf_new(cg->arena);
    KernelText *text = ARENA_ARRAY(cg->arena, KernelText, out->n_kernel);
    int n = 0;
    out->kernel = ARENA_ARRAY(cg->arena, KernelLaunch, out->n_kernel);
    for (int i = 0; i < out->n_kernel; i++) {
        KernelLaunch *launch = &l[i].launch;
        if (!only || only[l[i].group]) {
            KernelText x = print_kernel(cg, &l[i], out, printed);
            int k = 0;
            while (k < n && !(same_text(&x.before, &text[k].before) &&
                              same_text(&x.behind, &text[k].behind))) k++;
            if (cg->static_smem) launch->dynamic_smem = 0;
            snprintf(launch->symbol, CG_SYMBOL, "rk_%s_%d", out->hash, k);
            if (k == n) {
                text[n++] = x;
                buf_add(&all, buf_str(&x.before), x.before.len);
                buf_puts(&all, launch->symbol);
                buf_add(&all, buf_str(&x.behind), x.behind.len);
            }
        }
        out->kernel[i] = *launch;         /* without a name: it is not there */
    }
    return all;
}

static void name_program(Cg *cg, const char *plan_text, const Lowered *l, KernelProgram *out) {
    bool waits = false;
    for (int i = 0; i < out->n_kernel; i++) waits |= l[i].waits;
    Buf te = buf_new(cg->arena);
    char hex[65];
    Sha256 sha;
    te_print_positional(cg->te, &te);
    sha256_init(&sha);
    sha256_add(&sha, buf_str(&te), te.len);
    sha256_add(&sha, plan_text, strlen(plan_text));
    if (cg->static_smem) sha256_add(&sha, "static", strlen("static"));
    if (waits) sha256_add(&sha, "waits", strlen("waits"));
    sha256_hex(&sha, hex);
    memcpy(out->hash, hex, 16);
    out->hash[16] = '\0';
}

static const char *shape_text(const Cg *cg, const TeTensor *t) {
    Buf b = buf_new(cg->arena);
    for (int d = 0; d < t->rank; d++)
        buf_printf(&b, "%s%s%lld", d ? "," : "[", t->shape[d].expr ? "<=" : "",
                   (long long)t->shape[d].value);
    if (t->rank > 0) buf_putc(&b, ']');
    return buf_str(&b);
}

static void print_arguments(const Cg *cg, Buf *out) {
    const Te *te = cg->te;
    buf_puts(out, "arguments\n");
    for (int i = 0; i < te->n_in + te->n_out; i++)
        buf_printf(out, "  %d  %s%s%s\n", i, te_dtype_name(te->tensor[i].dtype),
                   shape_text(cg, &te->tensor[i]), i < te->n_in ? "" : "  output");
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (s->kind == TE_SIZE_RUNTIME && s->used)
            buf_printf(out, "  s%d  %lld..%lld\n", i, (long long)s->extent.min,
                       (long long)s->extent.value);
    }
}

static void print_param(const KernelParam *p, Buf *out) {
    switch (p->kind) {
    case PARAM_INPUT:
    case PARAM_SCALAR:
    case PARAM_OUTPUT: buf_printf(out, "%d", p->ref); break;
    case PARAM_SIZE: buf_printf(out, "s%d", p->ref); break;
    case PARAM_WORKSPACE: buf_printf(out, "w + %lld", (long long)p->offset); break;
    case PARAM_MAP: buf_printf(out, "map%d", p->ref); break;
    }
}

/* A tensor map, dimension 0 first.  */
static void print_map(const KernelMap *m, int number, Buf *out) {
    const TensorMap *x = &m->fixed;
    buf_printf(out, "    map%d  ", number);
    if (m->tensor < 0) buf_puts(out, "w");
    else buf_printf(out, "argument %d", m->tensor);
    if (x->im2col) buf_printf(out, "  %u pixels of %u channels", x->pixels, x->channels);
    for (int i = 0; i < x->rank && !x->im2col; i++)
        buf_printf(out, "%s%u", i ? "x" : "  box ", x->box[i]);
    buf_printf(out, "  swizzle %d\n", x->swizzle ? 16 << x->swizzle : 0);
}

/* The lines of `text` as comments; bytes that no comment may hold become '?'.  */
static void put_comment(Buf *out, const char *text) {
    static const char allowed[] = " ._-+*/%,:;=<>()[]{}|@";
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        buf_puts(out, n > 0 ? "// " : "//");
        for (size_t i = 0; i < n; i++) {
            bool plain = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
                         (s[i] >= '0' && s[i] <= '9') || strchr(allowed, s[i]);
            buf_putc(out, plain ? s[i] : '?');
        }
        buf_putc(out, '\n');
        s += n + (s[n] == '\n');
    }
}

/* Plan and launches, for a reader.  */
static void print_head(Cg *cg, const char *plan_text, const Lowered *l, int n,
                       const KernelProgram *out, Buf *head) {
    Buf b = buf_new(cg->arena);
    buf_printf(&b, "%s\n", plan_text);
    print_arguments(cg, &b);
    if (out->workspace_bytes > 0)
        buf_printf(&b, "  w  workspace of %lld bytes\n", (long long)out->workspace_bytes);
    buf_puts(&b, "launches\n");
    for (int i = 0; i < n; i++) {
        const KernelLaunch *x = &l[i].launch;
        TeExtent blocks = {.value = x->grid[0], .expr = x->blocks};
        buf_printf(&b, "  %s  grid %s,%lld  block %d  dynamic shared memory %lld\n", x->symbol,
                   ir_string(cg, cg_extent(cg, &blocks)), (long long)x->grid[1], x->block[0],
                   (long long)x->dynamic_smem);
        for (int k = 0; k < x->n_param; k++) {
            buf_puts(&b, k ? ", " : "    takes ");
            print_param(&x->param[k], &b);
        }
        buf_puts(&b, x->n_param ? "\n" : "");
        for (int m = 0; m < x->n_map; m++) print_map(&x->map[m], m, &b);
    }
    put_comment(head, buf_str(&b));
}

Status cg_emit(Arena *a, Diag *d, const RPlan *plan, const Device *dev, const CgOptions *o,
               KernelProgram *out) {
    *out = (KernelProgram){0};
    Cg cg = {.arena = a,
             .diag = d,
             .plan = plan,
             .te = plan->te,
             .dev = dev,
             .align = o && o->align ? o->align : 16,
             .language = dev->language,
             .defined = words_new(a),
             .static_smem = (o && o->static_smem) || dev->language == LANGUAGE_OPENCL};
    Buf plan_text = buf_new(a), head = buf_new(a), prelude = buf_new(a);
    rprog_print(plan, dev, &plan_text);
    cg_lay_out(a, plan, out);
    Lowered *l = lower_plan(a, plan, dev, &out->n_kernel);
    name_program(&cg, buf_str(&plan_text), l, out);
    for (int i = 0; i < out->n_kernel; i++) {
        const char *wrong = kernel_check(a, l[i].form);
        if (wrong)
            return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "kernel %d: %s", i, wrong);
        int strategy = out->choice[l[i].group].strategy;
        cg_place_maps(a, out->strategy[strategy].temp_offset, &l[i].launch);
    }
    bool printed = true;
    Buf body = print_kernels(&cg, l, o ? o->only : NULL, out, &printed);
    if (!printed)
        return diag_error(d, ST_NO_PLAN, NULL, DIAG_NOWHERE,
                          "%s does not have what a kernel of this plan takes",
                          hal_language_name(dev->language));
    if (cg.unseen)
        return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE,
                          "a kernel uses '%s' where it is not defined", cg.unseen);
    Status taken = cg_check_params(d, out, cg.align);
    if (taken) return taken;
    print_head(&cg, buf_str(&plan_text), l, out->n_kernel, out, &head);
    buf_putc(&head, '\n');
    const char *missing = prelude_print(a, buf_str(&body), dev, &out->least_cc, &prelude);
    if (missing)
        return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "the device has no '%s'", missing);
    buf_puts(&head, buf_str(&prelude));
    buf_puts(&head, body.len > 0 ? buf_str(&body) + 1 : "");
    out->source = buf_str(&head);
    out->source_len = head.len;
    const char *bad = source_check(dev->language, cg.defined, out->source, out->source_len);
    if (bad) return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "emitted text has '%.24s'", bad);
    return ST_OK;
}

Status cg_print_lowered(Arena *a, Diag *d, const RPlan *plan, const Device *dev, Buf *out) {
    (void)d;
    int n;
    Lowered *l = lower_plan(a, plan, dev, &n);
    for (int i = 0; i < n; i++) lower_print(&l[i], out);
    return ST_OK;
}
