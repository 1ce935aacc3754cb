#!/bin/sh
# roller-gen as a user sees it: streams, exit codes, artefacts, errors, hostile input.
. tests/tap
cd "$dir" || exit 1
gen=$BUILD/roller-gen
ROLLER_CACHE_DIR=$dir/kernels    # what was compiled is not compiled again

run() { status=$1 what=$2; shift 2; ends "$status" "$what" "$gen" "$@"; }

cat >mm.te <<'END'
param M = 64, N = 48, K = 32;
op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }
END
cat >two.te <<'END'
param N = 32;
op first(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1.0; }
op second(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 2.0; }
END

run 0 'plain run' mm.te && {
    try 'writes STEM.cu' test -s mm.cu
    has out 'mm: contract for h200 (sm_90a, datasheet profile)' 'the report names target and origin'
    has out 'predicted' 'the report predicts'
    try 'nothing on standard error' test ! -s err
    try 'writes nothing else' test "$(ls *.cubin *.ptx *.json 2>/dev/null | wc -l)" -eq 0
}
rm -f mm.cu
run 0 'dry run' --dry-run mm.te && try 'a dry run writes nothing' test ! -e mm.cu
run 0 'all artefacts' --emit=cu,ptx,cubin,json -o k.cu mm.te && {
    for f in k.cu k.sm_90a.ptx k.sm_90a.cubin k.json; do try "writes $f" test -s $f; done
    try 'STEM.json is JSON' python3 -m json.tool k.json
    try 'the source has no include' sh -c '! grep -q "#include" k.cu'
}
cp k.cu first.cu && cp k.sm_90a.cubin first.cubin
run 0 'again' --no-cache --emit=cu,cubin -o k.cu mm.te && {
    try 'same input, same source' cmp k.cu first.cu
    try 'same input, same cubin' cmp k.sm_90a.cubin first.cubin
}
run 0 'source on standard output' -o - mm.te && {
    has out '__global__' 'standard output carries the source alone'
    try 'and nothing else' sh -c '! grep -q predicted out'
    has err 'predicted' 'the report goes to standard error'
}
"$gen" --dry-run --dump=te - <mm.te >out 2>err && cp out again.te &&
    "$gen" --dry-run --dump=te again.te >out2 2>err && try 'a dump reads back' cmp out out2
run 0 'json' --json --emit=cu,json --check mm.te && {
    try 'the report is JSON' python3 -m json.tool out
    has out '"schema": "roller-report"' 'with its schema'
    has out '"ok": true' 'and its verdict'
    has out '"compared": 12288' 'and the outputs compared'
}
run 0 'check' --check --dry-run mm.te &&
    has out 'check: ok (integer, real, extreme and sparse data, 12288 of 12288 outputs, simulator)' 'the check counts'
run 0 'kernels one by one, given a maximum with what it is of' --check --dry-run --profile a100 -D B=1 -D H=2 \
    "$root/tests/cases/attention.te" && has out 'check: ok (real, extreme and sparse data' 'agree with the reference'
# A chain of one row in slices, whose block has 32 rows.
cat >row.te <<'END'
param L = 1, N = 96, D = 64;
op row(Q: f16[L,D], K: f16[N,D], V: f16[N,D]) -> O: f32[L,D] {
  t[i,j] = sum[d](Q[i,d] * K[j,d]);
  m[i] = max[j](t[i,j]);
  z[i] = sum[j](exp(t[i,j] - m[i]));
  O[i,e] = sum[j](f16(exp(t[i,j] - m[i]) / z[i]) * V[j,e]);
}
END
cat >row.plan <<'END'
roller-plan 1
statement 0 tiled
statement 3 joined
kernel 0
  skeleton chain
  unit mma.m16n8k16.f16.f32
  block 1 32 16 64 64
  warp 1 16 16 64 64
  thread 1 16 8 16 1
  vec 1 2
  stages 1
  a async cp.async.16 vec 8 along k inner k swizzle 3 0 0
  b async cp.async.16 vec 8 along k inner k swizzle 3 0 0
  v async cp.async.16 vec 8 along n inner n swizzle 3 0 0
  store 2
  raster row
  split 3
  keep registers
  blocks_per_sm 8
