#include "base/hash.h"
#include "codegen/prelude.h"
#include "codegen/row.h"
#include "codegen/sizes.h"
#include <stdio.h>
#include <string.h>

/* ---- one kernel ---- */

static const char *param_text(const Cg *cg, const KernelParam *p) {
    switch (p->kind) {
    case PARAM_INPUT:
        return cg_text(cg, "const %s *__restrict__ t%d", cg_storage(cg->te->tensor[p->ref].dtype),
                       p->ref);
    case PARAM_SIZE: return cg_text(cg, "const int s%d", p->ref);
    case PARAM_SCALAR:
        return cg_text(cg, "const %s t%d", cg_storage(cg->te->tensor[p->ref].dtype), p->ref);
    case PARAM_OUTPUT:
        return cg_text(cg, "%s *__restrict__ t%d", cg_storage(cg->te->tensor[p->ref].dtype),
                       p->ref);
    case PARAM_MAP: return cg_text(cg, "const __grid_constant__ rl_map map%d", p->ref);
    default: return "unsigned char *__restrict__ w";
    }
}

static void print_signature(Cg *cg, const Lowered *l, const KernelProgram *out) {
    if (l->kind == KERNEL_CONTRACT || l->kind == KERNEL_ROW)
        cg_line(cg, "extern \"C\" __global__ void __launch_bounds__(%d, %d)", l->launch.block[0],
                rprog_resident(l->p, cg->dev, l->r));
    else cg_line(cg, "extern \"C\" __global__ void __launch_bounds__(%d)", l->launch.block[0]);
    if (l->launch.cluster[0] > 1)
        cg_line(cg, "__cluster_dims__(%d, 1, 1)", l->launch.cluster[0]);
    Buf b = buf_new(cg->arena);
    buf_printf(&b, "%s(", l->launch.symbol);
    for (int i = 0; i < cg_params(out, &l->launch); i++) {
        KernelParam p = cg_param(out, i);
        buf_printf(&b, "%s%s", i > 0 ? ",\n    " : "", param_text(cg, &p));
    }
    buf_puts(&b, ")");
    cg_open(cg, "%s", buf_str(&b));
}

/* Temporaries in the workspace that the kernel touches get their names.  */
static void print_temporaries(Cg *cg, const KernelGroup *g) {
    for (int t = 0; t < cg->te->n_tensor; t++) {
        if (cg->temp_at[t] < 0) continue;
        bool used = false;
        for (int i = 0; i <= g->n_fused && !used; i++) {
            const TeStmt *s = &cg->te->stmt[i == 0 ? g->root : g->fused[i - 1]];
            used = s->tensor == t || access_reads_tensor(s->rhs, t);
        }
        const char *type = cg_storage(cg->te->tensor[t].dtype);
        if (used)
            cg_line(cg, "%s *const t%d = reinterpret_cast<%s *>(w + %lldll);", type, t, type,
                    (long long)cg->temp_at[t]);
    }
}

/* Pointers to what kernels before have written are made anew behind the wait, so that no read of it
 * is moved before or takes it for constant (ld.global.nc): temporaries, outputs that are read.  */
void kernel_wait(Kernel *k) {
    Cg *cg = k->cg;
    const KernelGroup *g = k->l->p->group;
    const Te *te = cg->te;
    cg_line(cg, "rl_previous_wait();");
    if (k->workspace) cg_line(cg, "w = rl_behind(w);");
    for (int t = te->n_in; t < te->n_in + te->n_out; t++) {
        bool read = false;
        for (int i = 0; i <= g->n_fused; i++)
            read |= access_reads_tensor(te->stmt[i == 0 ? g->root : g->fused[i - 1]].rhs, t);
        if (read) cg_line(cg, "t%d = rl_behind(t%d);", t, t);
    }
    print_temporaries(cg, g);
}

