#!/bin/sh
# tests/run itself: failures, crashes, hangs and missing results are counted.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
number=0

# expect NAME CLOSING-LINE: what the runner says of the program on standard input.
expect() {
    number=$((number + 1))
    { echo '#!/bin/sh'; cat; } >"$dir/$number"
    chmod +x "$dir/$number"
    BUILD=$dir TEST_SECONDS=2 tests/run "$dir/$number" >"$dir/out"
    last=$(tail -n 1 "$dir/out")
    if [ "$last" = "$2" ]; then
        echo "ok - $1"
    else
        echo "# got '$last', expected '$2'"
        echo "not ok - $1"
    fi
}

# told NAME PATTERN: whether it said so of the last one.
told() { if grep -q "$2" "$dir/out"; then echo "ok - $1"; else cat "$dir/out"; echo "not ok - $1"; fi; }

expect 'passes and failures' '2 passed, 1 failed' <<'END'
echo 1..3; echo 'ok 1 - a'; echo 'not ok 2 - b'; echo 'ok 3 - c'; exit 1
END
expect 'a skipped test is neither' '1 passed, 0 failed' <<'END'
echo 1..2; echo 'ok 1 - a'; echo 'not ok 2 # SKIP b'
END
expect 'a crash after some results' '1 passed, 1 failed' <<'END'
echo 1..2; echo 'ok 1 - a'; kill -SEGV $$
END
expect 'a quiet failure' '0 passed, 1 failed' <<'END'
exit 3
END
expect 'results that are missing' '1 passed, 1 failed' <<'END'
echo 1..2; echo 'ok 1 - a'
END
expect 'a hang' '1 passed, 1 failed' <<'END'
echo 'ok - a'; exec sleep 60
END
told 'a hang is told' 'over its time'
told 'what hangs is told' '[0-9] sleep 60 : state S, 0 s of the processor'
expect 'an endless loop' '0 passed, 1 failed' <<'END'
while :; do :; done
END
told 'its time is told' 'state R, [1-9][0-9]* s of the processor'
expect 'slowness' '1 passed, 0 failed' <<'END'
for i in 1 2 3 4 5 6 7; do sleep 0.5; awk 'BEGIN { while (i < 500000) i++ }'; done; echo 'ok - a'
END
expect 'bytes that are no text' '1 passed, 0 failed' <<'END'
printf '\377\000\n'; echo 'ok - a'
END

printf '#!/bin/sh\necho ok - a\n' >"$dir/good"
printf '#!/bin/sh\necho not ok - a\n' >"$dir/bad"
chmod +x "$dir/good" "$dir/bad"
if BUILD=$dir tests/run -j 2 "$dir/good" "$dir/bad" "$dir/good" >"$dir/out"; then
    echo 'not ok - the runner fails when a test does'
else
    echo 'ok - the runner fails when a test does'
fi
