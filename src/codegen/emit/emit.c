#include "base/hash.h"
#include "codegen/emit/emit.h"
#include "codegen/lower/lower.h"
#include "codegen/prelude/prelude.h"
#include "codegen/print/ir_print.h"
#include "codegen/print/source.h"
#include "codegen/print/source_check.h"
#include "codegen/expr/sizes.h"
#include <stdio.h>
#include <string.h>

/* ---- one kernel ---- */

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
    const KernelRow *row = kernel_row_of(l->kind);
    if (row->begin && !lower_empty(l->p)) row->begin(&k);
    form_emit(&k);
}

/* Blocks of an SM that the compiler is told of; 0: none.  */
static int resident_of(const Cg *cg, const Lowered *l) {
    return kernel_row_of(l->kind)->resident ? rprog_resident(l->p, cg->dev, l->r) : 0;
}

static void name_all(Cg *cg, const CgTaken *taken, const IrStmt *body) {
    const char *unseen = ir_make_names(cg, taken->name, taken->n, body->child);
    if (unseen) cg->unseen = unseen;
}

/* The body is made first: it says what the kernel takes.  *printed: false where the language does
 * not have what is in it.  */
static KernelText print_kernel(Cg *cg, Lowered *l, const KernelProgram *out, bool *printed) {
    const Te *all = cg->te;
    const KernelChoice *choice = &out->choice[l->group];
    const KernelStrategy *strategy = &out->strategy[choice->strategy];
    KernelLaunch *launch = &l->launch;
    cg->te = l->p->te;
    cg->temp_at = strategy->temp_offset;
    cg->sums_at = rprog_partial_at(&strategy->workspace, choice->group);
    cg_open_params(cg, l->p->group);
    ir_begin(cg);
    const IrStmt *body = cg->open, *legal = body;
    make_body(cg, l);
    cg->open = cg->wait;
    if (cg->wait) cg_behind(cg);
    CgTaken taken = cg_params(cg, launch->n_map);
    launch->param = taken.param;
    launch->n_param = taken.n;
    if (cg->language != LANGUAGE_CUDA) legal = ir_legalize(cg, body, launch->block[0]);
    if (legal) name_all(cg, &taken, legal);
    else *printed = false;
    KernelText text = source_kernel(cg, &(KernelParts){
        .threads = launch->block[0],
        .resident = resident_of(cg, l),
        .cluster = launch->cluster[0],
        .param = taken.param,
        .name = taken.name,
        .n = taken.n,
        .body = legal && !cg->unseen ? legal->child : NULL,
    });
    cg->te = all;
    cg->params = NULL;
    return text;
}

/* ---- the program ---- */

/* Prints every kernel once: programs for different sizes have some in common, and so have equal
 * groups.  */
static Buf print_kernels(Cg *cg, Lowered *l, const bool *only, KernelProgram *out, bool *printed) {
    Buf all = buf_new(cg->arena);
    KernelText *text = ARENA_ARRAY(cg->arena, KernelText, out->n_kernel);
    int n = 0;
    out->text = ARENA_ARRAY(cg->arena, size_t, out->n_kernel + 1);
    out->kernel = ARENA_ARRAY(cg->arena, KernelLaunch, out->n_kernel);
    for (int i = 0; i < out->n_kernel; i++) {
        KernelLaunch *launch = &l[i].launch;
        if (!only || only[l[i].group]) {
            KernelText x = print_kernel(cg, &l[i], out, printed);
            int k = 0;
            while (k < n && !source_same(&x, &text[k])) k++;
            if (cg->static_smem) launch->dynamic_smem = 0;
            snprintf(launch->symbol, CG_SYMBOL, "rk_%s_%d", out->hash, k);
            if (k == n) {
                text[n++] = x;
                source_add(&all, &x, launch->symbol);
                out->text[n] = all.len;
            }
        }
        out->kernel[i] = *launch;         /* without a name: it is not there */
    }
    out->n_text = n;
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

/* Blocks of each kernel along x.  */
static const Ir *blocks_of(const Cg *cg, const KernelProgram *out) {
    Ir *blocks = ARENA_ARRAY(cg->arena, Ir, out->n_kernel);
    for (int i = 0; i < out->n_kernel; i++) {
        const KernelLaunch *x = &out->kernel[i];
        TeExtent n = {.value = x->grid[0], .expr = x->blocks};
        blocks[i] = cg_extent(cg, &n);
    }
    return blocks;
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
    Buf plan_text = buf_new(a), text = buf_new(a), prelude = buf_new(a);
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
    source_head(&cg, buf_str(&plan_text), out, blocks_of(&cg, out), &text);
    const char *missing = prelude_print(a, buf_str(&body), dev, &out->least_cc, &prelude);
    if (missing)
        return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "the device has no '%s'", missing);
    source_join(&text, &prelude, &body);
    out->source = buf_str(&text);
    out->source_len = text.len;
    for (int i = 0; i <= out->n_text; i++) out->text[i] += text.len - body.len;
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
