#!/bin/sh
# Makes the files of this folder with TDL2048+ (github.com/moporgic/TDL2048, built by `make`): TDL2048=path/2048 sh make.sh
# tc.w: two tuples trained by TC; stages.w: two tuples in two stages, trained by TD; scores.txt: how the program plays tc.w.
set -e
cd "$(dirname "$0")"
"$TDL2048" -n 15 012 -t 1x2000 -s golden -a 1.0 coherence -o tc.w > /dev/null
"$TDL2048" -n "01|00000000" "15|00000000" "01|10000000" "15|10000000" -@ 0,256 -t 1x200 -s golden -o stages.w > /dev/null
"$TDL2048" -n 15 012 -i tc.w -e 1x20000 -s golden | sed -n '/^summary/,$p' | sed 's/^summary.*/summary/' > scores.txt