static void print_kernel(Cg *cg, const Lowered *l, const KernelProgram *out) {
    Kernel k = {.cg = cg, .l = l};
    const Te *all = cg->te;
    const KernelChoice *choice = &out->choice[l->group];
    const KernelStrategy *strategy = &out->strategy[choice->strategy];
    cg->te = l->p->te;
    cg->temp_at = strategy->temp_offset;
    cg->sums_at = rprog_partial_at(&strategy->workspace, choice->group);
    k.at.made = ARENA_ARRAY(cg->arena, const char *, cg->te->n_tensor);
    cg->names = 0;
    cg_blank(cg);
    print_signature(cg, l, out);
    if (l->kind == KERNEL_CONTRACT) {
        k.c = *l->contract;
        place_constants(&k);
        const char *at = k.c.ring ? "rl_hidden(rl_shared(smem))" : "rl_shared(smem)";
        if (k.c.async || k.c.matrix.used) cg_line(cg, "const unsigned shared = %s;", at);
    }
    k.workspace = out->workspace_bytes > 0;
    if (!l->waits) print_temporaries(cg, l->p->group);
    if (l->kind == KERNEL_ROW && !lower_empty(l->p)) row_constants(&k);
    form_emit(&k);
    cg_close(cg);
    cg->te = all;
}

void kernel_smem(Kernel *k, int align) {
    if (k->cg->static_smem)
        cg_line(k->cg, "__shared__ __align__(%d) unsigned char smem[%lld];", align,
                (long long)k->l->launch.dynamic_smem);
    else cg_line(k->cg, "extern __shared__ __align__(%d) unsigned char smem[];", align);
}

/* ---- the program ---- */

/* Are the texts of two kernels the same but for their names?  */
static bool same_kernel(const Buf *x, const char *name, const Buf *y, const char *other) {
    if (y->len == 0) return false;
    size_t at = (size_t)(strstr(x->text, name) - x->text), len = strlen(name);
    size_t other_len = strlen(other);
    return x->len - len == y->len - other_len && memcmp(x->text, y->text, at) == 0 &&
           strncmp(y->text + at, other, other_len) == 0 &&
           memcmp(x->text + at + len, y->text + at + other_len, x->len - at - len) == 0;
}

/* Prints every kernel to cg->out; those that programs for different sizes have in common once.  */
static void print_kernels(Cg *cg, Lowered *l, const bool *only, KernelProgram *out) {
    Buf all = cg->out, *text = ARENA_ARRAY(cg->arena, Buf, out->n_kernel);
    out->kernel = ARENA_ARRAY(cg->arena, KernelLaunch, out->n_kernel);
    for (int i = 0, n = 0; i < out->n_kernel; i++) {
        char *symbol = l[i].launch.symbol;
        cg->out = text[i] = buf_new(cg->arena);
        out->kernel[i] = l[i].launch;     /* without a name: it is not there */
        if (only && !only[l[i].group]) continue;
        snprintf(symbol, CG_SYMBOL, "rk_%s_%d", out->hash, n);
        print_kernel(cg, &l[i], out);
        if (cg->static_smem) l[i].launch.dynamic_smem = 0;
        text[i] = cg->out;
        int k = 0;
        while (k < i && !same_kernel(&text[i], symbol, &text[k], l[k].launch.symbol)) k++;
        if (k < i) {
            memcpy(symbol, l[k].launch.symbol, CG_SYMBOL);
        } else {
            buf_add(&all, buf_str(&text[i]), text[i].len);
            n++;
        }
        out->kernel[i] = l[i].launch;
    }
    cg->out = all;
}

