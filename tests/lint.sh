#!/bin/sh
# The rules of the house hold.
if out=$(tools/lint); then
    echo "ok - rules of the house"
else
    echo "$out"
    echo "not ok - rules of the house"
fi
# Functions are of a screen, and of few parameters.
if out=$(tools/functions); then
    echo "ok - functions of a screen and of few parameters"
else
    echo "$out"
    echo "not ok - functions of a screen and of few parameters"
fi
# What planning decides by is said.
if out=$(tools/numbers); then
    echo "ok - numbers of planning"
else
    echo "$out"
    echo "not ok - numbers of planning"
fi
# Files of a module call down.
if out=$(tools/circles "${BUILD:-build}"); then
    echo "ok - circles of source files"
else
    echo "$out"
    echo "not ok - circles of source files"
fi
