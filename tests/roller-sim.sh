#!/bin/sh
# roller-sim as a user sees it: a kernel of one's own, faults, errors, streams, exit codes.
. tests/tap
cd "$dir" || exit 1

run() { status=$1 what=$2; shift 2; ends "$status" "$what" "$BUILD/roller-sim" "$@" && ok "$what"; }

# A .npy of f32: its shape text, then the values as octal bytes.
npy() {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f4', 'fortran_order': False, 'shape': ($1,), }"
    printf "$2"
}
npy 4 '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100' >x.npy   # 1 2 3 4

cat >add.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .f32 s, .param .u64 y)
{
.reg .b32 %r;
.reg .f32 %f<3>;
.reg .b64 %l<5>;
ld.param.u64 %l0, [x];
ld.param.f32 %f0, [s];
ld.param.u64 %l1, [y];
mov.u32 %r, %tid.x;
mul.wide.u32 %l2, %r, 4;
add.u64 %l3, %l0, %l2;
add.u64 %l4, %l1, %l2;
ld.global.f32 %f1, [%l3];
add.f32 %f2, %f1, %f0;
st.global.f32 [%l4], %f2;
ret;
}
END

# ---- what is no kernel ----
: >empty.ptx
run 2 'an empty file' empty.ptx && has err 'empty.ptx has no kernel' 'is told'
run 2 'a size that is no number' --grid 4,x add.ptx && has err "^roller-sim: error: --grid does not take 'x'" 'names the option'
run 3 'a folder' . && has err 'this is a folder' 'is told'
"$BUILD/roller-sim" --help >/dev/full 2>err </dev/null
is 'help to a full device' $? -eq 3
has err 'cannot write standard output: No space left' 'says why'
run 0 "a kernel in PTX runs" add.ptx --block 4 --in x=x.npy --in s=0.5 --alloc 'y=f32[4]' \
    --out y=y.npy --counters
has out '^add: ok, 1 blocks, 11 warp instructions' "the report says what was run"
has out ' 1 *1 *1  global load requests' "counters are printed, for the launch and for a block"
tail -c 16 y.npy >got
printf '\000\000\300\077\000\000\040\100\000\000\140\100\000\000\220\100' >want    # 1.5 .. 4.5
if cmp -s got want; then ok "the output is right"; else bad "the output is right"; fi
run 5 "a fault is exit code 5" add.ptx --block 5 --in x=x.npy --in s=1 --alloc 'y=f32[5]'
has out 'thread (4,0,0): access outside every allocation' "the fault names its thread"
run 5 "faults in JSON" add.ptx --block 5 --in 0=x.npy --in 1=1 --alloc '2=f32[5]' --json
has out '"fault_count": 1' "JSON counts the faults"
run 0 "counters in JSON" add.ptx --grid 2 --block 2 --in 0=x.npy --in 1=1 --alloc '2=f32[5]' \
    --json --counters --no-races
has out '"block": 1' "JSON has the counters of every block"
run 2 "a parameter left out" add.ptx --in x=x.npy --in s=1
has err "parameter 'y' is not given" "says which"
run 2 "a parameter that does not exist" add.ptx --in z=1
has err 'it has x s y' "lists those that do"
run 2 "an option that does not exist" add.ptx --gird 4
run 2 "no input" --grid 4
run 3 "a file that does not exist" no.ptx
run 0 "help" --help
has out '--entry NAME' "help lists the options"
printf '.version 9.0\n.target sm_90\n.entry k() {\nfoo.b32 x;\n}\n' >bad.ptx
run 4 "an unknown instruction" bad.ptx
has err '^bad.ptx:4:1: error: unknown instruction foo.b32' "names it with its line"

