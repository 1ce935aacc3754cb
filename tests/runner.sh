#!/bin/sh
# tests/run itself: failures, crashes, hangs and missing results are counted.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
number=0

# The runner sleeps between its looks at a program.  Here a look comes when the case is ready for it,
# however slow the machine: as soon as $NAP, a command given the program's pid, succeeds.
mkdir "$dir/bin"
sleep=$(command -v sleep)
cat >"$dir/bin/sleep" <<END
#!/bin/sh
[ -n "\${NAP-}" ] || exec $sleep "\$@"
echo >"$dir/sleeps"
until "$dir/\$NAP" "\$(cat "$dir"/test-log/*.pid)" 2>/dev/null; do $sleep 0.02; done
END
# when NAME: such a command is on standard input.
when() { { echo '#!/bin/sh'; cat; } >"$dir/$1"; chmod +x "$dir/$1"; }
when hangs <<'END'
tr '\0' ' ' <"/proc/$(cat "/proc/$1/task/$1/children" | tr -d ' ')/cmdline" | grep '^tail -f'
END
when a_second <<'END'
[ "$(tests/stacks --time "$1")" -ge 100 ]
END
when looked_for <<END
rm "$dir/look"
END
chmod +x "$dir/bin/sleep"

# expect NAME CLOSING-LINE: what the runner says of the program on standard input.
expect() {
    number=$((number + 1))
    { echo '#!/bin/sh'; cat; } >"$dir/$number"
    chmod +x "$dir/$number"
    PATH=$dir/bin:$PATH BUILD=$dir tests/run "$dir/$number" >"$dir/out"
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
export NAP TEST_SECONDS
NAP=hangs TEST_SECONDS=300
expect 'a hang' '1 passed, 1 failed' <<'END'
echo 'ok - a'; exec tail -f /dev/null
END
told 'a hang is told' 'over its time'
told 'what hangs is told' '[0-9] tail -f /dev/null : state S, 0 s of the processor'
NAP=a_second TEST_SECONDS=1
expect 'an endless loop' '0 passed, 1 failed' <<'END'
while :; do :; done
END
told 'its time is told' 'state R, [1-9][0-9]* s of the processor'
NAP=looked_for TEST_SECONDS=300
expect 'slowness' '1 passed, 0 failed' <<END
for i in 1 2 3 4 5 6 7; do
    until [ -e "$dir/sleeps" ]; do $sleep 0.02; done
    rm "$dir/sleeps"
    now=\$(tests/stacks --time \$\$)
    until [ "\$(tests/stacks --time \$\$)" -gt "\$now" ]; do :; done
    echo >"$dir/look"
    while [ -e "$dir/look" ]; do $sleep 0.02; done
done
echo 'ok - a'
END
NAP='' TEST_SECONDS=''
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

# Times of the processor, longest first, and the closing line last.
printf '#!/bin/sh\nuntil [ "$(tests/stacks --time $$)" -gt 30 ]; do :; done; echo ok - a\n' >"$dir/long"
printf '#!/bin/sh\nuntil [ "$(tests/stacks --time $$)" -gt 10 ]; do :; done; echo ok - a\n' >"$dir/short"
chmod +x "$dir/long" "$dir/short"
SEED=77 BUILD=$dir tests/run "$dir/short" "$dir/long" >"$dir/out"
order=$(sed -n 's/^ *[0-9.]* s  \([a-z]*\), .*/\1/p' "$dir/out" | tr '\n' ' ')
if [ "$order" = 'long short ' ]; then echo 'ok - the longest is told first'
else cat "$dir/out"; echo 'not ok - the longest is told first'; fi
told 'the sum is told with the budget and the seed' 'in all, .* (budget [0-9]* s), SEED=77$'
if [ "$(tail -n 1 "$dir/out")" = '2 passed, 0 failed' ]; then echo 'ok - the closing line is last'
else cat "$dir/out"; echo 'not ok - the closing line is last'; fi