static KernelParam *find_params(Arena *a, const Te *te, bool workspace, int *n) {
    KernelParam *p = ARENA_ARRAY(a, KernelParam, te->n_in + te->n_size + te->n_out + 1);
    *n = 0;
    for (int i = 0; i < te->n_in; i++) {
        if (te->tensor[i].role == TE_INPUT) p[(*n)++] = (KernelParam){PARAM_INPUT, i, 8};
    }
    for (int i = 0; i < te->n_size; i++) {
        if (te->size[i].kind == TE_SIZE_RUNTIME && te->size[i].used)
            p[(*n)++] = (KernelParam){PARAM_SIZE, i, 4};
    }
    for (int i = 0; i < te->n_in; i++) {
        if (te->tensor[i].role == TE_VALUE)
            p[(*n)++] = (KernelParam){PARAM_SCALAR, i, te_dtype_bytes(te->tensor[i].dtype)};
    }
    for (int i = te->n_in; i < te->n_in + te->n_out; i++)
        p[(*n)++] = (KernelParam){PARAM_OUTPUT, i, 8};
    if (workspace) p[(*n)++] = (KernelParam){PARAM_WORKSPACE, -1, 8};
    return p;
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

/* A tensor map, dimension 0 first.  */
static void print_map(const KernelMap *m, int number, Buf *out) {
    const TensorMap *x = &m->fixed;
    buf_printf(out, "    map%d  ", number);
    if (m->tensor < 0) buf_puts(out, "w");
    else buf_printf(out, "t%d", m->tensor);
    if (x->im2col) buf_printf(out, "  %u pixels of %u channels", x->pixels, x->channels);
    for (int i = 0; i < x->rank && !x->im2col; i++)
        buf_printf(out, "%s%u", i ? "x" : "  box ", x->box[i]);
    buf_printf(out, "  swizzle %d\n", x->swizzle ? 16 << x->swizzle : 0);
}

/* Plan, launches and parameters, for a reader.  */
static void print_head(Cg *cg, const char *plan_text, const Lowered *l, int n,
                       const KernelProgram *out) {
    Buf b = buf_new(cg->arena);
    buf_printf(&b, "%s\nparameters\n", plan_text);
    for (int i = 0; i < out->n_param; i++) {
        const KernelParam *p = &out->param[i];
        const TeTensor *t = p->kind == PARAM_SIZE || p->ref < 0 ? NULL : &cg->te->tensor[p->ref];
        if (t)
            buf_printf(&b, "  t%d  %s%s%s\n", p->ref, te_dtype_name(t->dtype), shape_text(cg, t),
                       p->kind == PARAM_OUTPUT ? "  output" : "");
        else if (p->kind == PARAM_SIZE)
            buf_printf(&b, "  s%d  %lld..%lld\n", p->ref,
                       (long long)cg->te->size[p->ref].extent.min,
                       (long long)cg->te->size[p->ref].extent.value);
        else buf_printf(&b, "  w  workspace of %lld bytes\n", (long long)out->workspace_bytes);
    }
    buf_puts(&b, "launches\n");
    for (int i = 0; i < n; i++) {
        const KernelLaunch *x = &l[i].launch;
        TeExtent blocks = {.value = x->grid[0], .expr = x->blocks};
        buf_printf(&b, "  %s  grid %s,%lld  block %d  dynamic shared memory %lld\n", x->symbol,
                   cg_extent(cg, &blocks), (long long)x->grid[1], x->block[0],
                   (long long)x->dynamic_smem);
        for (int m = 0; m < x->n_map; m++) print_map(&x->map[m], m, &b);
    }
    cg_comment(cg, buf_str(&b));
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
             .static_smem = o && o->static_smem,
             .out = buf_new(a)};
    Buf plan_text = buf_new(a), head, prelude = buf_new(a);
    rprog_print(plan, dev, &plan_text);
    cg_lay_out(a, plan, out);
    out->param = find_params(a, plan->te, out->workspace_bytes > 0, &out->n_param);
    Lowered *l = lower_plan(a, plan, dev, &out->n_kernel);
    name_program(&cg, buf_str(&plan_text), l, out);
    for (int i = 0; i < out->n_kernel; i++) {
        const char *wrong = kernel_check(a, l[i].form);
        if (wrong)
            return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "kernel %d: %s", i, wrong);
        int strategy = out->choice[l[i].group].strategy;
        cg_place_maps(a, out->strategy[strategy].temp_offset, &l[i].launch);
    }
    print_kernels(&cg, l, o ? o->only : NULL, out);
    Status maps = cg_check_maps(d, out, cg.align);
    if (maps) return maps;
    Buf body = cg.out;
    cg.out = buf_new(a);
    print_head(&cg, buf_str(&plan_text), l, out->n_kernel, out);
    head = cg.out;
    buf_putc(&head, '\n');
    int cc = dev->cc_major * 10 + dev->cc_minor;
    const char *missing = prelude_print(a, buf_str(&body), cc, &out->least_cc, &prelude);
    if (missing)
        return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "the device has no '%s'", missing);
    buf_puts(&head, buf_str(&prelude));
    buf_puts(&head, body.len > 0 ? buf_str(&body) + 1 : "");
    out->source = buf_str(&head);
    out->source_len = head.len;
    const char *bad = source_check(out->source, out->source_len);
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
