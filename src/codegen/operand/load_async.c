#include "codegen/operand/operand.h"
#include "codegen/block/product.h"

/* cp.async: global to shared memory without registers; what lies outside arrives as zeros.  */

static IrType source_type(const Kernel *k, const Side *s) {
    return ir_pointer(ir_storage(rprog_storage(k->c->p, s->o)), IR_GLOBAL, true);
}

/* Chunk i's copy, from where to where it is there at all: inside, or NULL: it is.  */
static void copy(Kernel *k, const Side *s, Ir from, Ir inside, Ir wanted) {
    Cg *cg = k->cg;
    Ir tile = k->c->ring ? ring_tile(k, s, s->ring)
                         : ir_add(cg, smem_stage_at(k, s, operand_ring(k, s)->put),
                                  operand_at(k, s)->tile);
    ir_copy(cg, &(IrCopy){.mover = load_function(k, s),
                          .to = ir_add(cg, tile, ir_mul_n(cg, address_chunk(k, s), s->elem)),
                          .from = from,
                          .inside = inside ? inside : ir_bool(cg, true),
                          .wanted = wanted});
}

/* Opens a loop over the chunks of a group, of those that are `wanted`; gives the number in it.  */
static Ir open_group(Kernel *k, const Side *s, int size, Ir wanted) {
    Cg *cg = k->cg;
    Ir j = ir_count_of(cg, k->var.j, size, IR_UNROLL_ALL);
    Ir i = k->var.i;
    ir_define(cg, i, ir_add(cg, k->var.g, j));
    if (s->per_thread % size) {
        ir_if(cg, ir_binary(cg, IR_GE, i, ir_int(cg, s->per_thread)));
        ir_simple(cg, IR_STMT_BREAK);
        ir_close(cg);
    }
    if (wanted) ir_if(cg, wanted);
    return j;
}

static void close_group(Kernel *k, Ir wanted) {
    if (wanted) ir_close(k->cg);
    ir_close(k->cg);
}

/* Where chunk i comes from, and whether it is there.  */
static void place(Kernel *k, const Side *s, Ir from, Ir inside) {
    if (s->gathers) {
        load_gathered(k, s, from, inside);
        return;
    }
    ir_set(k->cg, from, address_source(k, s));
    ir_set(k->cg, inside, address_test(k, s));
}

/* Chunks whose positions come from tables: a group of reads, then a group of copies, since the
 * hardware waits where one kind of access to shared memory follows the other, and for what is read
 * from memory before each copy.  More: whether there
 * is anything to copy; NULL: there is.  */
static void load_groups(Kernel *k, const Side *s, int size, Ir wanted, Ir more) {
    Cg *cg = k->cg;
    Ir from = ir_array(cg, source_type(k, s), "from", size, 0, 0);
    Ir inside = ir_array(cg, ir_type(IR_BOOL), "inside", size, 0, 0);
    Ir j = open_group(k, s, size, wanted);
    place(k, s, ir_element(cg, from, j), ir_element(cg, inside, j));
    close_group(k, wanted);
    j = open_group(k, s, size, wanted);
    copy(k, s, ir_element(cg, from, j), ir_element(cg, inside, j), more);
    close_group(k, wanted);
}

static int group_size(const Side *s) {
    enum { GROUP = 8 };
    return s->per_thread < GROUP ? s->per_thread : GROUP;
}

static void open_groups(Kernel *k, const Side *s, int size, int unroll) {
    ir_for_of(k->cg, k->var.g, ir_int(k->cg, 0), ir_int(k->cg, s->per_thread), size, unroll);
}

static void load_chunks(Kernel *k, const Side *s, Ir live) {
    if (live) ir_if(k->cg, live);
    Ir source = address_source(k, s);
    copy(k, s, source, address_test(k, s), NULL);
    if (live) ir_close(k->cg);
}

/* The first steps' copies are instructions that run once: where they are many, a loop of groups,
 * none of which waits for the data of another.  */
void load_async(Kernel *k, const Side *s, bool first) {
    Cg *cg = k->cg;
    Ir live = address_live(k, s);
    k->group = first ? address_group(k, s) : 0;
    bool places = s->table || s->gathers;
    if (!k->group && !places) {
        ir_count_of(cg, k->var.i, s->per_thread, IR_UNROLL_ALL);
        load_chunks(k, s, live);
        ir_close(cg);
        return;
    }
    int size = k->group ? k->group : group_size(s);
    open_groups(k, s, size, k->group ? 1 : IR_UNROLL_ALL);
    if (places) {
        load_groups(k, s, size, live, NULL);
    } else {
        open_group(k, s, size, NULL);
        load_chunks(k, s, live);
        close_group(k, NULL);
    }
    ir_close(cg);
    k->group = 0;
}

/* Is chunk i of n copied behind this one of the rows?  */
static Ir behind(const Kernel *k, Ir row, int rows, int n) {
    const Cg *cg = k->cg;
    Ir own = ir_mul_n(cg, k->var.i, rows % n ? rows : rows / n);
    if (rows % n) own = ir_div(cg, own, ir_int(cg, n));
    return ir_binary(cg, IR_EQ, own, row);
}

/* Positions from tables: in groups as above, of which a row takes what it has.  */
static void load_group_row(Kernel *k, const Side *s, Ir row, int rows) {
    Ir wanted = ir_both(k->cg, behind(k, row, rows, s->per_thread), address_live(k, s));
    int size = group_size(s);
    open_groups(k, s, size, IR_UNROLL_ALL);
    load_groups(k, s, size, wanted, k->more);
    ir_close(k->cg);
}

void load_async_row(Kernel *k, const Side *s, Ir row, int rows) {
    Cg *cg = k->cg;
    if (s->table || s->gathers) {
        load_group_row(k, s, row, rows);
        return;
    }
    ir_count_of(cg, k->var.i, s->per_thread, IR_UNROLL_ALL);
    ir_if(cg, behind(k, row, rows, s->per_thread));
    Ir live = address_live(k, s), source = address_source(k, s), inside = address_test(k, s);
    copy(k, s, source, inside, ir_both(cg, k->more, live));
    ir_close(cg);
    ir_close(cg);
}
