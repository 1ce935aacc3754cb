/* Video instructions on the bytes and halves of a register: vadd4, vabsdiff4, vmin2 and their like,
 * without the choice of single bytes.  */
#include "sim/lane/lanes.h"
#include "sim/lane/pick.h"

/* SimInst.arg, beside the operation in the low bits.  */
enum { SIGNED_A = 16, SIGNED_B = 32, SIGNED_D = 64, SATURATE = 128, SUM = 256, HALVES = 512 };
enum { VIDEO_ADD, VIDEO_SUB, VIDEO_AVRG, VIDEO_ABSDIFF, VIDEO_MIN, VIDEO_MAX, VIDEO_OPS };

static int element(uint32_t v, int bits, bool is_signed) {
    int x = (int)(v & ((1u << bits) - 1));
    return is_signed && x >> (bits - 1) ? x - (1 << bits) : x;
}

static int operate(int op, int x, int y) {
    switch (op) {
    case VIDEO_ADD: return x + y;
    case VIDEO_SUB: return x - y;
    case VIDEO_AVRG: return (x + y + (x + y >= 0)) >> 1;
    case VIDEO_ABSDIFF: return x > y ? x - y : y - x;
    case VIDEO_MIN: return x < y ? x : y;
    default: return x > y ? x : y;
    }
}

static int saturated(int v, int bits, bool is_signed) {
    int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, least = is_signed ? ~most : 0;
    return v > most ? most : v < least ? least : v;
}

static uint32_t video(unsigned arg, uint32_t a, uint32_t b, uint32_t c) {
    int bits = arg & HALVES ? 16 : 8;
    uint32_t out = 0, sum = c;
    for (int at = 0; at < 32; at += bits) {
        int v = operate((int)(arg & 15), element(a >> at, bits, arg & SIGNED_A),
                        element(b >> at, bits, arg & SIGNED_B));
        if (arg & SATURATE) v = saturated(v, bits, arg & SIGNED_D);
        sum += (uint32_t)v;
        out |= ((uint32_t)v & ((1u << bits) - 1)) << at;
    }
    return arg & SUM ? sum : out;
}

SIM_TERNARY(video_32, u32, u32, u32, u32, video(i->arg, a, b, c))

SimExec *sim_pick_video(SimPick *k) {
    int op = (int)k->p->op - OP_VADD4;
    bool halves = op >= VIDEO_OPS;
    static const int flags[] = {SIGNED_D, SIGNED_A, SIGNED_B};
    int arg = halves ? (op - VIDEO_OPS) | HALVES : op;
    for (int n = 0; n < 3; n++) {
        PtxType t = sim_take_type(k);
        if (t != PTX_U32 && t != PTX_S32) return sim_pick_fail(k, "needs three of .u32 and .s32");
        if (t == PTX_S32) arg |= flags[n];
    }
    if (sim_take(k, MOD_SAT)) arg |= SATURATE;
    if (sim_take(k, MOD_ADD)) arg |= SUM;
    if ((arg & SATURATE) && (arg & SUM)) return sim_pick_fail(k, "takes .sat or .add");
    k->i->arg = (uint16_t)arg;
    return sim_want3(k, 32, 32, 32) && sim_want_bits(k, 3, 32) ? video_32 : NULL;
}