END
run 0 'slices of one row' --check --dry-run --profile h200 --plan row.plan row.te &&
    has out 'check: ok (real, extreme and sparse data, 256 of 256 outputs' 'write no row too many'
run 0 'counters' --counters --dry-run mm.te && {
    has out 'shared load wavefronts' 'counters are shown'
    has out 'model *least block *mean *most block$' 'with those of a block'
}
run 0 'counters as JSON' --counters --dry-run --json mm.te && {
    has out '"per_block": \[' 'JSON has every block'
    try 'they add up' python3 -c 'import json
c = json.load(open("out"))["results"][0]["check"]["counters"]
assert len(c["per_block"]) == c["blocks_run"] > 1
for l in c["lines"]:
    if "least_block" not in l: continue
    v = [b[l["name"]] for b in c["per_block"]]
    assert sum(v) == l["counted"], l
    assert (min(v), max(v)) == (l["least_block"], l["most_block"]), l
    assert abs(sum(v) / len(v) - l["mean_block"]) < 1e-6, l'
}
cat >scales.te <<'end'
param M = 1..40, N = 24, K = 32..96 % 32;
op f(A: f8e4m3[M,K], SA: f8ue8m0[M,K/32], B: f8e4m3[N,K], SB: f8ue8m0[N,K/32]) -> C: f32[M,N] {
  C[m,n] += A[m,k] * SA[m,k/32] * (B[n,k] * SB[n,k/32]);
}
end
run 0 'scales of blocks at run-time sizes' --explain --check --dry-run --profile rtx5090 scales.te && {
    has out 'scales of blocks: applied by mma.m16n8k32.mxf8f6f4.f8e4m3.f32' 'a unit applies them'
    has out 'check: ok (integer, real, extreme and sparse data, 3 size sets' 'at every size'
}
run 0 'explain' --explain --dry-run mm.te && try 'explains' test "$(wc -l <out)" -gt 10
cat >pair.te <<'END'
op pair(X: f32[64,64], A: f32[64,64], B: f32[64,64]) -> Y: f32[64,64] {
  s[m,n] = sum[k](X[m,k] * A[k,n]);
  Y[m,e] = sum[n](max(s[m,n], 0) * B[n,e]);
}
END
run 0 'explain products that stay apart' --explain --dry-run --profile a100 pair.te &&
    has out 'there is no program: of units for its first product' 'why there is no kernel for both'
run 0 'several dumps' --dry-run --dump=te,access,tiles,plan,lowered,source,resources mm.te && {
    for s in te access tiles plan lowered source resources; do has out "^# == $s ==" "dump $s"; done
}
run 0 'plan dump' --dry-run --dump=plan mm.te && cp out mm.plan &&
    run 0 'plan read back' --dry-run --dump=plan --plan mm.plan mm.te &&
    try 'the plan is the same' cmp out mm.plan
run 0 'fast compilation' --json --fast-compile --dry-run --plan mm.plan mm.te &&
    has out '"level": 2' 'is told of the kernel'
run 0 'einsum' --einsum 'mk:f16,kn:f16->mn:f32' -D m=64 -D n=64 -D k=64 --dry-run --dump=te && {
    has out 'op einsum(in0: f16\[m,k\], in1: f16\[k,n\]) -> out: f32\[m,n\]' 'as an op'
    has out 'out\[_m,_n\] += in0\[_m,_k\] \* in1\[_k,_n\];' 'with its product'
}
run 0 'einsum with sizes known at run time' --einsum 'mk, k' -D m=1..9 -D k=8 --check &&
    has out 'check: ok' 'is proved' && try 'and written' test -s einsum.cu
run 0 'ops of an einsum' --einsum 'ij->ji' -D i=2 -D j=3 --list-ops && has out 'einsum(' 'are listed'
run 1 'einsum with a mistake' --einsum 'mk,kn->mx' -D m=4 && {
    has err "^<einsum>:1:8: error: no operand has the 'x' of the result" 'has a place'
    has err '^  mk,kn->mx$' 'and its line'
}
run 1 'einsum without sizes' --einsum 'i,i' && has err 'hint: give one: -D i=N' 'says how to give one'
run 2 'einsum and a file' --einsum 'i,i' mm.te && has err 'contradict each other' 'contradict'
run 2 'einsum and -M' --einsum 'i,i' -M && has err 'einsum' 'contradict'
cat >tail.te <<'END'
param R = 1..64, S = 1..8;
op f(A: f32[R,S]) -> Y: f32[R] { Y[r] = sum[k](A[r,k]) where k in 1:S; }
END
cat >tail.plan <<'END'
roller-plan 1
upto s0 64 s1 2 take 1
else take 0
kernel 0
  skeleton row
  unit ffma
  block 1 64 8 1
  thread 1 1 2 1
  store 1
  split 1
  keep registers
  blocks_per_sm 6
