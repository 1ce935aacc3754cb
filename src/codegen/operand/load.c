#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* Pointers go on along K, or with the rows of the operand.  */
static void advance_pointer(Kernel *k, const Side *s) {
    bool rows = s->moves != AX_K;
    const FusedAxis *axis = rows ? &s->own_axis : &s->k_axis;
    if (!s->copies || s->stays || !(s->pointer || rows) || axis->n_digit == 0) return;
    Ir stride = address_stride(k, &s->o->access, OFFSET, axis, 0);
    if (!stride) return;
    ir_update(k->cg, IR_ADD, operand_at(k, s)->src,
              ir_mul(k->cg, product_size(k, 'B', s->moves), stride));
}

void load_copy(Kernel *k, const Node *n) {
    const Side *s = &k->c->side[n->of];
    if (n->to) {
        load_staged_keep(k, s);
        return;
    }
    address_step(k, s);
    if (rprog_copies_chunks(s->l)) load_async(k, s, n->from);
    else load_staged(k, s);
    advance_pointer(k, s);
}

/* To the stage of a ring behind that at `turn`, a byte.  */
static void next_stage(Cg *cg, const RingAt *x, Ir turn) {
    Ir stage = x->bytes, then = ir_add(cg, turn, stage);
    Ir all = ir_mul(cg, x->slots, stage);
    ir_set(cg, turn, ir_select(cg, ir_lt(cg, then, all), then, ir_int(cg, 0)));
}

void load_more(Kernel *k) {
    Cg *cg = k->cg;
    Ir step = ir_add_n(cg, k->var.step, contract_turns(k->c)->ahead);
    k->more = ir_let(cg, "more", ir_lt(cg, step, k->var.steps));
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (s->spread) address_step(k, s);
    }
}

void load_row(Kernel *k, const Node *copies, Ir row, int rows) {
    for (const Node *n = copies; n; n = n->next) load_async_row(k, &k->c->side[n->of], row, rows);
}

void load_next(Kernel *k, bool spread) {
    Cg *cg = k->cg;
    for (const Side *s = k->c->side; s < k->c->end && spread; s++) {
        if (s->spread) advance_pointer(k, s);
    }
    AxisClass moves = product_moves(k);
    Ir next = moves == AX_K ? k->own->k_next : k->own->n_next;
    ir_update(cg, IR_ADD, next, product_size(k, 'B', moves));
    if (k->c->tables) ir_update(cg, IR_XOR, k->var.turn, ir_int(cg, 1));
}

static bool goes_round(const Kernel *k, int ring) { return k->l->layout->ring[ring].slots > 1; }

void load_put(Kernel *k, int ring) {
    if (goes_round(k, ring)) next_stage(k->cg, &k->ring[ring], k->ring[ring].put);
}

/* To where the next step reads.  Matrix units fetch its first fragments in this one, without a
 * branch: the last step stays where it is and fetches its own once more, for nobody.  */
void load_take(Kernel *k, int ring, bool stays) {
    Cg *cg = k->cg;
    if (stays) {
        ir_note(cg, "the last step stays where it is, and fetches once more for nobody");
        Ir step = ir_add_n(cg, k->var.step, 1);
        ir_if(cg, ir_let(cg, "next", ir_lt(cg, step, k->var.steps)));
    }
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (s->l->region) region_advance(k, s);
    }
    if (goes_round(k, ring)) next_stage(cg, &k->ring[ring], k->ring[ring].take);
    if (stays) ir_close(cg);
}
