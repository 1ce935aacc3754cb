/* Layouts of shared tiles: padding or swizzle, decided by counting wavefronts.  */
#include "rprogram/matrix.h"

bool rprog_layout_aligned(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    const RLayout *y = &l->layout;
    bool k_inner = y->inner == AX_K;
    int elem = rprog_elem(p, dev, r, side);
    int row = r->block.extent[k_inner ? AX_K : own_axis(side)];
    int read = fragment_read_bytes(p, dev, r, side);
    int write = l->along == y->inner ? l->vec * elem : elem;
    int width = read > write ? read : write;
    if (width > RTILE_ACCESS) width = RTILE_ACCESS;
    if (rprog_matrix(dev, r)) width = RTILE_ACCESS;
    if (y->pad < 0 || (row + y->pad) * elem % width) return false;
    if (y->bits == 0) return y->shift == 0 && y->base == 0;
    if (y->pad || y->bits > 3 || y->shift > 7 || y->base + y->bits > 6) return false;
    return row * elem % (RTILE_ACCESS << (y->base + y->bits)) == 0;
}

typedef struct {
    const Problem *p;
    const Device *dev;
    RProg *r;
    Samples *memo;
    int side, least_reads;
    bool found, ideal;        /* ideal: no layout can be better */
    int reads, writes;
    RLayout best;
} Choice;

/* Fragments are read more often than chunks are written, so reads decide first.  */
static void try_layout(Choice *c, RLayout layout) {
    if (c->ideal) return;
    c->r->load[c->side].layout = layout;
    if (!rprog_layout_aligned(c->p, c->dev, c->r, c->side)) return;
    int reads = rprog_read_sample(c->p, c->dev, c->r, c->side, c->memo);
    if (c->found && reads > c->reads) return;
    int least, writes = rprog_store_sample(c->p, c->dev, c->r, c->side, c->memo, &least);
    if (c->found && reads == c->reads && writes >= c->writes) return;
    c->ideal = reads <= c->least_reads && writes <= least;
    c->found = true;
    c->reads = reads;
    c->writes = writes;
    c->best = layout;
}

/* A row of 128 bytes, all banks once, has 8 chunks of 16: 3 bits.  */
static void try_swizzles(Choice *c, uint8_t inner) {
    for (uint8_t bits = 1; bits <= 3; bits++) {
        for (uint8_t shift = 0; shift <= 3; shift++) {
            for (uint8_t base = 0; base + bits <= 3; base++) {
                try_layout(c, (RLayout){.inner = inner, .bits = bits, .shift = shift,
                                        .base = base});
            }
        }
    }
}

static void try_pads(Choice *c, uint8_t inner, int row, int tile, int elem) {
    const MemoryLevel *smem = &c->dev->memory[LEVEL_SMEM];
    int formula = rtile_pad((int)smem->banks.value, (int)smem->bank_width.value, elem, row, tile);
    const int pads[] = {tile, 2 * tile, formula};
    for (int i = 0; i < 3; i++) {
        if (pads[i] < row || row >= 32) {
            try_layout(c, (RLayout){.inner = inner, .pad = (int16_t)pads[i]});
        }
    }
}

bool rprog_choose_layout(const Problem *p, const Device *dev, RProg *r, int side,
                         Samples *memo) {
    const RLoad l = r->load[side];
    bool k_inner = l.layout.inner == AX_K;
    int elem = rprog_elem(p, dev, r, side);
    int row = r->block.extent[k_inner ? AX_K : own_axis(side)];
    bool matrix = rprog_matrix(dev, r);
    int read = fragment_read_bytes(p, dev, r, side);
    int tile = matrix ? RTILE_ACCESS / elem : read / elem;
    if (l.along == l.layout.inner && l.vec > tile)
        tile = l.vec * elem > RTILE_ACCESS ? RTILE_ACCESS / elem : l.vec;
    Choice c = {.p = p, .dev = dev, .r = r, .memo = memo, .side = side,
                .least_reads = (matrix ? read == 8 : read > 8) ? 2 : 1};
    try_layout(&c, (RLayout){.inner = l.layout.inner});
    if (k_inner || matrix) try_swizzles(&c, l.layout.inner);
    if (k_inner || matrix || l.along == AX_K) try_pads(&c, l.layout.inner, row, tile, elem);
    r->load[side].layout = c.found ? c.best : l.layout;
    return c.found;
}