kernel 1 of 0
  skeleton row
  unit ffma
  block 1 64 1 1
  thread 1 1 1 1
  store 1
  split 1
  keep registers
  blocks_per_sm 32
END
run 0 'rows without columns at run time' --profile a100 --plan tail.plan --check --device sim --at R=64 \
    --at S=1 --dry-run tail.te && has out 'check: ok' 'read nothing'
cat >turned.te <<'END'
op turned(X: f32[8192,8192]) -> Y: f32[8192,8192] { Y[i,j] = X[j,i] + 1; }
END
cat >stream.plan <<'END'
roller-plan 1
kernel 0
  skeleton stream
  unit ffma
  block 1 32 1 1
  thread 1 1 1 1
  store 1
  blocks_per_sm 32
END
run 0 'a plan of the user' --plan stream.plan -o - --check turned.te && {
    has out '(unsigned)' 'offsets whose terms leave an int are summed modulo 2^32'
    has err 'check: ok' 'and are right at the last element'
}

# What slices of columns leave lies in the workspace beside the result, which one compiler (NVRTC
# 13.0) stores beyond both when the loop over the slices and the store share a position.
cat >sliced.te <<'END'
param N = 2..5, K = 3..160;
op sliced(A: f64[K,N], B: f64[N,K]) -> Y: f64[N,K] {
  at[n] = argmax[k](A[k,n]) where n in 0:N;
  Y[n,k] = (B[n, k + at[n]] else 0.0);
}
END
cat >sliced.plan <<'END'
roller-plan 1
kernel 0
  skeleton column
  unit imad
  block 1 8 1 8
  thread 1 1 1 1
  store 1
  split 11
  blocks_per_sm 24
kernel 1
  skeleton stream
  unit dfma
  block 1 256 1 1
  thread 1 1 1 1
  store 1
  blocks_per_sm 8
END
run 0 'slices beside their result' --plan sliced.plan --check --dry-run sliced.te &&
    has out 'check: ok' 'are right'
run 0 'ranking' --dry-run --top 4 mm.te && has out '#4 ' 'four plans are shown'
run 0 'sizes from the command line' --dry-run --dump=te -D M=128 -DN=16 mm.te &&
    has out 'param M = 128' 'the size is set'
run 0 'several targets' --profile h200,a100 --emit=cu,json -o t.cu mm.te && {
    try 'one source per target' test -s t.sm_90a.cu -a -s t.sm_80.cu
    try 'one description' test "$(python3 -c 'import json;print(len(json.load(open("t.json"))["targets"]))')" = 2
}
run 0 'arch picks its profile' --dry-run --arch sm_80 mm.te && has out 'a100' 'sm_80 means a100'
run 2 'code of a newer arch than the profile' --dry-run --profile a100 --arch sm_86 mm.te &&
    has err 'take a profile of sm_86, as --arch does alone' 'says what to do'
run 0 'alone' --dry-run --arch sm_86 mm.te && has out 'for a10 (sm_86' 'sm_86 means a10'
run 0 'every op' --op all two.te &&
    try 'files are named by op' test -s two.first.cu -a -s two.second.cu
run 0 'quiet' -q -o q.cu mm.te && try 'says nothing' test ! -s out -a ! -s err
run 0 'make rule' -M mm.te && has out '^mm.cu: mm.te' 'the rule names input and output'
run 0 'list of ops' --list-ops two.te && has out 'second(X: f32\[32\]) -> (Y: f32\[32\])' 'ops are listed'
run 0 'list of profiles' --list-profiles && has out '^h200 ' 'h200 is listed'
try 'profiles of a build are found from any folder' sh -c 'cd / && env -u ROLLER_PROFILE_PATH \
    "$0" --list-profiles | grep -q "^h200 "' "$BUILD/roller-gen"
