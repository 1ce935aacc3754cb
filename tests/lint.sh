#!/bin/sh
# The rules of the house hold.
if out=$(tools/lint); then
    echo "ok - rules of the house"
else
    echo "$out"
    echo "not ok - rules of the house"
fi
