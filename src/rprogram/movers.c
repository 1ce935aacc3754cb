/* Which rows of the device serve a problem: units by types, movers by width.  */
#include "rprogram/matrix.h"
#include <math.h>
#include <string.h>

/* Both operands as packed bytes: plain 8-bit integers whose products are summed.  */
static bool fits_packed(const Problem *p, const ComputeUnit *u) {
    const Contraction *c = &p->con;
    if (u->k.from != RPROG_PACKED || c->acc != u->acc) return false;
    if (c->red != TE_RED_SUM || !c->product) return false;
    if (p->n_operand < 2) return false;
    if (c->operand[0].storage != u->a || c->operand[1].storage != u->b) return false;
    for (int side = 0; side < p->n_operand; side++) {
        const ROperand *op = &p->op[side];
        if (!op->affine || op->bytes != 1 || op->vec_k < RPROG_PACKED) return false;
    }
    return true;
}

static bool multiplies_one(const ComputeUnit *u) {
    return u->scope == SCOPE_THREAD && u->b != HAL_NO_DTYPE && u->m.from == 1 && u->n.from == 1 &&
           u->k.from == 1;
}

int16_t rprog_scalar_unit(const Device *dev, TeDtype t) {
    const TeDtype wanted[] = {t, te_dtype_class(t) == TE_CLASS_REAL ? TE_F32 : TE_I32, TE_F32};
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < dev->n_unit; i++) {
            const ComputeUnit *u = &dev->unit[i];
            if (multiplies_one(u) && u->a == wanted[pass] && u->acc == wanted[pass]) {
                return (int16_t)i;
            }
        }
    }
    return -1;
}

/* Is another unit that fits as fast, with operands of no more bytes and the same sums?  */
static bool outdone(const Problem *p, const Device *dev, int which) {
    const ComputeUnit *u = &dev->unit[which];
    int bytes = te_dtype_bytes(u->a);
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *x = &dev->unit[i];
        if (i == which || !matrix_fits(p, x) || x->acc != u->acc) continue;
        if (x->scope != u->scope && warpgroup_converts(p, x)) continue;
        int own = te_dtype_bytes(x->a);
        double faster = hal_sustained(dev, x) - hal_sustained(dev, u);
        bool better = own < bytes || faster > 0 || i < which;
        TeDtype a = p->op[0].value, b = p->op[1].value;
        bool native = (a == u->a && b == u->b) || (a == u->b && b == u->a);
        if (own <= bytes && faster >= 0 && better && !native) return true;
    }
    return false;
}

int rprog_units(const Problem *p, const Device *dev, int16_t *out, int cap) {
    int n = 0;
    int16_t scalar = rprog_scalar_unit(dev, p->contraction ? p->con.acc : p->type);
    bool multiplies = !p->contraction || !rtile_scaled(p);
    if (scalar >= 0 && multiplies && n < cap) out[n++] = scalar;
    for (int i = 0; i < dev->n_unit && p->contraction && n < cap; i++) {
        const ComputeUnit *u = &dev->unit[i];
        if (u->scope == SCOPE_THREAD && u->b != HAL_NO_DTYPE && fits_packed(p, u)) {
            out[n++] = (int16_t)i;
        }
    }
    for (int i = 0; i < dev->n_unit && p->contraction && n < cap; i++) {
        if (matrix_fits(p, &dev->unit[i]) && !outdone(p, dev, i)) out[n++] = (int16_t)i;
    }
    return n;
}

static double product_rate(const Problem *p, const Device *dev, int16_t which, bool stated) {
    const ComputeUnit *u = &dev->unit[which];
    double factor = dev->n_factor ? hal_factor(dev, u->name) : 1;
    double rate = stated ? u->rate.value * fmax(factor, 1) : hal_sustained(dev, u) * factor;
    return rate / rprog_products(p, dev, &(RProg){.unit = which});
}

double rprog_rate(const Problem *p, const Device *dev) {
    enum { UNITS = 16 };
    int16_t unit[UNITS];
    int n = rprog_units(p, dev, unit, UNITS);
    double most = 0;
    for (int i = 0; i < n; i++) {
        double rate = product_rate(p, dev, unit[i], false);
        if (rate > most) most = rate;
    }
    return most;
}

double rprog_peak(const Problem *p, const Device *dev, int16_t *which) {
    *which = rprog_scalar_unit(dev, p->con.acc);
    double most = *which < 0 ? 0 : product_rate(p, dev, *which, true);
    for (int16_t i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        bool packed = u->scope == SCOPE_THREAD && u->b != HAL_NO_DTYPE && fits_packed(p, u);
        double rate = packed || matrix_takes(p, u) ? product_rate(p, dev, i, true) : 0;
        if (rate <= most) continue;
        most = rate;
        *which = i;
    }
    return most;
}

/* Is the mover named so, and by its bytes?  */
static bool is_of(const Mover *m, const char *name) {
    size_t n = name ? strlen(name) : 0;
    int bytes = 0;
    if (n == 0 || strncmp(m->name, name, n) != 0) return false;
    for (name = m->name + n; *name >= '0' && *name <= '9'; name++)
        bytes = bytes * 10 + (*name - '0');
    return *name == 0 && bytes == m->granule;
}

int16_t rprog_mover(const Device *dev, LoadKind kind, int bytes) {
    int16_t best = -1;
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
        if (m->from != PLACE_GLOBAL || m->issue != SCOPE_THREAD || m->granule < bytes) continue;
        bool async = m->async && m->to == PLACE_SMEM;
        if (!rprog_load_facts(kind).registers) {
            if (!async || m->granule != bytes || !is_of(m, rprog_load_facts(kind).movers)) continue;
        } else if (m->async || (m->to != PLACE_REG && m->to != PLACE_SMEM)) {
            continue;
        }
        const Mover *old = best < 0 ? NULL : &dev->mover[best];
        bool closer = old && m->granule == old->granule && old->to == PLACE_REG;
        if (!old || m->granule < old->granule || (closer && m->to == PLACE_SMEM)) {
            best = (int16_t)i;
        }
    }
    return best;
}
