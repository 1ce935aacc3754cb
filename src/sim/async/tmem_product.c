#include "sim/async/tmem_product.h"

#include "base/numeric.h"

#include <math.h>

static uint32_t field(uint32_t bits, int at, int width) {
    return bits >> at & ((1u << width) - 1);
}

/* The types of A and B by their numbers in the descriptor (PTX ISA, tables "Instruction descriptor
 * format"); those of 4 and 6 bits have padding in shared memory, whose order only figures show.  */
static PtxType operand_type(TmemProductKind kind, uint32_t number) {
    static const PtxType known[][2] = {
        [TMEM_F16] = {PTX_F16, PTX_BF16},
        [TMEM_F8F6F4] = {PTX_E4M3, PTX_E5M2},
        [TMEM_I8] = {PTX_U8, PTX_S8},
        [TMEM_MXF8F6F4] = {PTX_E4M3, PTX_E5M2},
        [TMEM_MXF4] = {PTX_NONE, PTX_E2M1},
        [TMEM_MXF4NVF4] = {PTX_NONE, PTX_E2M1},
    };
    if (kind == TMEM_TF32) return number == 2 ? PTX_TF32 : PTX_NONE;
    return number < 2 ? known[kind][number] : PTX_NONE;
}

static const char *check(const TmemProduct *p) {
    bool half = p->kind == TMEM_F16, integer = p->kind == TMEM_I8;
    if (!p->a || !p->b) return "has operand types that the simulator does not know";
    if (half && p->a != p->b) return "multiplies f16 by bf16";
    bool f16_sums = p->a == PTX_F16 || p->kind == TMEM_F8F6F4;
    if (integer ? p->d != PTX_S32 : p->d != PTX_F32 && !(p->d == PTX_F16 && f16_sums))
        return "has a wrong type of accumulators";
    if (p->sat && !integer) return "saturates, but not integers";
    if (integer && (p->neg_a || p->neg_b)) return "negates integers";
    if (p->m != 128 && (p->m != 64 || p->scales)) return "has a wrong M";
    int n = p->n / p->blocks;
    if (p->n < 8 || p->n > 256) return "has an N that is not 8 to 256";
    if (p->n % (8 * p->blocks)) return "has an N of a pair that is no multiple of 16";
    if (integer && p->n > 32 && p->n % 16) return "has an N above 32 that is no multiple of 16";
    if (integer && p->blocks > 1 && n % 16) return "has an N of a pair that is no multiple of 32";
    if (tmem_is_packed(p->kind) && (p->a_mn || p->b_mn)) return "transposes 4-bit types";
    if (p->b_mn && sim_type_bits(p->b) == 8 && n % 16)
        return "transposes 8-bit types with an N that is no multiple of 16";
    return NULL;
}

/* Their type, and where those of an instruction begin; UE4M3 is of blocks of 16, and UE8M0 of those
 * of 32.  */
static const char *read_scales(uint32_t bits, TmemProduct *out) {
    enum { SHORT = 4 };
    out->m = (int)field(bits, 27, 2) << 7;
    out->d = PTX_F32;
    out->scale_a = (int)field(bits, 29, 2);
    out->scale_b = (int)field(bits, 4, 2);
    out->scale = field(bits, 23, 1) ? PTX_UE8M0 : PTX_UE4M3;
    if (out->scale != (out->scales == SHORT ? PTX_UE4M3 : PTX_UE8M0))
        return out->scales == SHORT ? "has scales that are not UE4M3"
                                    : "has scales that are not UE8M0";
    if (out->scale_a % out->scales || out->scale_b % out->scales)
        return "has scales that begin within those of another instruction";
    return NULL;
}