run 0 'list of archs' --list-arch && has out 'sm_90a' 'sm_90a is listed'
run 0 'help' --help && has out 'usage: roller-gen' 'help is help'
run 0 'version' -V && has out '^roller-gen [0-9]' 'version is a version'

# ---- arrays ----
python3 - <<'END'
import struct
def npy(name, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (tuple(shape),)
    head += ' ' * ((64 - (len(head) + 11) % 64) % 64) + '\n'
    open(name, 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode()
                           + struct.pack('<%df' % len(values), *values))
npy('a.npy', (64, 32), [(i * 7 % 11) - 5 for i in range(64 * 32)])
npy('b.npy', (32, 48), [(i * 5 % 13) - 6 for i in range(32 * 48)])
npy('wrong.npy', (32, 47), [0] * (32 * 47))
END
run 0 'arrays' --dry-run --in A=a.npy --in B=b.npy --out C=c.npy mm.te && try 'the result is right' python3 -c '
import struct
f = open("c.npy", "rb").read()
n = struct.unpack("<H", f[8:10])[0]
c = struct.unpack("<%df" % (64 * 48), f[10 + n:])
a = [(i * 7 % 11) - 5 for i in range(64 * 32)]
b = [(i * 5 % 13) - 6 for i in range(32 * 48)]
for m in range(64):
    for j in range(48):
        assert c[m * 48 + j] == sum(a[m * 32 + k] * b[k * 48 + j] for k in range(32))'
sizes='-D M=4..256%4 -D N=48 -D K=8..32%8'
run 0 'arrays of sizes known at run time' --dry-run $sizes --in A=a.npy --in B=b.npy --out C=s.npy \
    mm.te && try 'give the same result' cmp c.npy s.npy
run 1 'array of a size that is not promised' --dry-run -D M=60..256%60 --in A=a.npy mm.te &&
    has err "M = 64 is not a multiple of 60 (dimension 0 of argument 'A')" 'names the promise' &&
    has err 'relies on the % 60' 'says what to do'
run 0 'check at a size' --dry-run --check --device sim $sizes --at M=12 --at K=16 mm.te &&
    has out 'predicted .* at M=12, K=16' 'predicts for it' &&
    has out 'check: ok (.* of 2304 outputs' 'checks there alone'
run 1 'array of another shape' --dry-run --in B=wrong.npy mm.te && has err "needs an array" 'says which shape'
run 2 'array for nobody' --dry-run --in Z=a.npy mm.te && has err "'Z' is no input" 'says so'

# ---- errors ----
run 2 'unknown option' --chekc mm.te && has err 'did you mean --check' 'suggests the option'
run 2 'no input' --check && has err 'usage:' 'shows the usage'
run 2 'contradiction' --json -o - mm.te && has err 'contradict' 'names the contradiction'
run 1 'several ops' two.te && has err 'first, second' 'names the ops'
run 3 'no such file' nowhere.te && has err 'nowhere.te' 'names the file'
run 3 'no such profile' --profile h300 mm.te && has err 'h200' 'lists the profiles'
run 3 'arch too old for this NVRTC' --profile v100 -o v.cu mm.te && {
    has err '12.9' 'names a version that fits'
    try 'the source is still written' test -s v.cu
}
printf 'op f(A: f32[4]) -> C: f32[4] { C[i] = A[j]; }\n' >bad.te
run 1 'wrong expression' bad.te && {
    has err '^bad.te:1:41: error: ' 'place of the error'
    has err '\^' 'caret'
    has err 'hint' 'hint'
    try 'writes nothing' test ! -e bad.cu
}
run 1 'wrong expression as JSON' --json bad.te && {
    try 'still JSON' python3 -m json.tool out
    has out '"line": 1' 'with the place'
}
echo 'roller-plan 1' >bad.plan
run 1 'wrong plan' --plan bad.plan mm.te && has err '^bad.plan:' 'place in the plan'
printf 'roller-plan 1\nkernel 0\n  skeleton contract\n  unit ffma scaled\n' >unscaled.plan
run 1 'a plan with scales that the sums do not have' --plan unscaled.plan mm.te &&
    has err "^unscaled.plan:4:13: error: the sums of this kernel cannot be 'scaled'" 'where the plan says so'
mkdir closed && chmod 555 closed
[ "$(id -u)" -eq 0 ] || run 3 'closed folder' -o closed/x.cu mm.te
run 3 'no such folder' -o none/x.cu mm.te && has err 'none' 'names the folder'

# ---- values: understood, or refused by the option's name ----
# refused PATTERN OPTION...: by usage, and by these words.
refused() {
    words=$1
    shift
    run 2 "$*" "$@" mm.te && has err "$words" "$* is refused"
}
refused '^roller-gen: error: --top does not take .0.$' --top 0
refused 'a whole number of seconds (or 5m, 2h, 1d) from 1' --measure --time-limit 5w
refused '^roller-gen: error: --trials is for --measure$' --trials 2
refused 'a whole number of bytes' --workspace-limit=1T
refused '^roller-gen: error: --color does not take .red.$' --color=red
refused '^roller-gen: error: --emit does not take .exe.$' --emit cu,exe
refused '^roller-gen: error: --in does not take .A.$' --in A
refused 'no ptx is made for pocl: its kernels are opencl c 1.2' --profile pocl --emit cl,ptx
refused 'no cu is made for pocl' --profile pocl -o x.cu
refused 'no cl is made for a100: its kernels are cuda' --profile a100 --emit cl
refused 'kernels for pocl are opencl c 1.2: neither NVRTC' --profile pocl --measure --top 1
refused 'did you mean --dry-run' --dryrun
refused 'did you mean --dry-run' -dry-run
refused 'did you mean --dry-run' --dry_run=1
refused 'lists the options' -x
refused 'write M=1000, or M=1024' -D M=1k
refused 'did you mean sm_90a' --arch 90
run 3 'a profile that is nearly there' --profile h20 mm.te && has err 'did you mean h200' 'is suggested'
run 0 'values with units' --dry-run --profile H200 --workspace-limit 1G --check-budget 1m mm.te &&
    has out 'mm: contract for h200' 'a GPU in capitals is the same'
for arch in 80 sm80 compute_80 8.0; do
    run 0 "--arch $arch" --dry-run --arch $arch mm.te && has out '(sm_80,' "$arch is sm_80"
done
run 0 'progress' --dry-run --progress=always --check mm.te &&
    has err '^mm for sm_90a: checking$' 'is on standard error'
run 0 'no progress' --dry-run --progress=never mm.te && is 'and none' ! -s err

# ---- where artefacts go ----
run 0 'the ending of -o' --emit cubin,ptx -o a.cubin mm.te && {
    is 'names the main artefact' "$(head -c 4 a.cubin | tail -c 3)" = ELF
    try 'and its stem the other' grep -q '^.version' a.sm_90a.ptx
}
run 0 'an ending alone' -q -o b.ptx mm.te && try 'is what is emitted' grep -q '^.version' b.ptx
refused 'names an artefact that --emit does not list' --emit cu -o c.cubin
ROLLER_NVRTC=/nowhere
export ROLLER_NVRTC
run 0 'OpenCL C without NVRTC' --profile pocl --op first --emit cl,json -o one.cl two.te && {
    try 'is written' grep -q '^__kernel' one.cl
    try 'and described' grep -q '"arch": "cl1.2"' one.json
}
run 2 'proving it' --profile pocl --op first --dry-run --check two.te &&
    has err 'neither NVRTC nor the simulator takes them' 'is refused'
unset ROLLER_NVRTC
# Where there is no compiler either, the file is refused first.
for file in none/x.cu . closed/ mm.te/x.cu; do
    ROLLER_NVRTC=/nowhere
    export ROLLER_NVRTC
    run 3 "-o $file" -o $file mm.te && has err "^roller-gen: error: cannot write '" "$file is refused" &&
        has err 'hint' 'with a hint' && is 'before anything else' "$(grep -c NVRTC err)" = 0
    unset ROLLER_NVRTC
done
run 3 'an output nowhere' --dry-run --out C=none/c.npy mm.te && has err none/c.npy 'is named'
for options in '-o -' '--dump te --dry-run' '--json --dry-run' '--help' '--list-profiles'; do
    "$gen" $options mm.te >/dev/full 2>err </dev/null
    is "$options to a full device" $? -eq 3
    has err 'cannot write standard output: No space left' 'says why'
done
"$gen" --dry-run mm.te >&- 2>err </dev/null
is 'a closed standard output' $? -eq 3
has err 'cannot write standard output' 'says why'
"$gen" -o shut.cu mm.te >&- 2>/dev/null </dev/null
is 'is no file that is written' "$(grep -c predicted shut.cu)" = 0
is 'kernels that wait for none' "$(grep -c '"waits_for_previous": true' k.json)" = 0

# ---- bytes that are not to be seen ----
printf 'op f(A: f32[4]) -> C: f32[4] { C[i] = A[i] \302\233\342\200\256\377 ; }\n' >odd.te
run 1 'bytes that a terminal acts on' odd.te && has err 'u009b' 'are shown by number' &&
    is 'alone' "$(LC_ALL=C tr -d '\n -~' <err | wc -c)" -eq 0

# ---- devices: none, then the simulated driver; all is measured ----
ROLLER_CACHE_DIR=
run 3 'no driver' --measure mm.te && {
    has err 'there is no CUDA driver: /nowhere/libcuda.so.1' 'says what is missing'
    has err 'hint: install the NVIDIA driver' 'says what to install'
}
run 3 'a device without a driver' --check --device 0 mm.te
run 0 'a check without a driver' --check mm.te && has out 'simulator)' 'runs in the simulator'
run 2 'measuring the simulator' --measure --device sim mm.te
run 2 'a time limit of nothing' --time-limit 5 mm.te
if [ -e "$BUILD/simdriver/libcuda.so.1" ]; then
    ROLLER_LIBCUDA=$BUILD/simdriver/libcuda.so.1 ROLLER_SIM_PROFILE=a100
    export ROLLER_SIM_PROFILE
    a100='--profile a100 --watchdog 2'
    rm -f mm.cu
    run 0 'measure' --measure --top 2 $a100 --emit cu,json mm.te && {
        has out 'measured   on NVIDIA A100.*, by events$' 'names the device, and what told the times'
        has out 'NVIDIA A100-SXM4-80GB (simulated)' 'says that it is simulated'
        has out '#2 .* us .* %' 'a row per plan'
        has out 'taken' 'one plan is taken'
        try 'writes the kernel' test -s mm.cu
        has mm.json '"cold_us"' 'the launch description has the time'
        has mm.json '"on": "NVIDIA A100-SXM4-80GB (simulated)"' 'and what it was measured on'
    }
    run 0 'measure as JSON' --measure --top 2 $a100 --json --dry-run mm.te && {
        has out '"warm_us"' 'JSON has the times'
        has out '"on": "NVIDIA A100-SXM4-80GB (simulated)"' 'and where they come from'
        has out '"rejected": null' 'JSON has what was rejected'
    }
    printf 'op %s(A: f32[%s]) -> C: f32[%s] { C[i] = A[i] + 1; }\n' p 64 64 q 1048576 1048576 \
        r 1048576 1048576 >three.te
    run 0 'measure several ops' --measure --top 3 --trials 1 $a100 --op all --no-cache --emit cu \
        three.te && {
        is 'the longest is timed, for all that are the same' \
            "$(awk '/^[pqr]: / { op = $1 } / us .* %/ { printf "%s", op }' out)" = q:r:
        try 'of the others the first plan is made' test -s three.p.cu
    }
    echo 'op mm(A: f16[16,1024], B: f16[1024,1024]) -> C: f16[16,1024]
        { C[m,n] += A[m,k] * B[k,n]; }' >warm.te
    ROLLER_SIM_PROFILE=h100 run 0 'measure with warm L2' --measure --top 1 --profile h100 --json \
        --dry-run --no-cache warm.te &&
        try 'a kernel with warm L2 takes its launch, and no longer than with a cold one' python3 -c \
            "import re; t = open('out').read(); us = [float(re.search(f'\"{k}\": ([0-9.e-]+)', t)[1])
for k in ('warm_us', 'cold_us')]; assert 1.3 < us[0] < us[1], us"
    run 0 'check on the device' --check --device 0 $a100 mm.te &&
        has out 'NVIDIA A100-SXM4-80GB (simulated))' 'names the device it ran on'
    run 0 'check on the device that is there' --check $a100 mm.te &&
        has out 'NVIDIA A100-SXM4-80GB (simulated))' 'takes device 0'
    run 0 'check for another device' --check --profile h200 mm.te &&
        has out 'simulator)' 'a kernel that does not fit runs in the simulator'
    run 3 'measure for another device' --measure --profile h200 mm.te &&
        has err 'sm_90a does not run on NVIDIA A100' 'names both'
    run 3 'unknown device' --check --device 5 $a100 mm.te &&
        has err 'the driver sees 0: NVIDIA A100' 'lists the devices'
    rm -f c.npy
    run 0 'arrays on the device' --dry-run $a100 --in A=a.npy --in B=b.npy --out C=d.npy mm.te && {
        has out 'ran        on NVIDIA A100' 'takes the device that is there'
        run 0 'arrays in the simulator' --dry-run --device sim $a100 --in A=a.npy --in B=b.npy \
            --out C=c.npy mm.te && has out 'ran        on simulator' 'sim is the simulator'
        try 'both give the same bits' cmp c.npy d.npy
    }
    run 0 'data of its own, checked as well' --dry-run --check --device 0 $a100 --out C=e.npy mm.te &&
        has out 'check: ok' 'both are done'
    run 0 'arrays for another device' --dry-run --profile h200 --out C=e.npy mm.te &&
        has out 'ran        on simulator' 'a kernel that does not fit runs in the simulator'
    run 3 'arrays for a device that is not there' --dry-run --device 7 $a100 --out C=e.npy mm.te
    ROLLER_SIM_FAULTS=kernel@1=716
    export ROLLER_SIM_FAULTS
    rm -f e.npy
    run 5 'a fault on the caller'"'"'s data' --dry-run --device 0 $a100 --out C=e.npy mm.te && {
        has err 'CUDA_ERROR_MISALIGNED_ADDRESS' 'names the fault'
        try 'writes no output' test ! -e e.npy
    }
    ROLLER_SIM_FAULTS=kernel@1=hang
    run 5 'a hang on the caller'"'"'s data' --dry-run --device 0 --profile a100 --watchdog 1 \
        --out C=e.npy mm.te && has err 'hang: it did not end within 1 s' 'names the hang'
    ROLLER_SIM_FAULTS=cuMemAlloc=2
    run 3 'no memory for the caller'"'"'s data' --dry-run --device 0 $a100 --out C=e.npy mm.te &&
        has err 'CUDA_ERROR_OUT_OF_MEMORY' 'names the failure'
    ROLLER_SIM_FAULTS=version=11020
    run 3 'an old driver' --measure $a100 mm.te &&
        has err 'driver is 11.2; roller needs 11.4' 'names the version needed'
    ROLLER_SIM_FAULTS=kernel@1=719
    run 5 'a kernel that faults' --check $a100 mm.te &&
        has err 'CUDA_ERROR_LAUNCH_FAILED' 'names the fault'
    ROLLER_SIM_FAULTS=kernel@3=hang
    run 5 'a kernel that hangs' --measure --top 1 --profile a100 --watchdog 1 mm.te &&
        has err 'hang: it did not end within 1 s' 'names the hang'
    rm -f mm.cu
    ${CC:-cc} -std=c11 -O2 -fPIC -shared "$root/tests/signals.c" -o signal.so -ldl
    # at MOMENT: the command as a terminal's program, which SIGTERM meets there.
    at() { env --default-signal=TERM LD_PRELOAD="$dir/signal.so" SIGNAL_AT="$1:15" "$gen" $2 mm.te; }
    ends 143 'a signal ends a measurement' at wait:40 \
        '--measure --top 2 --profile a100 --watchdog 60' && is 'and leaves nothing' ! -e mm.cu
    # What hangs on a device does not outlive the process that watches it.
    "$gen" --measure --top 2 --profile a100 --watchdog 60 mm.te >out 2>err </dev/null &
    pid=$! child= turns=0
    while [ -z "$child" ] && kill -0 $pid 2>/dev/null; do
        child=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
    done
    kill -KILL $pid
    wait $pid 2>/dev/null
    child=${child%% *}
    state() { sed 's/.*) \(.\).*/\1/' "/proc/$child/stat" 2>/dev/null; }
    while [ $turns -lt 300 ] && [ "$(state)" ] && [ "$(state)" != Z ]; do
        sleep 0.1
        turns=$((turns + 1))
    done
    is 'a child ends with a process that is killed' -n "$child" -a $turns -lt 300
    unset ROLLER_SIM_FAULTS
    # The third child measures the second plan: then the first one has its time.
    ends 143 'a signal between two plans' at spawn:3 "--measure --top 12 $a100" &&
        is 'the best so far is written' -s mm.cu
    has out 'taken' 'and the report says which'
    has out 'stopped' 'and which were not measured'
    unset ROLLER_SIM_PROFILE
    ROLLER_LIBCUDA=/nowhere/libcuda.so.1