cat >calls.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 o) vprintf(.param .b64 f, .param .b64 a);
.func (.param .b32 o) twice(.param .b32 i) {
.reg .b32 %r;
ld.param.b32 %r, [i];
add.u32 %r, %r, %r;
st.param.b32 [o], %r;
ret;
}
.global .u64 table[1] = {twice};
.global .align 1 .b8 text[4] = {37, 100, 10, 0};
.visible .entry calls(.param .u64 y) {
.local .align 8 .b8 v[8];
.reg .b32 %r;
.reg .b64 %l<4>;
ld.global.u64 %l0, [table];
{
.param .b32 i;
.param .b32 o;
st.param.b32 [i], 21;
p: .callprototype (.param .b32 _) _ (.param .b32 _);
call (o), %l0, (i), p;
ld.param.b32 %r, [o];
}
st.local.b32 [v], %r;
mov.u64 %l1, text;
mov.u64 %l2, v;
cvta.local.u64 %l2, %l2;
{
.param .b64 f;
.param .b64 a;
.param .b32 o;
st.param.b64 [f], %l1;
st.param.b64 [a], %l2;
call (o), vprintf, (f, a);
}
ret;
}
.visible .entry fine(.param .u64 y) { ret; }
.visible .entry odd(.param .u64 y) { frob; ret; }
END
run 0 "a kernel that calls by address and prints" calls.ptx --entry calls --in y=0
has out '^42$' "prints to standard output"
run 0 "the same in JSON" calls.ptx --entry calls --in y=0 --json
has out '"printed": "42.n"' "JSON has what was printed"
run 0 "a kernel beside an unknown instruction" calls.ptx --entry fine --in y=0
run 4 "a kernel that reaches it" calls.ptx --entry odd --in y=0
has err '^calls.ptx:42:38: error: unknown instruction frob' "names it with its line"

cat >map.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry map(.param .align 64 .b8 a[128], .param .u64 y) {
.shared .align 128 .b8 tile[128];
.shared .align 8 .b64 bar;
.reg .b64 %l<4>;
.reg .b32 %r<8>;
.reg .pred %p;
mov.b64 %l0, a;
cvta.param.u64 %l0, %l0;
ld.param.u64 %l1, [y];
mbarrier.init.shared.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%l0, {0, 2}], [bar];
W: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;
@!%p bra W;
ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [tile+16];
st.global.v4.b32 [%l1], {%r0, %r1, %r2, %r3};
ret;
}
END
{
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<i4', 'fortran_order': False, 'shape': (8, 4), }"
    printf '%b' "$(printf '\\%03o\\000\\000\\000' $(seq 1 32))"
} >grid.npy
run 2 "a tensor map without a box" map.ptx --in a=grid.npy --alloc 'y=i32[4]'
has err "^roller-sim: hint: --tensormap a=box=" "says how to write it"
run 2 "a tensor map with a wrong box" map.ptx --in a=grid.npy --alloc 'y=i32[4]' --tensormap a=box=8
has err 'as many dimensions as the array' "says what is wrong"
run 5 "a missing fence with --strict" map.ptx --in 0=grid.npy --alloc '1=i32[4]' --strict \
    --tensormap 0=box=8x4
run 0 "a tensor map" map.ptx --in 0=grid.npy --alloc '1=i32[4]' --out 1=tile.npy --tensormap 0=box=8x4
has out '^warning: .*no fence.mbarrier_init' "a missing fence is a warning"
tail -c 16 tile.npy >got
printf '\015\000\000\000\016\000\000\000\017\000\000\000\020\000\000\000' >want     # 13 .. 16
if cmp -s got want; then ok "the tile is right"; else bad "the tile is right"; fi
sed 's/version 8.0/version 12.3/' add.ptx >newer.ptx
run 0 "a newer PTX than is known" newer.ptx --block 4 --in x=x.npy --in s=0.5 --alloc 'y=f32[4]'

# ---- outputs that are inputs ----
ln -s x.npy same.npy && cp x.npy kept.npy
run 2 'an output that is the input' add.ptx --block 4 --in x=x.npy --in s=1 --out x=same.npy
has err "'same.npy' would replace the input 'x.npy'" 'says which'
run 2 'an output that is the kernel' add.ptx --block 4 --in x=x.npy --in s=1 --out x=add.ptx
is 'the input is as it was' "$(cmp x.npy kept.npy && echo same)" = same
