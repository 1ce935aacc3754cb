#!/bin/sh
# benchmarks/measured/report over predictions whose figures are known.
. tests/tap
cd "$dir" || exit 1

# row GPU OP TYPE SIZES KERNEL US LIBRARY TOP FLOOR FLOP TILE
row() {
    printf '{"source": "%s", "gpu": "%s", "op": "%s", "dtype": "f32", "sizes": "%s", ' \
        "${source:-neusight}" "$1" "$2" "$3" >>rows
    printf '"kernel": "%s", "us": %s, "library": %s, "top": %s, "floor": %s, "flop": %s, ' \
        "$4" "$5" "$6" "$7" "$8" "$9" >>rows
    shift 9
    printf '"tile": %s}\n' "$1" >>rows
}
report() {
    ends 0 report "$root/benchmarks/measured/report" --boards boards --json json --svg svg rows && ok report
}
# figure QUERY: of the JSON, as Python has it; entries by what they are `of`.
figure() {
    python3 -c "
import json, math
all = json.load(open('json'))
of = lambda name: [x for x in all if x['of'] == name]
print($1)"
}
says() { is "$1" "$(figure "$2")" = "$3"; }
echo '{"GPU": {"host_us": {"bmm": 50, "rows": 10}}}' >boards

# Products of 2 GFLOP: 200, 400 and 800 us, predicted 10 % off, once not at all; one too short.
row GPU bmm M=1 a 250 220 150 100 2e9 true
row GPU bmm M=2 a 450 360 300 100 2e9 true
row GPU bmm M=3 a 850 null 500 100 2e9 true
row GPU bmm M=4 a 100 60 40 10 2e9 true
row GPU add M=5 b 110 null 80 60 0 false
report
says 'a row without an estimate counts 100 %' \
    '[round(x["mape"], 3) for x in of("library")][0], of("library")[0]["n"], of("library")[0]["none"]' \
    '0.4 3 1'
says 'times are less what the host adds' 'round(of("library")[0]["bias"], 4)' 0.995
says 'of one row there is no correlation' '[x["spearman"] for x in of("top") if x["op"] == "add"]' '[None]'
says 'the floor stands beside' 'round(of("library")[0]["floor_mape"], 4)' 0.7083
says 'what is too short is told apart' '[(x["op"], x["n"], x["median"]) for x in of("short")]' \
    "[('bmm', 1, 1.2)]"
says 'products faster than any measured' \
    '[(x["over"], x["measured"], round(x["predicted"], 2)) for x in of("rate") if x["unit"] == "TFLOP/s"]' \
    '[(1, 10.0, 13.33)]'
says 'and all else, beside the floor' \
    '[(x["over"], x["measured"], x["predicted"]) for x in of("rate") if x["unit"] == "of the floor"]' \
    '[(1, 0.6, 0.75)]'
says 'the worst regime comes first' 'of("worst")[0]["op"], of("worst")[0]["what"]' 'bmm library'
has svg '<circle cx=' 'there is a plot'
has out '^5 rows, 4 counted' 'all rows are told'

# Tiles of one size: the fastest has no estimate, so it comes last.
rm rows
source=cutlass_tiles
row GPU bmm M=1 t1 300 100 90 80 9e9 true
row GPU bmm M=1 t2 350 200 90 80 9e9 true
row GPU bmm M=1 t3 450 300 90 80 9e9 true
row GPU bmm M=1 t4 250 null 90 80 9e9 true
report
says 'a tile that cannot be made is ranked last' 'round(of("tiles")[0]["spearman"], 2)' -0.2
says 'and of those that can be made the order is right' 'of("tiles")[0]["spearman_made"]' 1.0
says 'the regret is to the best of all' '[round(of("tiles")[0]["regret_%d" % n][0], 3) for n in (1, 4)]' \
    '[1.25, 1.0]'

# The clocks of profiles are those that the published rates give, and each constant of the model is where
# the table says.
cp -r "$root/profiles" profiles
ends 0 clocks "$root/benchmarks/measured/clocks" --write profiles && try 'clocks of profiles' diff -r profiles "$root/profiles"
has out '^| 1 | L4 | tf32 from f16 | 26.2 | 26.9 | 1.03 |' 'a unit by the others of its board'
try 'tables and summary are what results.json makes' "$root/benchmarks/measured/results" --check
missing=$(cd "$root" && python3 -c "
import json
for c in json.load(open('benchmarks/measured/constants.json')):
    n = open('src/' + c['file']).read().count(c['is'])
    if n != 1: print(c['name'], n)")
is "the model's constants${missing:+: $missing}" -z "$missing"
ends 0 missing "$root/benchmarks/measured/ablate" --missing && ok 'and no number of the model is left out'
exit 0