fi

# ---- hostile input: a clear error within 512 MiB, nothing written ----
hostile() {
    rm -f hostile.cu
    (ulimit -v 524288; "$gen" hostile.te >out 2>err </dev/null)
    status=$?
    if [ $status -eq 1 ] && [ -s err ] && [ ! -e hostile.cu ] && [ "$(wc -c <err)" -lt 20000 ]; then
        ok "hostile: $1"
    else
        echo "# exit $status"
        bad "hostile: $1"
    fi
}
{ printf 'param '; head -c 65536 /dev/zero | tr '\0' a; echo ' = 1;'; } >hostile.te
hostile 'identifier of 64 KiB'
{ printf 'op f(A: f32[4]) -> C: f32[4] { C[i] = '; head -c 1000000 /dev/zero | tr '\0' '('; } >hostile.te
hostile 'a million parentheses'
printf 'op f(A: f32[4611686018427387904,4]) -> C: f32[4] { C[i] += A[k,i]; }' >hostile.te
hostile 'extents of 2^62'
printf 'op f(A: f32[4]) -> C: f32[4] { C[i] = A[i]\0; }' >hostile.te
hostile 'NUL byte'
head -c 70000 /dev/urandom >hostile.te
hostile 'noise'
{ printf 'op f(A: f32[4]) -> C: f32[4] { C[i] = A[i]'; i=0
  while [ $i -lt 8000 ]; do printf ' + A[i]*%d' $i; i=$((i + 1)); done; printf '; } }'; } >hostile.te
