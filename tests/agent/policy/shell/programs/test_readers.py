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
grep -rf list.txt /etc
grep x --file /etc/passwd
grep -f list.txt -f /etc/passwd x
grep --include=x --exclude-from /etc/passwd y list.txt
grep -D read x list.txt /dev/sda
egrep -R x .
fgrep -f/etc/passwd list.txt
rg x -f/etc/passwd
rg --file=/etc/passwd
rg --ignore-file=/etc/passwd x
rg --pre-glob '*' --pre x y
rg -uuu --search-zip x
rg -nz x
rg --path-separator / --hostname-bin=x y
rg x ../
rg --type-add 'a:include:b' x
fd -IHx rm
fd x --exec=rm
fd x -X rm
fd --full-path x /etc
fd x ..
fd -g x --base-directory ..
ls ../
ls -d /etc
ls -la --color=auto /root
ls src/../..
cat ../home/secret.txt
cat - < /etc/passwd
head -c 10 /dev/sda
cat /dev/tcp/a/1
tail --pid=1 list.txt
tail -n1 --retry list.txt
stat -L outlink
stat --dereference src
file -L x
file --files-from=list.txt
file -m list.txt x
wc --files0-from list.txt
wc --files0 list.txt
du -X /etc/passwd .
du --exclude-from=/etc/passwd
du --files0-from list.txt
sort -k1 -o list.txt list.txt
sort --out=x list.txt
sort --random-source=/etc/passwd list.txt
sort -T/tmp list.txt
sort -bo x list.txt
sort --compress-prog=x list.txt
shuf --output=x list.txt
shuf -eo x a
uniq list.txt README.md
uniq -f1 list.txt out
uniq --skip-fields 1 list.txt out
comm - /etc/passwd
diff /etc/passwd list.txt
diff --from-file /etc list.txt
diff -X /etc/passwd src tests
diff -D X list.txt README.md -l
diff . src
cmp list.txt /etc/passwd
join /etc/passwd list.txt
paste /etc/passwd
xxd -r list.txt
xxd -i list.txt out.c
xxd -b list.txt out
xxd -r -p list.txt out
xxd -l 5 -s 1 list.txt out
xxd -o 1 list.txt out
xxd -g2 list.txt out
xxd -name x list.txt out
od -f x /etc/passwd
hexdump -f list.txt
strings -T x @list.txt
tree -o x src
tree --infofile=/etc/passwd
tree -aoL x
tree /etc
date -s@0
date --set 1
date -r /etc/passwd
date 1200
hostname -b
hostname --file list.txt
jq -n --from-file prog
jq --slurpfile a /etc/passwd . list.txt
jq 'input_filename' list.txt
jq -n '$ENV | .HOME'
jq -n 'env.HOME'
jq -n '"\(env)"'
jq 'import "a" as a; .' list.txt
jq --run-tests list.txt
jq -L/etc . list.txt
yq -s .a list.txt
yq '.a = load("x")' list.txt
yq --inplace . list.txt
yq -ni .a=1
ps -E
ps eaux
ps auxwwe
ps -o args= e
ps --environ
ps xe
test -v PATH
[ x -o -v y ]
printf -v x y
printf -vx y
printf '-v' x y
column -t ../secret.txt
nl ../secret.txt
cut -c1 ../secret.txt
md5sum ../secret.txt
sha1sum --check=x list.txt
base64 /etc/passwd
base64 -d -o x list.txt
realpath --relative-to=/etc src
readlink /proc/self/exe
locale -a > /x
nvidia-smi --gpu-reset
nvidia-smi -q -f x
nvidia-smi --filename=x
nvidia-smi -l 1
nvidia-smi dmon
lsblk /dev/sda
pgrep -F list.txt
pgrep --signal 9 x
git-log x
zcat ../x.gz
type -t ls > /etc/x
expr 1 : 2 > /etc/x
seq 1 2 > x
tsort /etc/passwd
zgrep -f /etc/passwd x
zgrep x /etc/x.gz
bzcat /etc/x
dir /etc
vdir ..
basename x > x
id > /etc/x
who /etc/passwd
users /etc/passwd
uptime -x
look x /etc/passwd
pr list.txt

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
