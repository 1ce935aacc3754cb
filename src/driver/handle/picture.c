#include "driver/handle/picture.h"
#include "rprogram/derived.h"
#include <inttypes.h>

enum { WIDTH = 1010, HEIGHT = 320, SIDE = 210, TOP = 80, MOST_LINES = 64 };

typedef struct {
    const Problem *p;
    const Device *dev;
    const RProg *r;
    Buf *out;
} Picture;

/* a, b: operands; one: what computes.  */
static const char *const light[] = {
    "text{fill:#222}", ".soft{fill:#666}", ".paper{fill:#fff}", ".all{fill:#f2f4f7;stroke:#888}",
    ".one{fill:#bcd7f0;stroke:#1660a8}", ".a{fill:#f6d9b8;stroke:#b04a16}",
    ".b{fill:#cfe8c9;stroke:#3a7d2c}", ".two{fill:#8fbbe6;stroke:#1660a8}",
    ".powers{fill:#e3cdf0;stroke:#7b3fa0}", ".ends{fill:#e3e3e3;stroke:#666}",
    ".cut{stroke:#888;stroke-width:.5}", ".asked{stroke:#888;stroke-width:1.5}"};
static const char *const dark[] = {
    "text{fill:#ddd}", ".soft{fill:#999}", ".paper{fill:#16181c}", ".all{fill:#22252b;stroke:#777}",
    ".one{fill:#1d4568;stroke:#6db1f2}", ".a{fill:#5a3a20;stroke:#f0965e}",
    ".b{fill:#27472a;stroke:#7fc76f}", ".two{fill:#2d669b;stroke:#6db1f2}",
    ".powers{fill:#43285a;stroke:#c08fe6}", ".ends{fill:#3a3d42;stroke:#999}",
    ".cut{stroke:#777}"};

void picture_begin(Buf *out, const char *name, int width, int height) {
    svg_begin(out, (SvgFrame){name, width, height},
              (SvgStyle){light, sizeof light / sizeof *light, dark, sizeof dark / sizeof *dark});
}

static double least(double a, double b) { return a < b ? a : b; }

static void title(const Picture *c, double x, const char *what, const char *size) {
    svg_text(c->out, x, TOP - 42, "font-weight=\"600\"", what);
    svg_text(c->out, x, TOP - 25, "class=\"soft\"", size);
}

typedef struct {
    int64_t m, n;
    int tm, tn;               /* of a tile in it */
} Area;

/* The area and its tiles at x, y, the first one marked.  Returns the scale.  */
static double tiled(const Picture *c, double x, double y, Area of) {
    int64_t m = of.m, n = of.n;
    int tm = of.tm, tn = of.tn;
    double scale = SIDE / (double)(m > n ? m : n), w = (double)n * scale, h = (double)m * scale;
    svg_rect(c->out, x, y, w, h, "class=\"all\"");
    svg_rect(c->out, x, y, least(w, tn * scale), least(h, tm * scale), "class=\"one\"");
    for (int64_t i = 1; i * tn < n && n / tn <= MOST_LINES; i++)
        svg_line(c->out, x + (double)i * tn * scale, y, x + (double)i * tn * scale, y + h,
                 "class=\"cut\"");
    for (int64_t i = 1; i * tm < m && m / tm <= MOST_LINES; i++)
        svg_line(c->out, x, y + (double)i * tm * scale, x + w, y + (double)i * tm * scale,
                 "class=\"cut\"");
    return scale;
}

static const char *sizes(const Picture *c, int64_t m, int64_t n, const char *of) {
    return arena_printf(c->out->arena, "%" PRId64 " x %" PRId64 "%s", m, n, of);
}

static void result(const Picture *c, double x) {
    const int64_t *e = c->p->extent;
    const RTile *b = &c->r->block;
    title(c, x, "The result, a tile for each block", sizes(c, e[AX_M], e[AX_N], ""));
    tiled(c, x, TOP, (Area){e[AX_M], e[AX_N], b->extent[AX_M], b->extent[AX_N]});
}

