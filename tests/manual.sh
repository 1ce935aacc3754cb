#!/bin/bash
# Manual pages and completion of shells: made from the option tables, so that all of them have every
# option; what reads them has nothing to complain of; bash completes what a user types.
. tests/tap
export PATH=$BUILD:$PATH
cp -r "$root/examples" "$dir" && cd "$dir" || exit 1

for tool in roller-gen roller-profile roller-sim; do
    for form in man bash zsh; do
        ends 0 "$tool --generate $form" "$BUILD/$tool" --generate $form && cp out $tool.$form
    done
    ends 2 "another form" "$BUILD/$tool" --generate fish
    has err 'it takes man, bash or zsh' "$tool: another form is refused"
    "$BUILD/$tool" --help | awk '/^  -/ { if (sub(/,$/, "", $1)) print $2; print $1 }' >options
    is "$tool has options" "$(wc -l <options)" -gt 20
    # Characters as roff has them, plain again.
    sed 's/\\f.//g; s/\\-/-/g' $tool.man >plain
    while read -r option; do
        grep -q "^\(.*, \)\?$option\( \|,\|$\)" plain || bad "$option is not in the page of $tool"
        grep "_roller_some '' '-" $tool.bash | grep -q -e "[' ]$option[' ]" ||
            bad "$option of $tool is not completed by bash"
        grep -q -e "['*{,]$option[]=+[},]" $tool.zsh || bad "$option of $tool is not completed by zsh"
    done <options
    ok "$tool: every option is in the manual page and completed"
    has $tool.man "^.TH $(echo $tool | tr a-z A-Z) 1 \"20[0-9-]*\" \"roller " "$tool: the page has a date"
    if command -v groff >/dev/null; then
        try "$tool: groff takes the page" groff -man -Tutf8 -ww -z $tool.man
        is "$tool: without a word" ! -s log
    fi
    if command -v mandoc >/dev/null; then
        try "$tool: mandoc finds no fault in it" mandoc -Tlint -Wwarning $tool.man
    fi
    try "$tool: bash takes its completion" bash -n $tool.bash
    ! command -v zsh >/dev/null || try "$tool: so does zsh" zsh -n $tool.zsh
done

# Variables that tools read: those of the simulated driver are its own page's.
for variable in $(grep -rhoE 'getenv\("ROLLER_[A-Z_]*"' "$root/src" --exclude-dir=simdriver |
        sed 's/.*"\(.*\)"/\1/' | sort -u); do
    grep -q "$variable" ./*.man || bad "no manual page has $variable"
done

# completes WANT TOOL WORD...: what bash offers for the last word.
completes() {
    want=$1 tool=$2
    shift 2
    got=$(bash --norc -c 'source "$0.bash"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        $(complete -p "$0" | sed "s/.*-F \([^ ]*\).*/\1/") "$0"
        echo "${COMPREPLY[@]}"' "$tool" "$tool" "$@" 2>err)
    [ "$got" = "$want" ] || echo "# offered: $got"
    is "$tool $*" "$got" = "$want"
}
completes '--emit' roller-gen --em
completes 'cu cl cubin c' roller-gen --emit c
completes 'cu,ptx cu,py' roller-gen --emit = cu,p
completes 'any plain' roller-gen --abi ''
completes 'auto always' roller-gen --color = a
completes 'a100,rtx4090' roller-gen --profile a100,rtx4
completes 'sm_90 sm_90a' roller-gen --arch sm_90
completes 'all matmul' roller-gen examples/matmul.te --op ''
completes 'examples/matmul.te examples/matmul_gelu.te' roller-gen --check examples/mat
completes 'examples/matmul.te examples/matmul_gelu.te' roller-gen --in A = examples/mat
completes 'examples/matmul.te examples/matmul_gelu.te' roller-gen --in = A = examples/mat
completes 'examples' roller-gen --cache-dir ex
completes '' roller-gen --top ''
completes 'clock,clock clock,clusters' roller-profile --only clock,cl
completes 'h100 h200' roller-profile --show h
completes '--grid --generate' roller-sim --g
touch 'a kernel.cu' kernel.ptx kernel.txt
completes 'a kernel.cu' roller-sim a
completes 'kernel.ptx' roller-sim ker