const char *tmem_product(TmemProductKind kind, int scales, uint32_t bits, int blocks,
                         TmemProduct *out) {
    static const PtxType accumulator[] = {PTX_F16, PTX_F32, PTX_S32, PTX_NONE};
    static const int k[] = {[TMEM_F16] = 16, [TMEM_TF32] = 8, [TMEM_F8F6F4] = 32, [TMEM_I8] = 32,
                            [TMEM_MXF8F6F4] = 32, [TMEM_MXF4] = 64, [TMEM_MXF4NVF4] = 64};
    bool scaled = tmem_is_scaled(kind);
    *out = (TmemProduct){.kind = kind, .blocks = blocks, .k = k[kind], .scales = scales,
                         .n = (int)field(bits, 17, 6) << 3,
                         .a = operand_type(kind, field(bits, 7, 3)),
                         .b = operand_type(kind, field(bits, 10, 3)),
                         .neg_a = field(bits, 13, 1), .neg_b = field(bits, 14, 1),
                         .a_mn = field(bits, 15, 1), .b_mn = field(bits, 16, 1)};
    if (field(bits, 2, 1)) return "is sparse, which the simulator does not know";
    uint32_t reserved = scaled ? 1u << 31 | 7u << 24 | 1u << 6 | 1u << 3 | 3u
                               : 7u << 29 | 1u << 23 | 1u << 6 | 3u;
    if (bits & reserved) return "has reserved bits set";
    if (scaled) {
        const char *why = read_scales(bits, out);
        if (why) return why;
    } else {
        out->m = (int)field(bits, 24, 5) << 4;
        out->d = accumulator[field(bits, 4, 2)];
        out->sat = field(bits, 3, 1);
    }
    out->m /= blocks;
    return check(out);
}

/* Why operands of such elements cannot lie so (PTX ISA, "Canonical layouts"), or NULL.  */
static const char *wrong_order(const SimDescriptor *d, bool mn_major, int bytes) {
    bool words = mn_major && bytes == 4;
    if (words == (d->atom == 32)) return NULL;
    return words ? "has 32-bit elements along M or N in no swizzle of 32-byte atoms"
                 : "has a swizzle of 32-byte atoms, but no 32-bit elements along M or N";
}

const char *tmem_descriptor(uint64_t bits, bool mn_major, int bytes, SimDescriptor *out) {
    enum { VERSION = 46, SWIZZLE = 61, ATOM_32 = 1 };
    static const int span[8] = {[0] = 16, [ATOM_32] = 128, [2] = 128, [4] = 64, [6] = 32};
    uint64_t known = (uint64_t)0x3fff | (uint64_t)0x3fff << 16 | (uint64_t)0x3fff << 32 |
                     (uint64_t)7 << VERSION | (uint64_t)7 << 49 | (uint64_t)7 << SWIZZLE;
    int swizzle = (int)(bits >> SWIZZLE);
    if ((bits >> VERSION & 7) != 1) return "lacks its constant 0b001 in bits 46 to 48";
    if (bits & ~known) return "has reserved bits set, or an absolute leading dimension";
    if (!span[swizzle]) return "has a swizzle that does not exist";
    /* Hopper's descriptors are the same but for version and codes of swizzles.  */
    *out = sim_descriptor(bits & ~((uint64_t)7 << SWIZZLE));
    out->span = span[swizzle];
    out->atom = swizzle == ATOM_32 ? 32 : 16;
    const char *why = wrong_order(out, mn_major, bytes);
    return why ? why : sim_descriptor_starts(out);
}

static void transpose(int rows, int columns, const double *in, double *out) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) out[j * rows + i] = in[i * columns + j];
}

void tmem_operand(const TmemProduct *p, bool of_a, const uint8_t *bytes, double *out,
                  double *scratch) {
    int rows = tmem_rows(p, of_a);
    bool mn = of_a ? p->a_mn : p->b_mn;
    size_t n = (size_t)rows * (size_t)p->k;
    if (tmem_is_packed(p->kind)) sim_pairs_decode(bytes, n, out);
    else sim_elem_decode(of_a ? p->a : p->b, bytes, n, mn ? scratch : out);
    if (mn) transpose(p->k, rows, scratch, out);
    for (size_t i = 0; (of_a ? p->neg_a : p->neg_b) && i < n; i++) out[i] = -out[i];
}

void tmem_scale(const TmemProduct *p, int rows, const uint32_t *cell, double *values) {
    int block = p->k / p->scales;
    for (int r = 0; r < rows; r++) {
        for (int k = 0; k < p->k; k++) {
            uint8_t bits = (uint8_t)(cell[r] >> 8 * (k / block));
            values[r * p->k + k] *= p->scale == PTX_UE8M0 ? num_ue8m0_decode(bits)
                                                          : num_ue4m3_decode(bits);
        }
    }
}

void tmem_multiply(const TmemProduct *p, TmemScratch *s) {
    transpose(p->n, p->k, s->b, s->turned);
    sim_dense(p->m, p->n, p->k, s->a, s->turned, s->d);
}