/* A block: what a step brings of a to the left, of b above.  */
static void block(const Picture *c, double x) {
    const RTile *b = &c->r->block, *w = &c->r->warp;
    int m = b->extent[AX_M], n = b->extent[AX_N], k = b->extent[AX_K];
    bool team = rprog_team(c->dev, c->r) > 1;
    title(c, x, team ? "A block and its warpgroups" : "A block and its warps",
          arena_printf(c->out->arena, "%d x %d, steps of %d", m, n, k));
    Area of = {m, n, w->extent[AX_M], w->extent[AX_N]};
    double strip = 26, scale = tiled(c, x + strip + 4, TOP + strip + 4, of);
    svg_rect(c->out, x, TOP + strip + 4, strip, m * scale, "class=\"a\"");
    svg_rect(c->out, x + strip + 4, TOP, n * scale, strip, "class=\"b\"");
    svg_text(c->out, x + 7, TOP + strip + 22, "", "a");
    svg_text(c->out, x + strip + 12, TOP + 18, "", "b");
}

/* A warp: the lanes' elements, or the instructions.  */
static void warp(const Picture *c, double x) {
    const RTile *w = &c->r->warp, *t = &c->r->thread;
    bool matrix = rprog_matrix(c->dev, c->r);
    title(c, x, arena_printf(c->out->arena, "A %s, by %s",
                             hal_scope_names[matrix ? c->dev->unit[c->r->unit].scope : SCOPE_WARP],
                             matrix ? "instructions" : "lanes"),
          arena_printf(c->out->arena, "%d x %d, each %d x %d", w->extent[AX_M], w->extent[AX_N],
                       t->extent[AX_M], t->extent[AX_N]));
    if (matrix) {
        tiled(c, x, TOP,
              (Area){w->extent[AX_M], w->extent[AX_N], t->extent[AX_M], t->extent[AX_N]});
        return;
    }
    int m = w->extent[AX_M], n = w->extent[AX_N], vm = c->r->vec_m, vn = c->r->vec_n;
    double scale = tiled(c, x, TOP, (Area){m, n, vm, vn});
    for (int i = 0; i < t->extent[AX_M]; i += vm)
        for (int j = 0; j < t->extent[AX_N]; j += vn)
            svg_rect(c->out, x + j * (n / t->extent[AX_N]) * scale,
                     TOP + i * (m / t->extent[AX_M]) * scale, vn * scale, vm * scale,
                     "class=\"one\"");
}

/* The first rows of operand a's shared tile: which chunk of its row lies in each place.  */
static void stage(const Picture *c, double x) {
    const RLoad *l = &c->r->load[LOAD_A];
    if (l->region) return;
    int elem = te_dtype_bytes(rprog_tile_type(c->p, c->dev, c->r, LOAD_A));
    int row = c->r->block.extent[l->layout.inner], chunks = row * elem / 16;
    if (chunks > 8) chunks = 8;
    title(c, x, "Rows of a in a stage", l->layout.bits ? "chunks of 16 bytes, swizzled"
                : l->layout.pad ? "chunks of 16 bytes, rows padded" : "chunks of 16 bytes, plain");
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < chunks; j++) {
            int mask = (1 << l->layout.bits) - 1;
            int at = j ^ (((i >> l->layout.shift) & mask) << l->layout.base);
            double cx = x + j * 25.0, cy = TOP + i * 25.0;
            svg_rect(c->out, cx, cy, 25, 25, at == 0 ? "class=\"a\"" : "class=\"all\"");
            svg_text(c->out, cx + 12, cy + 17, "text-anchor=\"middle\" font-size=\"11\"",
                     arena_printf(c->out->arena, "%d", at));
        }
}

void plan_picture(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    if (r->skeleton != SK_CONTRACT) return;
    Picture c = {.p = p, .dev = dev, .r = r, .out = out};
    picture_begin(out, "tiles", WIDTH, HEIGHT);
    result(&c, 20);
    block(&c, 270);
    warp(&c, 550);
    stage(&c, 790);
    svg_end(out);
}
