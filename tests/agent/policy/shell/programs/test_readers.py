"""Programs that read: what of theirs reads inside of the space only, and what does more."""

import pytest

from ..conftest import World
from .tables import lines

READS = lines(r"""
cat -n README.md
cat -- README.md
head -20 README.md
head -n 20 README.md src/a.py
tail -5 list.txt
tail -n +3 list.txt
wc -lw list.txt
wc --lines list.txt
grep -rniE 'a|b' --include='*.py' src
grep -c main src/main.rs
grep -A 3 -B2 main src/main.rs
grep --color=never -r foo .
grep -rl TODO . --exclude-dir=.git
rg -n --glob '*.rs' main
rg -t py foo src
rg --files
rg -C3 'foo.*bar' src -g '!tests'
fd -e py
fd main src
ls -la
ls -lah src
ls -1t --color=auto
ls -R src
stat -c %s list.txt
file -b list.txt
md5sum list.txt data/in.csv
sha256sum list.txt
cut -f 1,2 -d , data/in.csv
sort -t, -k2,2n data/in.csv
sort -u list.txt
sort -rn list.txt
uniq -c list.txt
tr a-z A-Z
nl -ba list.txt
tac list.txt
rev list.txt
strings -n 8 data/in.csv
xxd list.txt
xxd -l 64 list.txt
xxd -p list.txt
od -An -tx1 list.txt
hexdump -C list.txt
cmp -s list.txt README.md
diff list.txt README.md
diff -u list.txt README.md
diff -r src tests
comm -12 list.txt README.md
join -t, list.txt data/in.csv
paste -d, list.txt list.txt
tree -L 2 -I node_modules
tree -a src
du -sh src
du -h --max-depth=1 .
df -h
basename src/main.rs .rs
dirname src/main.rs
realpath src
readlink -f src/main.rs
date
date -u +%FT%TZ
date -d yesterday +%s
uname -a
hostname
whoami
id -u
ps -ef
ps aux --sort=-%mem
ps -p 1 -o pid,ppid,cmd
ps -eo pid,comm
uptime
free -h
which python3
type ls
test -d src
[ -f x -a -d src ]
[ "a" = "b" ]
true
echo hi there
printf '%d\n' 5
seq 1 10
expr 1 + 2
jq . package.json
jq -r .name package.json
jq '.a | keys' package.json
jq --arg x 1 '.[$x]' package.json
yq .name package.json
sha1sum list.txt
base64 list.txt
base64 -d list.txt
nvidia-smi
nvidia-smi --query-gpu=memory.used --format=csv
lscpu
sleep 1
pgrep -fl python
cat src/a.py | sort | uniq -c | sort -rn | head
""")

DOES_MORE = lines(r"""
sort --outp=x a
sort -uo x a
sort a -o x
sort --compress-program=./x a
sort -T /tmp a
sort --files0-from=-
uniq a b
uniq -c a b
uniq - out
uniq -- a b
xxd -r a b
xxd -ps list.txt out
xxd -p -c 16 a b
xxd -c16 a b
tree -oL x 2
tree -Lo 2 x
tree --output=x
tree -R -H . -L 1
tree --fromfile list.txt
tree -l
date 010112002026
date -u 0101
date --set=now
date --se=now
date -us now
hostname x
hostname -F list.txt
hostname -b x
rg --pre x foo
rg -z foo
rg --search-zip foo
rg --follow foo
rg -L foo
rg -f /etc/passwd src
rg foo /etc
fd -x rm
fd -X rm
fd --exec rm
fd -HX rm
fd --exec-batch rm
fd -l
fd . /etc
fd -C /etc
fd --search-path /etc
fd --base-directory=/etc
grep -r x /etc
grep --file=/etc/passwd a
grep --fil=/etc/passwd a
grep -rf/etc/passwd .
grep -R x .
grep -rR x .
grep --exclude-from=/etc/passwd x a
grep -e x /etc/passwd
grep --regexp=x /etc/passwd
grep -A1 x /etc/passwd
grep -rne x /etc/passwd
grep -- -e /etc/passwd
diff -r . src
jq -L . x list.txt
jq --from-file x
jq . /etc/passwd
jq --rawfile a /etc/passwd . x
jq -rf prog.jq x
jq -n '[env]'
jq --argfile a /etc/passwd . x
jq input_filename list.txt
yq -i .a=1 x.yml
yq 'load("/etc/passwd")' x
yq 'env(HOME)'
ps e
ps auxe
ps axe
ps eww
ps -ax e
ps -auxe
ps -o environ
ps -ex
test -R x
[ -v x ]
du --files0-from=x
du -L .
ls -L .
file -f list.txt
file -C -m x
file -z x
md5sum -c list.txt
md5sum --check list.txt
sha256sum --chec list.txt
cut -f1 /etc/passwd
shuf -o x list.txt
strings @list.txt
base64 -o x list.txt
comm /etc/passwd list.txt
nvidia-smi -pm 1
nvidia-smi -f x
nvidia-smi -r
lscpu -s /x
zcat /etc/x.gz
sleep 100000
column /etc/passwd
realpath /etc/passwd
readlink outlink/x
stat outlink/x
cat outlink/secret.txt
head passwd.txt
wc -l passwd.txt
od /etc/passwd
cat /proc/self/environ
ls ~
du /
type -a ls > x
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
