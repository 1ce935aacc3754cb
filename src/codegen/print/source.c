#include "codegen/print/source.h"
#include "codegen/print/ir_print.h"
#include <string.h>

/* ---- kernels ---- */

/* What stands before a kernel's name.  */
static void print_attributes(const Cg *c, const KernelParts *k, Buf *out) {
    if (c->language == LANGUAGE_OPENCL) {
        buf_printf(out, "\n__kernel __attribute__((reqd_work_group_size(%d, 1, 1)))\nvoid ",
                   k->threads);
        return;
    }
    buf_printf(out, "\nextern \"C\" __global__ void __launch_bounds__(%d", k->threads);
    if (k->resident > 0) buf_printf(out, ", %d", k->resident);
    buf_puts(out, ")\n");
    if (k->cluster > 1) buf_printf(out, "__cluster_dims__(%d, 1, 1)\n", k->cluster);
}

KernelText source_kernel(const Cg *c, const KernelParts *k) {
    KernelText text = {.before = buf_new(c->arena), .behind = buf_new(c->arena)};
    print_attributes(c, k, &text.before);
    buf_puts(&text.behind, "(");
    ir_print_parameters(c, k->param, k->name, k->n, &text.behind);
    buf_puts(&text.behind, ") {\n");
    ir_print(c, k->body, 1, &text.behind);
    buf_puts(&text.behind, "}\n");
    return text;
}

static bool is_same(const Buf *x, const Buf *y) {
    return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

bool source_same(const KernelText *x, const KernelText *y) {
    return is_same(&x->before, &y->before) && is_same(&x->behind, &y->behind);
}

void source_add(Buf *out, const KernelText *x, const char *symbol) {
    buf_add(out, x->before.text, x->before.len);
    buf_puts(out, symbol);
    buf_add(out, x->behind.text, x->behind.len);
}

void source_join(Buf *head, const Buf *prelude, const Buf *kernels) {
    buf_putc(head, '\n');
    buf_add(head, prelude->text, prelude->len);
    if (kernels->len > 0) buf_add(head, kernels->text + 1, kernels->len - 1);   /* no blank line */
}

/* ---- the head ---- */

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

void source_head(const Cg *c, const char *plan_text, const KernelProgram *p, const Ir *blocks,
                 Buf *out) {
    Buf b = buf_new(c->arena);
    buf_printf(&b, "%s\n", plan_text);
    print_arguments(c, &b);
    if (p->workspace_bytes > 0)
        buf_printf(&b, "  w  workspace of %lld bytes\n", (long long)p->workspace_bytes);
    buf_puts(&b, "launches\n");
    for (int i = 0; i < p->n_kernel; i++) {
        const KernelLaunch *x = &p->kernel[i];
        buf_printf(&b, "  %s  grid %s,%lld  block %d  dynamic shared memory %lld\n", x->symbol,
                   ir_string(c, blocks[i]), (long long)x->grid[1], x->block[0],
                   (long long)x->dynamic_smem);
        for (int k = 0; k < x->n_param; k++) {
            buf_puts(&b, k ? ", " : "    takes ");
            print_param(&x->param[k], &b);
        }
        buf_puts(&b, x->n_param ? "\n" : "");
        for (int m = 0; m < x->n_map; m++) print_map(&x->map[m], m, &b);
    }
    put_comment(out, buf_str(&b));
}