hostile 'a long sum with one brace too many'
head -c 2000000 /dev/zero | tr '\0' ' ' >hostile.te
hostile 'two megabytes of nothing'
head -c 17000000 /dev/zero | tr '\0' ' ' >hostile.te
hostile 'seventeen megabytes of nothing' && has err 'has more than 16777216 bytes' 'names the limit'
head -c 900 "$root/profiles/h200.json" >cut.json
run 1 'truncated profile' --profile ./cut.json mm.te && has err 'cut.json' 'names the profile'
sed 's/"value": [0-9.e+]*/"value": NaN/' "$root/profiles/h200.json" >nan.json
run 1 'NaN in a profile' --profile ./nan.json mm.te && has err 'nan.json' 'names the profile'

# ---- outputs that are inputs ----
mkdir apart && cd apart
te='op f(X: f32[64]) -> Y: f32[64] { Y[i] = X[i] + 1; }'
echo "$te" >k.te && cp k.te keep
ln -s k.te link.cu && ln k.te hard.cu && cp k.te o.cu && cp "$root/profiles/a100.json" own.json
cp own.json kept.json
# apart NAME OPTION...: refused, and nothing is there that was not.
apart() {
    name=$1
    shift
    before=$(ls)
    ends 2 "$name" "$BUILD/roller-gen" --profile a100 "$@" && {
        if grep -q 'would replace the input' err && [ "$(ls | grep -v '^out$\|^err$')" = "$before" ] &&
            cmp -s k.te keep && cmp -s own.json kept.json; then ok "$name is refused"
        else bad "$name is refused"; fi
    }
    rm -f out err
}
apart 'the input as an output' --emit cu -o k.te k.te
apart 'an output that is a link to the input' -o link.cu k.te
apart 'an output that is the input by another name' -o hard.cu k.te
apart 'a source of the default name' o.cu
apart 'a description over a profile' --profile ./own.json --emit json -o own.json k.te
apart 'a second artefact over a profile' --profile ./own.json --emit cu,json -o own.cu k.te
cp keep k.d
apart 'a rule of make over a plan' --plan k.d -MD -o k.ptx --emit ptx k.te
cd ..
