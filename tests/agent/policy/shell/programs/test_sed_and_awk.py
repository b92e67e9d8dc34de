"""sed and awk: programs that only print, and those that write, run or read more."""

import pytest

from ..conftest import World
from .tables import lines

READS = lines(r"""
awk '{print $1, $2}' list.txt
awk -F: '$3 > 5 {print $1}' list.txt
awk '/a|b/' list.txt
awk 'NR>=2 && NR<=5' list.txt
awk -F '\t' '{ sum += $2 } END { print sum/NR }' list.txt
awk 'length($0) > 80 { print FILENAME ": " FNR }' src/a.py
awk -v n=3 'NR==n' list.txt
awk '{ if ($1 > max) max = $1 } END { print max }' list.txt
sed -n '1,20p' README.md
sed -n '/start/,/end/p' README.md
sed 's/a/b/' list.txt
sed -E 's/(a|b)+/x/g' list.txt
sed '/^#/d' README.md
sed -n '$=' list.txt
sed ':a;N;$!ba;s/\n/ /g' list.txt
sed -e '1d' -e '$d' list.txt
sed 's|/a/b|/c|g' list.txt
""")

DOES_MORE = lines(r"""
awk --file=x list.txt
awk -i inplace '{print}' list.txt
awk -vx=1 'BEGIN{system("x")}'
awk 'BEGIN{print "x" | "sh"}'
awk 'BEGIN { printf "x" > "/etc/x" }'
awk '{print $1, $2 > $3}' list.txt
awk '{print > FILENAME ".x"}' list.txt
awk '{ print $0 >> "x" }' list.txt
awk '@load "filefuncs"; {print}' list.txt
awk -l filefuncs '{print}' list.txt
awk -e 'BEGIN{system("x")}'
awk -E x
awk -o '{print}' list.txt
awk -p '{print}' list.txt
awk -d '{print}' list.txt
gawk --dump-variables '{print}' list.txt
awk 'BEGIN{print ENVIRON["X"]}'
awk '/"/ {print "x" > "y"} /"/' list.txt
awk 'BEGIN{ARGV[1]="/etc/passwd";ARGC=2}{print}'
awk '{print(1)>"x"}' list.txt
awk '{print a?b:c > "x"}' list.txt
awk '{ if ($1) print $1 > "x"; else print $2 }' list.txt
awk '{print}' /etc/passwd
awk 'BEGIN{print "a|b" | "cat"}'
sed -ni p list.txt
sed --in-pl s/a/b/ list.txt
sed -n '/x/w out' list.txt
sed e list.txt
sed '1e ls' list.txt
sed 's/x/y/ew f' list.txt
sed 's,x,y,w f' list.txt
sed -sf f list.txt
sed -e 'r /etc/passwd' list.txt
sed 'R /etc/passwd' list.txt
sed 'W x' list.txt
sed --expression='w x' list.txt
sed --exp='w x' list.txt
sed '${w x' -e '}' list.txt
sed 'y/a/b/;w x' list.txt
sed 's/[/]/x/;w f' list.txt
sed -n '/a/,/b/{/c/!w f
}' list.txt
sed p /etc/passwd
awk 'BEGIN{printf "%s", "x" > ("y")}'
awk 'BEGIN{print "x" > ("a" "b")}'
awk '{print $1 >$2}' list.txt
awk '{print>"a";print}' list.txt
awk 'BEGIN{x = 4 / 2; print x > "y"; z = 3 / 1}'
awk 'BEGIN{a["x"]=1; print a["x"] > "o"}'
awk '/x/{print > "o"}' list.txt
awk 'function f(){print "x" > "o"} BEGIN{f()}'
awk '{getline x < "/etc/passwd"; print x}' list.txt
awk 'BEGIN { "id" | getline x }'
awk '{print |"sh"}' list.txt
awk '{print |& "sh"}' list.txt
awk -f x -f y
awk -Fx -f y
awk -W exec=x list.txt
awk -- '{print > "x"}' list.txt
awk --include=inplace '{print}' list.txt
awk --load=x '{print}' list.txt
awk --profile=x '{print}' list.txt
awk --sandbox --file x list.txt
awk -S -f x
sed -n --file=x list.txt
sed -n -f x list.txt
sed -z -i s/a/b/ list.txt
sed -rni s/a/b/ list.txt
sed -I s/a/b/ list.txt
sed -n 'x;w /dev/tcp/a/1' list.txt
sed 's/a/b/
w out' list.txt
sed '/a/{
w out
}' list.txt
sed 'c\
w out
w out2' list.txt
sed --line-length=5 -s w\ out list.txt
""")


@pytest.mark.parametrize("line", READS)
def test_line_that_only_reads_is_not_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling == "auto", judgement


@pytest.mark.parametrize("line", DOES_MORE)
def test_line_that_may_do_more_is_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling in ("ask", "ask_always"), judgement
    assert judgement.why
